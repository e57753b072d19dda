"""Contrast of colours, as WCAG 2 defines it: text needs 4.5:1 against its ground, frames 3:1."""

from __future__ import annotations

from functools import lru_cache

TEXT, FRAME = 4.5, 3.0

Channels = tuple[float, float, float]


def channels_of(colour: str) -> Channels:
    """Return the red, green and blue of `#1a1b26`, from 0 to 255."""
    digits = colour.lstrip("#")[:6]
    return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6], 16)


def luminance(colour: Channels) -> float:
    """Return the relative luminance, from 0 (black) to 1 (white)."""
    parts = [each / 255 for each in colour]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def ratio(first: Channels, second: Channels) -> float:
    """Return the contrast of two colours, from 1 to 21."""
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=1024)
def readable(colour: str, ground: str, minimum: float = TEXT) -> str:
    """Return the colour, or the nearest mix of it with white or black that has this contrast on `ground`."""
    own, below = channels_of(colour), channels_of(ground)
    if ratio(own, below) >= minimum:
        return colour
    ends = ((255.0, 255.0, 255.0), (0.0, 0.0, 0.0))
    end = max(ends, key=lambda each: ratio(each, below))
    for step in range(1, 21):
        mixed = [part + (to - part) * step / 20 for part, to in zip(own, end, strict=True)]
        red, green, blue = (round(part) for part in mixed)
        if ratio((red, green, blue), below) >= minimum:
            return f"#{red:02x}{green:02x}{blue:02x}"
    return "#ffffff" if end == ends[0] else "#000000"
