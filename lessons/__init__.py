"""Guided lessons: one folder per lesson, and `_runner`, which loads, runs and grades them."""
