"""The colours of heat maps, the same in pictures and in reports: one hue, lightness in even steps, light or dark.

Weights are told apart by lightness alone, so they can be read without colour vision and in grey print.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from heedful.errors import DataError, nearest

STEPS = 256
_HUE = np.deg2rad(255.0)  # blue: seen alike in the three common kinds of colour blindness
MARK = "#D55E00"
"""Of the links: vermilion of Okabe and Ito's set, which stands out from blue to every kind of colour vision."""


class Theme(NamedTuple):
    """Colours as "#rrggbb"; `weakest` and `strongest` are the weights 0 and 1, as (lightness, chroma) in OKLCH."""

    paper: str
    ink: str
    faint: str
    grid: str
    edge: str
    weakest: tuple[float, float]
    strongest: tuple[float, float]


THEMES = {
    "light": Theme("#ffffff", "#1b1f24", "#59636e", "#d9d9d9", "#ffffff", (1.0, 0.0), (0.34, 0.115)),
    "dark": Theme("#14171c", "#e6e8eb", "#9aa4b0", "#343b45", "#14171c", (0.235, 0.02), (0.95, 0.045)),
}


def theme_of(name: str) -> Theme:
    """The theme of that name.

    Raises:
        DataError: there is none.
    """
    if name not in THEMES:
        raise DataError(f"unknown theme {name!r}{nearest(name, THEMES)}")
    return THEMES[name]


def ramp(theme: Theme) -> np.ndarray:
    """(256, 3) bytes: the sRGB colours of the weights 0, 1/255, ..., 1.

    In OKLCH (Ottosson 2020, "A perceptual color space for image processing"): lightness is linear in the weight, the
    hue is one, the chroma has an arch between its ends.
    """
    share = np.linspace(0.0, 1.0, STEPS)
    lightness, chroma = (
        start + share * (end - start) for start, end in zip(theme.weakest, theme.strongest, strict=True)
    )
    chroma = chroma + 0.06 * np.sin(np.pi * share)
    return np.rint(255 * _srgb(lightness, chroma * np.cos(_HUE), chroma * np.sin(_HUE))).astype(np.uint8)


def _srgb(lightness: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """OKLab to sRGB in 0..1, what lies outside cut off."""
    cones = np.stack([lightness, a, b], axis=-1) @ _TO_CONES.T
    linear = np.clip(cones**3 @ _TO_LINEAR.T, 0.0, 1.0)
    return np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)


_TO_CONES = np.array(
    [[1.0, 0.3963377774, 0.2158037573], [1.0, -0.1055613458, -0.0638541728], [1.0, -0.0894841775, -1.2914855480]]
)
_TO_LINEAR = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)
