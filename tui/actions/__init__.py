"""Actions on a recording that a key names and every view shares."""
