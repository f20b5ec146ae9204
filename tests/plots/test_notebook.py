"""An alignment in a notebook: a table that holds its numbers, and nothing that runs or asks for anything."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from heedful.alignment import START_LABEL, Alignment
from heedful.alignment.labels import shown

from .cases import KEPT, LABELS, random_alignment, words


def rows(alignment: Alignment) -> list[list[ElementTree.Element]]:
    """The cells of each row, the head first. Parsed as XML, so it is well-formed."""
    tree = ElementTree.fromstring(f"<body>{alignment._repr_html_()}</body>")
    return [list(row) for row in tree.iter("tr")]


def text(cell: ElementTree.Element) -> str:
    return "".join(cell.itertext())


def test_every_cell_has_its_number_its_colour_and_its_mark() -> None:
    alignment = random_alignment(words("s", 5), words("t", 3), seed=1, convention="input")
    head, *body = rows(alignment)
    assert list(map(text, head)) == ["", *alignment.source]
    assert [text(row[0]) for row in body] == [START_LABEL, "t0", "t1", "t2"]
    weights = alignment.weights
    for place, row in enumerate(body):
        for column, cell in enumerate(row[1:]):
            label = f"{alignment.source[column]} → {alignment.row_labels()[place]}"
            assert cell.get("title") == f"{label}: {weights[place, column]:.3f}"
            share = re.search(r"rgba\(\d+,\d+,\d+,(\d\.\d{3})\)$", cell.get("style") or "")
            assert share
            assert float(share[1]) == pytest.approx(weights[place, column], abs=0.0005)
            assert bool(text(cell)) == ((place, column) in alignment.peaks())


@pytest.mark.parametrize(("label", "wanted"), [*LABELS.items(), *((label, label) for label in KEPT)])
def test_what_cannot_be_seen_is_shown_by_its_number(label: str, wanted: str) -> None:
    assert shown(label) == wanted


def test_labels_are_text() -> None:
    labels = ["<b>", '"', "'", "&amp;", "</table>", " ", "\x07", "東"]
    head, *body = rows(Alignment.of(labels, labels, np.full((8, 8), 0.125)))
    wanted = [*labels[:5], "␣", "U+0007", "東"]
    assert list(map(text, head))[1:] == [text(row[0]) for row in body] == wanted


def test_large_and_empty_ones() -> None:
    """What is left out is said; a notebook's file stays small."""
    large = Alignment.of(words("source", 203), words("target", 101), np.full((101, 203), 1 / 203))
    assert len(rows(large)) == 61
    assert {len(row) for row in rows(large)} == {61}
    html = large._repr_html_()
    assert "<p>Only the first 60 of 101 rows and 60 of 203 columns are shown.</p>" in html
    assert len(html) < 750_000
    wide = Alignment.of(words("s", 61), ["t"], np.full((1, 61), 1 / 61))
    assert "the first 1 of 1 rows and 60 of 61 columns" in wide._repr_html_()
    assert Alignment.of((), (), np.zeros((0, 0)))._repr_html_() == "<p>Alignment without any cell</p>"
    for few in (Alignment.of(["x"], ["A"], [[2.0]]), random_alignment(words("s", 59), words("t", 59), seed=1)):
        assert "first" not in few._repr_html_()
