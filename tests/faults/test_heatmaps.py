"""Heat maps that show something else than the numbers: axes swapped, rows upside down, labels lost."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from heedful.alignment import Alignment
from heedful.plots import MissingGlyphWarning, draw, save
from heedful.plots.fonts import families_for

TOKYO, NAMASTE, SHALOM, SALAM = "東京", "नमस्ते", "שלום", "سلام"


def texts(ticks) -> list[str]:
    return [tick.get_text() for tick in ticks]


@pytest.mark.parametrize("shape", [(4, 6), (6, 4), (2, 3), (1, 1), (41, 43)])
def test_the_picture_is_the_matrix(shape):
    """Read back from the figure: every number, the extents, a tick for every token, and none more."""
    rows, columns = shape
    weights = np.random.default_rng(2).random(shape)
    source, target = [f"s{i}" for i in range(columns)], [f"t{i}" for i in range(rows)]
    axes = draw(Alignment.of(source, target, weights))
    (image,) = axes.images
    np.testing.assert_array_equal(np.asarray(image.get_array()), weights)
    left, right, bottom, top = image.get_extent()
    assert (right - left, bottom - top) == (columns, rows)
    assert axes.get_xlim() == (left, right)
    assert axes.get_ylim() == (bottom, top)
    assert (axes.get_xticks().tolist(), axes.get_yticks().tolist()) == (list(range(columns)), list(range(rows)))
    assert (texts(axes.get_xticklabels()), texts(axes.get_yticklabels())) == (source, target)
    assert image.get_clim() == (0, 1)


def test_chinese_and_devanagari_are_shown_or_said_to_be_missing(tmp_path):
    """An SVG has the characters themselves; a PNG either finds a font for each, or names those that it lacks."""
    alignment = Alignment.of(list(TOKYO), [NAMASTE, "x"], np.eye(2))
    save(alignment, tmp_path / "map.svg")
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    assert all(f">{label}<" in svg for label in (*TOKYO, NAMASTE))
    _, missing = families_for([TOKYO, NAMASTE])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save(alignment, tmp_path / "map.png")
    assert [one.category for one in caught] == [MissingGlyphWarning] * bool(missing)
    assert all(char in str(caught[0].message) for char in missing)
    assert not caught or "save as .svg" in str(caught[0].message)


@pytest.mark.parametrize("word", [SHALOM, SALAM])
def test_letters_that_run_from_right_to_left_stand_at_their_rows(word, tmp_path):
    """One label a letter, first to last, each beside the row that is about it; data keep the written order."""
    size = len(word)
    alignment = Alignment.of(list("abcd"), list(word), np.eye(size))
    assert texts(draw(alignment).get_yticklabels()) == list(word)
    assert draw(alignment).yaxis_inverted()
    read = json.loads(json.dumps(alignment.to_json()))
    assert read["target"] == list(word)
    assert [row.index(1.0) for row in read["weights"]] == list(range(size))
    save(alignment, tmp_path / "map.svg")
    svg = (tmp_path / "map.svg").read_text(encoding="utf-8")
    places = [svg.index(f">{letter}<") for letter in word]
    assert places == sorted(places)
