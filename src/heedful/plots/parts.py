"""What all kinds of pictures of weights have in common: fonts, the colour bar, the marks of links."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from heedful.alignment import Alignment
from heedful.alignment.labels import shown
from heedful.errors import SizeError
from heedful.plots.colours import MARK, Theme, ramp
from heedful.plots.fonts import families_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure


class MissingGlyphWarning(UserWarning):
    """No installed font has some of the characters; they are shown as boxes (an SVG keeps them as text)."""


def colour_map(colours: Theme) -> ListedColormap:
    """Of the weights, for matplotlib."""
    from matplotlib.colors import ListedColormap

    return ListedColormap(ramp(colours) / 255)


def colour_bar(figure: Figure, drawn: ScalarMappable, box: tuple[float, float, float, float], colours: Theme) -> None:
    """Beside the maps; `drawn` is one of them."""
    _, top = drawn.get_clim()
    assert top is not None
    bar = figure.colorbar(drawn, cax=figure.add_axes(box), ticks=[0, top / 2, top], format=None if top == 1 else "%.2g")
    bar.ax.tick_params(labelsize=7, length=2, width=0.4, color=colours.ink, labelcolor=colours.ink)
    bar.ax.spines[:].set_visible(False)


def mark(axes: Axes, peaks: Sequence[tuple[int, int]], middles: Sequence[float], *, size: float, edge: str) -> None:
    """A dot in every linked cell, and a thin line from dot to dot that breaks where a row has no link."""
    if not peaks:
        return
    by_row = {row: middles[column] for row, column in peaks}
    rows = range(peaks[0][0], peaks[-1][0] + 1)
    axes.plot(
        [by_row.get(row, math.nan) for row in rows],
        rows,
        color=MARK,
        linewidth=size * 0.2,
        marker="o",
        markersize=size,
        markeredgecolor=edge,
        markeredgewidth=size * 0.15,
    )


def check_not_empty(alignment: Alignment) -> None:
    """Refuse what has no row or no column to draw."""
    if not alignment.weights.size:
        raise SizeError(f"heat map: expected at least one row and one column, got {alignment.weights.shape}")


def families_of(alignments: Sequence[Alignment], titles: Sequence[str | None]) -> tuple[list[str], str]:
    """Font families for all that is written, and the characters that none has."""
    labels = [label for one in alignments for label in (*one.source, *one.row_labels())]
    return families_for(shown(text) for text in (*labels, *(title for title in titles if title)))


def warn_of(missing: str) -> None:
    """Name them; the caller's caller is told."""
    if missing:
        listed = ", ".join(f"{char} (U+{ord(char):04X})" for char in missing)
        warnings.warn(
            f"no installed font has the characters {listed}; install one that has, or save as .svg",
            MissingGlyphWarning,
            stacklevel=3,
        )
