"""One alignment as a small table of HTML, for notebooks."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from heedful.alignment.labels import shown

if TYPE_CHECKING:
    from heedful.alignment.alignment import Alignment

MOST = 60
"""Rows and columns: some 600 kB, which a notebook keeps in its file."""

# No colour of the page's own is known: text has the page's, and a weight is how much of the blue covers its paper.
_TABLE = "border-collapse:collapse;font-size:12px;line-height:1.2"
_CELL = "width:1.5em;min-width:1.5em;height:1.5em;padding:0;text-align:center;border:1px solid rgba(128,128,128,.25)"
_HEAD = "padding:2px 4px;background:none;border:none;font-weight:normal;white-space:nowrap"
_TURNED = (
    "writing-mode:vertical-rl;text-orientation:sideways;transform:rotate(180deg);text-align:left;vertical-align:top"
)
_MARK = '<span style="color:#D55E00" aria-label="link">●</span>'


def table(alignment: Alignment) -> str:
    """`alignment` as a table: source along the top, target down the side, the links marked, numbers in tooltips.

    It needs no style sheet, script or network, and can be read on light and on dark paper. Of more than 60 rows or
    columns the first 60 are shown, and it says so.
    """
    source = [escape(shown(label)) for label in alignment.source[:MOST]]
    rows = [escape(shown(label)) for label in alignment.row_labels()[:MOST]]
    if not source or not rows:
        return "<p>Alignment without any cell</p>"
    peaks = set(alignment.peaks())
    turn = f"{_HEAD};{_TURNED}" if any(len(label) > 2 for label in alignment.source) else _HEAD
    lines = ["".join(f'<th scope="col" style="{turn}"><bdi>{label}</bdi></th>' for label in ["", *source])]
    for row, label in enumerate(rows):
        cells = [
            f'<td style="{_CELL};background:rgba(64,132,222,{_share(weight):.3f})" '
            f'title="{of} → {label}: {weight:.3f}">{_MARK if (row, column) in peaks else ""}</td>'
            for column, (of, weight) in enumerate(zip(source, alignment.weights[row].tolist(), strict=False))
        ]
        lines.append(f'<th scope="row" style="{_HEAD};text-align:right"><bdi>{label}</bdi></th>' + "".join(cells))
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    total = alignment.weights.shape
    note = (
        ""
        if max(total) <= MOST
        else f"<p>Only the first {len(rows)} of {total[0]} rows and {len(source)} of {total[1]} columns are shown.</p>"
    )
    return f'<div style="overflow-x:auto"><table style="{_TABLE}">{body}</table></div>{note}'


def _share(weight: float) -> float:
    return min(max(weight, 0.0), 1.0)
