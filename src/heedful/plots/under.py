"""Heat maps under what their source is: a spectrogram, or an image.

Both have places for their axis, seconds or pixels: a column of weights stands exactly under what it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from heedful.alignment import Alignment
from heedful.alignment.labels import shown
from heedful.errors import SizeError
from heedful.plots.colours import Theme, theme_of
from heedful.plots.parts import check_not_empty, colour_bar, colour_map, families_of, mark
from heedful.plots.picture import Picture
from heedful.plots.sizes import TITLE_SIZE, font_size, label_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure

MOST_ROWS = 300

# Inches.
_GAP = 0.08  # between a picture and its weights
_NARROW, _WIDE = 4.5, 12.0
_SPECTROGRAM, _HIGHEST = 1.3, 3.0
_LARGE_ROW, _SMALL_ROW, _EASY_HEIGHT = 0.3, 0.2, 4.0
_BELOW, _RIGHT = 0.5, 0.6  # ticks with their label; the colour bar

_TICKS = (100, 200, 500, 1000, 2000, 4000, 8000, 16000, 32000)


class Sizes(NamedTuple):
    """Of a picture with its weights, in inches."""

    width: float
    over: float
    row: float
    left: float
    top: float


def draw(
    alignment: Alignment, picture: Picture, axes: Axes | None, *, title: str | None, theme: str
) -> tuple[Axes, str]:
    """See `heedful.plots.draw`; and the characters that no font has."""
    if axes is None:
        figure, missing = page([alignment], [picture], [title], theme=theme)
        return figure.axes[0], missing
    _check(alignment)
    families, missing = families_of([alignment], [title])
    figure = axes.get_figure(root=True)
    assert figure is not None
    extent = axes.get_window_extent()
    row = extent.height / figure.dpi / len(alignment.target)
    over = min(_over(picture, extent.width / figure.dpi), _HIGHEST)
    sizes = Sizes(extent.width / figure.dpi, over, row, 0, 0)
    _paint(axes, alignment, picture, title, families, sizes, theme_of(theme), largest([alignment]))
    return axes, missing


def page(
    alignments: Sequence[Alignment],
    pictures: Sequence[Picture | None],
    titles: Sequence[str | None],
    *,
    theme: str,
) -> tuple[Figure, str]:
    """All of them one below another with one colour bar, and the characters that no font has.

    Raises:
        SizeError: there is no row or no column to draw, more than 300 rows, or not a picture for each.
    """
    from matplotlib.figure import Figure

    if len(pictures) != len(alignments):
        raise SizeError(f"expected {len(alignments)} pictures, got {len(pictures)}")
    for alignment in alignments:
        _check(alignment)
    shown_ = [_flat(one) if picture is None else picture for one, picture in zip(alignments, pictures, strict=True)]
    sizes = [_measure(*one) for one in zip(alignments, shown_, titles, strict=True)]
    left = max(one.left for one in sizes)
    width = left + max(one.width for one in sizes) + _RIGHT
    heights = [
        one.top + len(alignment.target) * one.row + _BELOW for one, alignment in zip(sizes, alignments, strict=True)
    ]
    height = sum(heights)
    colours = theme_of(theme)
    figure = Figure(figsize=(width, height), facecolor=colours.paper)
    families, missing = families_of(alignments, titles)
    most = largest(alignments)
    start = 0.0
    for alignment, picture, title, own, high in zip(alignments, shown_, titles, sizes, heights, strict=True):
        body = len(alignment.target) * own.row
        bottom = height - start - own.top - body
        axes = figure.add_axes((left / width, bottom / height, own.width / width, body / height))
        _paint(axes, alignment, picture, title, families, own, colours, most)
        start += high
    first = len(alignments[0].target) * sizes[0].row
    bar = min(first, 2.0)
    box = (left + sizes[0].width + 0.15) / width, 1 - (sizes[0].top + bar) / height, 0.1 / width, bar / height
    colour_bar(figure, figure.axes[0].collections[0], box, colours)
    return figure, missing


def largest(alignments: Sequence[Alignment]) -> float:
    """The largest weight, which has the strongest colour: of the hundreds of columns that sound has, all are small."""
    return max(float(one.weights.max()) for one in alignments) or 1.0


def _check(alignment: Alignment) -> None:
    check_not_empty(alignment)
    rows = len(alignment.target)
    if rows > MOST_ROWS:
        raise SizeError(
            f"heat map: under a picture there are at most {MOST_ROWS} rows, got {rows:,}; write a report (.html)"
        )


def _flat(alignment: Alignment) -> Picture:
    """Stands where a source beside others has no picture."""
    spans = alignment.source_spans
    return Picture(np.zeros((1, len(alignment.source))), "image", end=spans[-1][1] if spans else None)


def _measure(alignment: Alignment, picture: Picture, title: str | None) -> Sizes:
    rows, columns = alignment.weights.shape
    width = min(max(_NARROW, 0.09 * columns), _WIDE)
    over = _over(picture, width)
    if over > _HIGHEST:  # a high image: narrower, and only squeezed where it would be a mere stripe
        width, over = max(_HIGHEST * width / over, _HIGHEST / 2), _HIGHEST
    row = max(_SMALL_ROW, min(_LARGE_ROW, _EASY_HEIGHT / rows))
    left = max(0.75, label_width(alignment.row_labels(), row) + 0.4)
    return Sizes(width, over, row, left, over + _GAP + 0.15 + (0.25 if title else 0.0))


def _over(picture: Picture, width: float) -> float:
    """How high the picture is, in inches."""
    rows, columns = picture.values.shape
    return _SPECTROGRAM if picture.kind == "spectrogram" else width * rows / columns


def _paint(
    axes: Axes,
    alignment: Alignment,
    picture: Picture,
    title: str | None,
    families: list[str],
    sizes: Sizes,
    colours: Theme,
    most: float,
) -> None:
    """The weights in `axes`, the picture in a child of it."""
    cells = picture.cells(alignment)
    edges, weights = quadrangles(cells, alignment.weights)
    rows = len(alignment.target)
    axes.pcolormesh(
        edges, np.arange(rows + 1) - 0.5, weights, cmap=colour_map(colours), vmin=0, vmax=most, rasterized=True
    )
    axes.set(xlim=(0, picture.length), ylim=(rows - 0.5, -0.5), aspect="auto", facecolor=colours.paper)
    axes.grid(False)
    axes.hlines([row - 0.5 for row in range(1, rows)], 0, picture.length, color=colours.grid, linewidth=0.4, zorder=1)
    axes.spines[:].set(linewidth=0.6, color=colours.faint)
    plain: dict[str, Any] = {"fontfamily": families, "parse_math": False, "usetex": False}
    labels = list(map(shown, alignment.row_labels()))
    axes.set_yticks(range(rows), labels, fontsize=font_size(sizes.row), **plain)
    axes.set_ylabel("target", fontsize=9, color=colours.faint)
    axes.tick_params(axis="y", length=0, labelcolor=colours.ink)
    _ticks_of_places(axes, picture, sizes, colours)
    dot = min(72 * sizes.row * 0.22, 5.0)
    mark(axes, alignment.peaks(), [(start + end) / 2 for start, end in cells], size=dot, edge=colours.edge)
    body = rows * sizes.row
    above = axes.inset_axes((0, 1 + _GAP / body, 1, sizes.over / body), sharex=axes)
    _picture(above, picture, sizes, colours)
    if title is not None:
        above.set_title(shown(title), fontsize=TITLE_SIZE, color=colours.ink, **plain)


def quadrangles(cells: Sequence[tuple[float, float]], weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The edges of columns, and the weights between them: what no cell covers is masked."""
    edges, columns = [cells[0][0]], []
    for column, (start, end) in enumerate(cells):
        if start > edges[-1]:
            edges.append(start)
            columns.append(np.full(len(weights), np.nan))
        edges.append(end)
        columns.append(weights[:, column])
    return np.array(edges), np.ma.masked_invalid(np.stack(columns, axis=1))


def _ticks_of_places(axes: Axes, picture: Picture, sizes: Sizes, colours: Theme) -> None:
    from matplotlib.ticker import MaxNLocator

    whole = picture.unit != "s"
    axes.xaxis.set_major_locator(MaxNLocator(nbins=max(3, int(sizes.width * 1.2)), integer=whole, steps=[1, 2, 5, 10]))
    axes.tick_params(
        axis="x", length=2.5, width=0.6, color=colours.faint, labelcolor=colours.ink, labelsize=8, labeltop=False,
        labelbottom=True, top=False, bottom=True,
    )  # fmt: skip
    names = {"s": "time (s)", "px": "column (px)"}
    axes.set_xlabel(names.get(picture.unit, "source position"), fontsize=9, color=colours.faint)
    axes.xaxis.set_label_position("bottom")


def _picture(axes: Axes, picture: Picture, sizes: Sizes, colours: Theme) -> None:
    """What the source is. No ticks along it: those of the weights serve both."""
    rows = len(picture.values)
    spectrogram = picture.kind == "spectrogram"
    axes.imshow(
        picture.levels(),
        cmap=greys(colours) if spectrogram else "gray",
        vmin=0,
        vmax=1,
        aspect="auto",
        origin="lower" if spectrogram else "upper",
        extent=(0, picture.length, -0.5, rows - 0.5) if spectrogram else (0, picture.length, rows - 0.5, -0.5),
        interpolation="nearest",
    )
    axes.grid(False)
    axes.set_xlim(0, picture.length)
    axes.spines[:].set(linewidth=0.6, color=colours.faint)
    axes.tick_params(
        length=2.5, width=0.6, color=colours.faint, labelcolor=colours.ink, labelsize=8, bottom=False, labelbottom=False
    )
    if not spectrogram:
        axes.set_yticks([])
        return
    if picture.frequencies is None:
        places = np.unique(np.linspace(0, rows - 1, min(rows, 4)).round().astype(int))
        axes.set_yticks(places, [str(place + 1) for place in places])
        axes.set_ylabel("feature", fontsize=9, color=colours.faint)
        return
    known = np.array(picture.frequencies)
    ticks = _apart([tick for tick in _TICKS if known[0] <= tick <= known[-1]], known, 0.14 * rows / sizes.over)
    axes.set_yticks(np.interp(ticks, known, np.arange(rows)), [f"{tick / 1000:g}" for tick in ticks])
    axes.set_ylabel("kHz", fontsize=9, color=colours.faint)


def _apart(ticks: Sequence[float], known: np.ndarray, least: float) -> list[float]:
    """Those ticks, from the highest down, that are at least so many rows apart."""
    kept: list[float] = []
    for tick in reversed(ticks):
        place = np.interp(tick, known, np.arange(len(known)))
        if not kept or np.interp(kept[-1], known, np.arange(len(known))) - place >= least:
            kept.append(tick)
    return kept[::-1]


def greys(colours: Theme) -> ListedColormap:
    """From the paper to the ink: blue stays the colour of weights."""
    from matplotlib.colors import LinearSegmentedColormap, ListedColormap

    blend = LinearSegmentedColormap.from_list("paper to ink", [colours.paper, colours.ink])
    return ListedColormap(blend(np.linspace(0, 1, 256)))
