"""Graphs printed as Python source: `fn.code`."""
