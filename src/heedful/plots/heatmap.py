"""Alignments as heat maps: source along the top, target down the side, the links marked.

No pyplot and no lasting change to matplotlib's state: figures are plain objects, freed like any other.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.alignment import Alignment
from heedful.alignment.labels import edges_of, shown
from heedful.errors import DataError, SizeError
from heedful.files import replace_atomically
from heedful.plots import under
from heedful.plots.colours import Theme, theme_of
from heedful.plots.over import overlays
from heedful.plots.parts import check_not_empty, colour_bar, colour_map, families_of, mark, warn_of
from heedful.plots.picture import Picture
from heedful.plots.sizes import TITLE_SIZE, edges, fits, font_size, measure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg")
_saving = threading.Lock()

MOST_TOKENS = 1_000
"""Rows or columns of a picture in a file: of more each would be three pixels wide or fewer."""

_LEAST_CELL = 10
"""Pixels; letters take half of it."""


class SmallCellsWarning(UserWarning):
    """A picture has so many rows or columns that its labels cannot be read."""


def draw(
    alignment: Alignment,
    axes: Axes | None = None,
    *,
    title: str | None = None,
    theme: str = "light",
    picture: Picture | None = None,
) -> Axes:
    """Draw `alignment` into `axes`, or into a new figure of fitting size (``axes.figure``).

    Rows are labelled with the word that their weights are about (`Alignment.row_labels`); the marked cells
    are those of `Alignment.peaks`, so the picture says what `Alignment.links` says.

    Args:
        theme: ``"light"`` or ``"dark"``: the colours. The paper of a figure that is given stays its own.
        picture: what the source is, where it is sound or a picture. It is drawn over the heat map, which then takes
            its places, seconds or pixels, for the axis of the source: each column is as wide as what it is about. It is
            the one in ``axes.child_axes``; in `axes` that are given it stands above them.

    Raises:
        DataError: there is no such theme, or the columns do not lie on the picture.
        SizeError: there is no row or no column to draw.

    Warns:
        MissingGlyphWarning: names the characters that no installed font has.
    """
    if picture is not None:
        axes, missing = under.draw(alignment, picture, axes, title=title, theme=theme)
    elif axes is None:
        figure, missing = _page([alignment], [title], columns=1, theme=theme)
        axes = figure.axes[0]
    else:
        families, missing = families_of([alignment], [title])
        _paint(axes, alignment, title, families, _cell_of(axes, alignment), theme_of(theme))
    warn_of(missing)
    return axes


def save(
    alignment: Alignment,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    theme: str = "light",
    picture: Picture | None = None,
    each: bool = False,
) -> None:
    """Write one heat map to `path`, as PNG or SVG by its suffix; the file is whole or not there.

    An SVG keeps its texts as text. `picture` is as in `draw`.

    Args:
        each: draw the picture once for each row, at most 12, tinted by the row's weights over their largest, in place
            of the heat map.

    Raises:
        DataError: another suffix, no such theme, or columns that do not lie on the picture.
        RunError: the file cannot be written.
        SizeError: there is no row or no column to draw, or more than 1,000.

    Warns:
        MissingGlyphWarning: names the characters that no installed font has.
        SmallCellsWarning: cells are below 10 pixels, as with more than about 340 rows or columns, or on a full page.
    """
    if each:
        if picture is None:
            raise DataError(f"{path}: an image for each row needs the picture")
        suffix = _suffix(path)
        figure, missing = overlays(alignment, picture, title=title, theme=theme)
        _put(figure, missing, path, suffix)
    else:
        save_many([alignment], path, titles=[title], theme=theme, pictures=[picture])


def save_many(
    alignments: Sequence[Alignment],
    path: str | os.PathLike[str],
    *,
    titles: Sequence[str | None] | None = None,
    columns: int | None = None,
    theme: str = "light",
    pictures: Sequence[Picture | None] | None = None,
) -> None:
    """Write several heat maps to one page, row by row; otherwise as `save`.

    Args:
        titles: one for each alignment.
        columns: maps side by side; without it the page is about square.
        theme: ``"light"`` or ``"dark"``.
        pictures: what the source of each is, as in `draw`, or None; with one that is not, all stand one below another.
    """
    suffix = _suffix(path)
    columns = columns or math.ceil(math.sqrt(len(alignments)))
    if not alignments:
        raise SizeError(f"{path}: expected at least one alignment to draw, got none")
    titles = [None] * len(alignments) if titles is None else titles
    if len(titles) != len(alignments):
        raise SizeError(f"{path}: expected {len(alignments)} titles, got {len(titles)}")
    if pictures is not None and any(pictures):
        figure, missing = under.page(alignments, pictures, titles, theme=theme)
    else:
        for alignment in alignments:
            _check_not_too_large(alignment, path)
        figure, missing = _page(alignments, titles, columns=columns, theme=theme)
        _warn_of_small_cells(alignments, figure, path)
    _put(figure, missing, path, suffix)


def _suffix(path: str | os.PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(f"{path}: a heat map is written as {' or '.join(SUFFIXES)}, got the suffix {suffix!r}")
    return suffix


def _put(figure: Figure, missing: str, path: str | os.PathLike[str], suffix: str) -> None:
    replace_atomically(path, lambda temporary: _write(figure, temporary, suffix[1:]))
    if suffix == ".png":  # whoever shows an SVG finds fonts of their own
        warn_of(missing)


def _write(figure: Figure, path: str, kind: str) -> None:
    import matplotlib

    # Both settings can only be given to the whole process: put back at once, and one thread at a time.
    with _saving, matplotlib.rc_context(), warnings.catch_warnings():
        matplotlib.rcParams["svg.fonttype"] = "none"
        matplotlib.rcParams["svg.hashsalt"] = "heedful"  # the same picture is the same file
        # Said once, by `warn_of`, with all characters.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure.savefig(
            path,
            format=kind,
            dpi=_resolution(figure),
            bbox_inches="tight",  # the margins are an estimate, the labels' real widths decide
            pad_inches=0.1,
            metadata={"Date": None} if kind == "svg" else None,
        )


def _resolution(figure: Figure) -> float:
    """Pixels an inch; more of them take seconds and show no more."""
    return min(200.0, 3600 / max(figure.get_size_inches()))


def _cell_of(axes: Axes, alignment: Alignment) -> float:
    """The size in inches that a cell will have in `axes`."""
    check_not_empty(alignment)
    rows, columns = alignment.weights.shape
    figure = axes.get_figure(root=True)
    assert figure is not None
    extent = axes.get_window_extent()
    return min(extent.width / columns, extent.height / rows) / figure.dpi


def _page(
    alignments: Sequence[Alignment], titles: Sequence[str | None], *, columns: int, theme: str = "light"
) -> tuple[Figure, str]:
    """A figure with one axes per alignment and one colour bar, and the characters that it cannot show.

    Maps in one row share their upper edge, maps in one column their left edge.
    """
    from matplotlib.figure import Figure

    for alignment in alignments:
        check_not_empty(alignment)
    panels = [measure(alignment, title) for alignment, title in zip(alignments, titles, strict=True)]
    columns = min(columns, len(panels))
    across = [panels[column::columns] for column in range(columns)]
    down = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    lefts, width = edges([(max(p.left for p in some), max(p.width + p.right for p in some)) for some in across])
    tops, height = edges([(max(p.top for p in some), max(p.height for p in some)) for some in down])
    width += 0.4  # for the colour bar

    colours = theme_of(theme)
    figure = Figure(figsize=(width, height), facecolor=colours.paper)
    families, missing = families_of(alignments, titles)

    def box(left: float, top: float, wide: float, high: float) -> tuple[float, float, float, float]:
        return left / width, 1 - (top + high) / height, wide / width, high / height

    for index, (alignment, title, panel) in enumerate(zip(alignments, titles, panels, strict=True)):
        left, top = lefts[index % columns], tops[index // columns]
        axes = figure.add_axes(box(left, top, panel.width, panel.height))
        _paint(axes, alignment, title, families, panel.cell, colours)
    colour_bar(figure, figure.axes[0].images[0], box(width - 0.4, tops[0], 0.1, min(panels[0].height, 2.0)), colours)
    return figure, missing


def _paint(
    axes: Axes, alignment: Alignment, title: str | None, families: list[str], cell: float, colours: Theme
) -> None:
    """All of one heat map, for cells of `cell` inches."""
    rows, columns = alignment.weights.shape
    # Said in full: the user's rcParams may set another origin, or a grid.
    axes.imshow(
        alignment.weights,
        cmap=colour_map(colours),
        vmin=0,
        vmax=1,
        aspect="equal",
        origin="upper",
        interpolation="nearest",
    )
    axes.grid(False)
    # Lines rather than the grid of minor ticks: those are one object a line, slow where there are hundreds.
    inner = {"color": colours.grid, "linewidth": 0.4, "zorder": 1}
    axes.hlines([row - 0.5 for row in range(1, rows)], -0.5, columns - 0.5, **inner)
    axes.vlines([column - 0.5 for column in range(1, columns)], -0.5, rows - 0.5, **inner)
    axes.vlines(edges_of(alignment.source_segments), -0.5, rows - 0.5, color=colours.faint, linewidth=1.2, zorder=2)
    axes.spines[:].set(linewidth=0.6, color=colours.faint)
    _label(axes, alignment, title, families, cell, colours)
    mark(axes, alignment.peaks(), range(columns), size=72 * cell * 0.22, edge=colours.edge)


def _label(
    axes: Axes, alignment: Alignment, title: str | None, families: list[str], cell: float, colours: Theme
) -> None:
    # Tokens are shown as they are: no "$" starts a formula.
    plain: dict[str, Any] = {"fontfamily": families, "parse_math": False, "usetex": False}
    ticks: dict[str, Any] = {**plain, "fontsize": font_size(cell)}
    source, target = map(shown, alignment.source), map(shown, alignment.row_labels())
    turn = 0 if fits(alignment.source, cell) else 90
    axes.set_xticks(range(len(alignment.source)), list(source), rotation=turn, **ticks)
    axes.set_yticks(range(len(alignment.target)), list(target), **ticks)
    axes.tick_params(length=0, labeltop=True, labelbottom=False, labelcolor=colours.ink)
    axes.xaxis.set_label_position("top")
    axes.set_xlabel("source", fontsize=9, color=colours.faint)
    axes.set_ylabel("target", fontsize=9, color=colours.faint)
    if title is not None:
        axes.set_title(shown(title), fontsize=TITLE_SIZE, color=colours.ink, **plain)


def _check_not_too_large(alignment: Alignment, path: str | os.PathLike[str]) -> None:
    rows, columns = alignment.weights.shape
    if max(rows, columns) > MOST_TOKENS:
        raise SizeError(
            f"{path}: a picture holds at most {MOST_TOKENS:,} rows or columns, got {rows:,} rows and {columns:,} "
            "columns; write a report (.html)"
        )


def _warn_of_small_cells(alignments: Sequence[Alignment], figure: Figure, path: str | os.PathLike[str]) -> None:
    pixels = min(measure(one, None).cell for one in alignments) * _resolution(figure)
    if pixels < _LEAST_CELL:
        tokens = max(max(one.weights.shape) for one in alignments)
        warnings.warn(
            f"{path}: cells are {pixels:.0f} pixels wide, with up to {tokens:,} tokens a side, and labels too small to "
            f"read, which takes {_LEAST_CELL}; draw fewer maps or tokens, or write a report (.html)",
            SmallCellsWarning,
            stacklevel=3,
        )
