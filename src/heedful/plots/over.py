"""One image for each target symbol, tinted where the model looked while it wrote that symbol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heedful.alignment import Alignment
from heedful.alignment.labels import shown
from heedful.errors import SizeError
from heedful.plots.colours import MARK, theme_of
from heedful.plots.parts import families_of
from heedful.plots.picture import Picture
from heedful.plots.sizes import TITLE_SIZE, label_width

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PANELS = 12
_STRONGEST = 0.75
"""How much of the tint there is at the largest weight: what is below it must be seen."""
_LINE = 0.22  # inches between images
_WIDE, _HIGHEST = 6.0, 2.0


def overlays(
    alignment: Alignment, picture: Picture, *, title: str | None = None, theme: str = "light"
) -> tuple[Figure, str]:
    """A figure with the picture once for each row of the alignment, one below another,
    and the characters that no font has.

    The tint of a column is as strong as its weight over the largest weight of the row, which is written beside it: rows
    with spread weights can be read like others.

    Raises:
        DataError: there is no such theme, or the columns do not lie on the picture.
        SizeError: there is no row or no column to draw, or more than 12 rows.
    """
    from matplotlib.figure import Figure

    rows = len(alignment.target)
    if not alignment.weights.size or rows > MOST_PANELS:
        raise SizeError(
            f"an image for each symbol is drawn for 1 to {MOST_PANELS} of them, got {rows} rows and "
            f"{len(alignment.source)} columns; draw the heat map under one image"
        )
    colours = theme_of(theme)
    families, missing = families_of([alignment], [title])
    plain: dict[str, Any] = {"fontfamily": families, "parse_math": False, "usetex": False}
    high, wide = picture.values.shape
    width = min(_WIDE, _HIGHEST * wide / high)
    body = max(_LINE, width * high / wide)
    left, top = label_width(alignment.row_labels(), 0.36) + 0.2, 0.35 if title else 0.1
    height = top + rows * (body + _LINE) + 0.2
    figure = Figure(figsize=(left + width + 0.8, height), facecolor=colours.paper)
    whole = left + width + 0.8
    for row, label in enumerate(alignment.row_labels()):
        bottom = height - top - row * (body + _LINE) - body
        axes = figure.add_axes((left / whole, bottom / height, width / whole, body / height))
        most = _panel(axes, picture, alignment.weights[row], picture.cells(alignment))
        edge = {"transform": axes.transAxes, "va": "center"}
        axes.text(-0.1 / width, 0.5, shown(label), ha="right", fontsize=10, color=colours.ink, **edge, **plain)
        axes.text(1 + 0.1 / width, 0.5, f"{most:.2f}", ha="left", fontsize=8, color=colours.faint, **edge)
    if title is not None:
        figure.text(
            (left + width / 2) / whole, 1 - 0.15 / height, shown(title), ha="center", va="center",
            fontsize=TITLE_SIZE, color=colours.ink, **plain,
        )  # fmt: skip
    return figure, missing


def _panel(axes: Axes, picture: Picture, weights: np.ndarray, cells: Sequence[tuple[float, float]]) -> float:
    """The picture under the tint of one row; its largest weight."""
    high = len(picture.values)
    extent = (0.0, picture.length, high - 0.5, -0.5)
    axes.imshow(picture.levels(), cmap="gray", vmin=0, vmax=1, aspect="auto", extent=extent, interpolation="nearest")
    axes.grid(False)
    axes.axis("off")
    most = weights.max()
    shares = weights / most if most > 0 else weights
    for (start, end), share in zip(cells, shares, strict=True):
        if share > 1 / 255:
            axes.axvspan(start, end, color=MARK, alpha=_STRONGEST * float(share), linewidth=0)
    axes.set(xlim=(0, picture.length), ylim=(high - 0.5, -0.5))
    return float(most)
