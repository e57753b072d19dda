"""Exports of a recording for other programs: one module per format."""
