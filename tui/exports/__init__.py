"""What a recording becomes for other programs: one file per format."""
