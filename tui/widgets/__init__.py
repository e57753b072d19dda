"""Textual widgets that know pictures, not views: canvas, bars, scrubber, prompt."""
