"""Heat maps, read back from the figure's own artists and from the files."""

from __future__ import annotations

import dataclasses
import itertools
import subprocess
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import imread

from heedful.alignment import START_LABEL, Alignment
from heedful.errors import DataError, RunError, SizeError
from heedful.plots import MissingGlyphWarning, SmallCellsWarning, draw, save, save_many
from heedful.plots.colours import THEMES, ramp
from heedful.plots.fonts import families_for
from heedful.plots.sizes import fits

DEVANAGARI, TOKYO, SHALOM = "नमस्ते", "東京", "שלום"


def single() -> Alignment:
    """2 x 3 with a single 1.0, at target 1 and source 2."""
    weights = np.zeros((2, 3))
    weights[1, 2] = 1
    return Alignment.of(["x", "y", "z"], ["A", "B"], weights)


def diagonal(labels: list[str]) -> Alignment:
    return Alignment.of(labels, labels, np.eye(len(labels)))


def labels(axes: Axes) -> tuple[list[str], list[str]]:
    return [t.get_text() for t in axes.get_xticklabels()], [t.get_text() for t in axes.get_yticklabels()]


def marks(axes: Axes) -> list[tuple[float, float]]:
    """(row, column) of the marked cells."""
    points = [(y, x) for line in axes.lines for x, y in np.asarray(line.get_xydata()).tolist()]
    return [point for point in points if not np.isnan(point[1])]


def svg_texts(path: Path) -> list[str]:
    root = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    return ["".join(node.itertext()) for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_single_cell_stands_at_its_two_labels() -> None:
    axes = draw(single())
    shown = np.asarray(axes.images[0].get_array())
    np.testing.assert_array_equal(shown, single().weights)
    left, right, bottom, top = axes.images[0].get_extent()
    assert (right - left, bottom - top) == (3, 2)

    [(row, column)] = np.argwhere(shown == 1).tolist()
    columns, rows = labels(axes)
    # The label whose tick stands at the cell's middle, wherever matplotlib put it.
    assert columns[axes.get_xticks().tolist().index(column)] == "z"
    assert rows[axes.get_yticks().tolist().index(row)] == "B"
    assert marks(axes) == [(1, 2)]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("source", "target")
    assert axes.xaxis.get_label_position() == "top"


def dark_box(path: Path) -> tuple[int, int, int, int]:
    """First and last row, first and last column of the pixels with weight 1, colour bar aside."""
    pixels = imread(path)[..., :3]
    dark = np.abs(pixels - ramp(THEMES["light"])[-1] / 255).max(axis=-1) < 0.01
    rows, columns = np.nonzero(dark[:, : int(0.75 * dark.shape[1])])
    return int(rows.min()), int(rows.max()), int(columns.min()), int(columns.max())


def test_single_cell_is_the_last_one_in_the_written_picture(tmp_path: Path) -> None:
    save(single(), tmp_path / "one.png")
    save(Alignment.of(["x", "y", "z"], ["A", "B"], np.ones((2, 3))), tmp_path / "all.png")
    first, last, left, right = dark_box(tmp_path / "all.png")
    cell = (right - left) / 3
    expected = (first + cell, last, right - cell, right)
    np.testing.assert_allclose(dark_box(tmp_path / "one.png"), expected, atol=3)


def test_every_one_of_forty_tokens_has_its_tick() -> None:
    source, target = [f"s{i}" for i in range(40)], [f"t{i}" for i in range(37)]
    axes = draw(Alignment.of(source, target, np.eye(37, 40)))
    assert labels(axes) == (source, target)
    assert (len(axes.get_xticks()), len(axes.get_yticks())) == (40, 37)
    assert marks(axes) == [(i, i) for i in range(37)]


def test_target_reads_downwards_whatever_the_user_s_settings() -> None:
    with matplotlib.rc_context({"image.origin": "lower", "axes.grid": True, "text.usetex": True}):
        axes = draw(single())
    assert axes.yaxis_inverted()
    assert not any(line.get_visible() for line in axes.get_xgridlines())
    assert not any(label.get_usetex() for label in axes.get_xticklabels())


def test_marks_are_the_links_and_nothing_else() -> None:
    weights = [[0.1, 0.2, 0.0, 0.7], [0.0, 0.0, 0.0, 1.0], [0.3, 0.3, 0.4, 0.0], [0.0, 0.0, 0.0, 1.0]]
    alignment = Alignment.of(
        ["[t]", "x", "y", "∎"],
        ["A", "B", "C", "∎"],
        weights,
        source_positions=[0, 1, 2, 0],
        target_end=True,
    )
    axes = draw(alignment)
    assert marks(axes) == alignment.peaks() == [(0, 1), (2, 2)]
    [line] = axes.lines  # the row without a link breaks it
    assert np.isnan(np.asarray(line.get_xdata(), dtype=float)).tolist() == [False, True, False]


def test_without_links_nothing_is_marked() -> None:
    assert not draw(Alignment.of(["x"], ["A"], [[0.0]])).lines


def test_rows_about_the_input_word_carry_its_label() -> None:
    alignment = Alignment.of(
        ["x", "y"], ["A", "B", "∎"], [[0.5, 0.5], [1, 0], [0, 1]], convention="input", target_end=True
    )
    axes = draw(alignment)
    assert labels(axes)[1] == [START_LABEL, "A", "B"]
    assert marks(axes) == [(1, 0), (2, 1)]


def test_given_axes_are_drawn_into() -> None:
    figure = Figure(figsize=(6, 3))
    left, right = figure.subplots(1, 2)
    assert draw(single(), right, title="one") is right
    assert right.get_title() == "one"
    assert labels(right)[0] == ["x", "y", "z"]
    assert not left.images
    assert len(figure.axes) == 2


def test_dollar_signs_start_no_formula(tmp_path: Path) -> None:
    tokens = ["$x$", "$\\frac$", "a_b"]
    save(diagonal(tokens), tmp_path / "map.svg", title="$y$")
    assert [*tokens, "$y$"] == [text for text in [*tokens, "$y$"] if text in svg_texts(tmp_path / "map.svg")]


def test_spaces_and_control_characters_can_be_seen(tmp_path: Path) -> None:
    axes = draw(diagonal([" ", "a b", "\x07", "\ufffe"]))
    assert labels(axes)[0] == ["␣", "a b", "U+0007", "U+FFFE"]
    save(diagonal(["\x07", "\ud800", "\u2028", "\ufffe"]), tmp_path / "map.svg")
    assert "U+0007" in svg_texts(tmp_path / "map.svg")


def test_svg_holds_the_tokens_as_text(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    tokens = ["<s>", "&", TOKYO, DEVANAGARI, SHALOM]
    save(diagonal(tokens), path, title=TOKYO)  # warnings are errors: an SVG asks for no font
    found = svg_texts(path)
    assert [found.count(token) for token in tokens] == [2, 2, 3, 2, 2]
    assert {"source", "target"} <= set(found)


def test_same_alignment_gives_the_same_file(tmp_path: Path) -> None:
    for suffix in (".svg", ".png"):
        first, second = tmp_path / f"1{suffix}", tmp_path / f"2{suffix}"
        save(single(), first)
        save(single(), second)
        assert first.read_bytes() == second.read_bytes()


def test_hebrew_letters_stand_in_reading_order() -> None:
    assert labels(draw(diagonal(list(SHALOM)))) == (list(SHALOM), list(SHALOM))


def test_characters_without_a_font_are_named_once(tmp_path: Path) -> None:
    nowhere = "\U000f0000\U000f0001"  # for private use: no font that we look at has them
    path = tmp_path / "map.png"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save(diagonal([nowhere, nowhere[0], "a"]), path)
    assert [one.category for one in caught] == [MissingGlyphWarning]
    assert "U+F0000" in str(caught[0].message)
    assert "U+F0001" in str(caught[0].message)
    assert "U+0061" not in str(caught[0].message)
    assert path.exists()
    with pytest.warns(MissingGlyphWarning, match=r"U\+F0001"):
        draw(diagonal([nowhere]))


def test_a_font_with_the_glyph_is_found(tmp_path: Path) -> None:
    # Take from the fonts that come with matplotlib a letter that the first of them lacks.
    own = {
        entry.name: set(font_manager.get_font(entry.fname).get_charmap())
        for entry in font_manager.fontManager.ttflist
        if entry.name in ("DejaVu Sans", "STIXGeneral") and entry.style == "normal" and entry.weight == 400
    }
    letter = chr(min(code for code in own["STIXGeneral"] - own["DejaVu Sans"] if chr(code).isalpha()))
    families, missing = families_for(["a", letter])
    assert families[0] == "sans-serif"
    assert len(families) == 2
    assert not missing
    save(diagonal([letter]), tmp_path / "map.png")  # warnings are errors
    assert families_for(["abc", "é"]) == (["sans-serif"], "")
    assert families_for(["\U000e0041"]) == (["sans-serif"], "")  # an invisible tag letter: nothing is lacking


def test_a_font_of_medium_weight_is_found_where_no_regular_one_has_the_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some scripts are only there in such a font."""
    fonts = font_manager.fontManager.ttflist
    [stix] = [e for e in fonts if e.name == "STIXGeneral" and e.style == "normal" and e.weight == 400][:1]
    [dejavu] = [e for e in fonts if e.name == "DejaVu Sans" and e.style == "normal" and e.weight == 400][:1]
    own = [set(font_manager.get_font(entry.fname).get_charmap()) for entry in (stix, dejavu)]
    letter = chr(min(code for code in own[0] - own[1] if chr(code).isalpha()))
    medium = dataclasses.replace(stix, name="Medium", weight=500)
    bold = dataclasses.replace(stix, name="Bold", weight=700)
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [dejavu, bold, medium])
    assert families_for([letter]) == (["sans-serif", "Medium"], "")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [dejavu, medium, stix])
    assert families_for([letter]) == (["sans-serif", "STIXGeneral"], "")
    monkeypatch.setattr(font_manager.fontManager, "ttflist", [dejavu, bold])
    assert families_for([letter]) == (["sans-serif"], letter)


@pytest.mark.parametrize("name", ["light", "dark"])
def test_themes_colour_cells_paper_and_labels(tmp_path: Path, name: str) -> None:
    theme = THEMES[name]
    axes = draw(single(), title="one", theme=name)
    cells = np.rint(255 * np.asarray(axes.images[0].to_rgba(single().weights)))[..., :3]
    np.testing.assert_array_equal(cells[1, 2], ramp(theme)[255])
    np.testing.assert_array_equal(cells[0, 0], ramp(theme)[0])
    figure = axes.get_figure(root=True)
    assert figure is not None
    assert matplotlib.colors.to_hex(figure.get_facecolor()) == theme.paper
    inks = {t.get_color() for t in (axes.title, *axes.get_xticklabels(), *axes.get_yticklabels())}
    assert inks == {theme.ink}
    save(single(), tmp_path / "map.png", theme=name)
    corner = imread(tmp_path / "map.png")[0, 0, :3]
    assert matplotlib.colors.to_hex(corner) == theme.paper


def test_unknown_themes_are_named(tmp_path: Path) -> None:
    for action in (lambda: draw(single(), theme="drak"), lambda: save(single(), tmp_path / "map.png", theme="drak")):
        with pytest.raises(DataError, match="unknown theme 'drak'; did you mean 'dark'"):
            action()
    with pytest.raises(DataError, match="unknown theme"):
        draw(single(), Figure().subplots(), theme="drak")
    assert not list(tmp_path.iterdir())


def wide(tokens: int) -> Alignment:
    return Alignment.of(["x"] * tokens, ["A"], np.full((1, tokens), 1 / tokens))


def test_cells_too_small_to_read_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the size and what to do; for one large map and for many on a page."""
    monkeypatch.setattr("heedful.plots.heatmap._write", lambda *_: None)  # which takes seconds
    path = tmp_path / "map.png"
    with pytest.warns(
        SmallCellsWarning, match=r"map\.png: cells are 9 pixels wide, with up to 400 tokens a side.*\.html"
    ):
        save(wide(400), path)
    with pytest.warns(SmallCellsWarning, match="up to 150 tokens"):
        save_many([wide(150)] * 4, tmp_path / "maps.svg", columns=4)
    save(wide(300), path)  # warnings are errors


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_more_tokens_than_a_picture_can_hold(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"map{suffix}"
    with pytest.raises(SizeError, match=r"at most 1,000 rows or columns, got 1 rows and 1,001 columns; write a report"):
        save(wide(1001), path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["map.pdf", "map", "map.svg.gz"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"{name}: .*\.png or \.svg, got the suffix"):
        save(single(), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_suffix_may_be_in_capitals(tmp_path: Path) -> None:
    save(single(), tmp_path / "MAP.PNG")
    assert (tmp_path / "MAP.PNG").read_bytes().startswith(b"\x89PNG")


def test_failed_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "map.png"
    path.write_bytes(b"old")

    def half(_: Figure, target: str, **__: object) -> None:
        Path(target).write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Figure, "savefig", half)
    with pytest.raises(RunError, match=r"map\.png: cannot be written: No space left"):
        save(single(), path)
    assert [file.read_bytes() for file in tmp_path.iterdir()] == [b"old"]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"nowhere/map\.png: cannot be written"):
        save(single(), tmp_path / "nowhere" / "map.png")


def test_many_maps_share_a_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[Figure] = []
    real = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda self, *a, **k: (written.append(self), real(self, *a, **k)))
    path = tmp_path / "maps.svg"
    maps = [single(), diagonal(["eins", "zwei"]), diagonal(list("abcde"))]
    save_many(maps, path, titles=["first", None, "third"])
    [figure] = written
    *panels, _ = figure.axes  # and the colour bar
    assert [axes.get_title() for axes in panels] == ["first", "", "third"]
    assert [labels(axes)[0] for axes in panels] == [list(one.source) for one in maps]
    first, second, third = (axes.get_position() for axes in panels)
    assert first.y1 == pytest.approx(second.y1)
    assert first.x0 == pytest.approx(third.x0)
    assert first.x1 < second.x0
    assert third.y1 < min(first.y0, second.y0)
    assert {"first", "third", "eins", "e"} <= set(svg_texts(path))


@pytest.mark.parametrize(("count", "first"), [(1, "Donaudampfschifffahrt"), (5, "Donaudampfschifffahrt"), (5, "a")])
def test_nothing_overlaps_or_is_cut_off(count: int, first: str) -> None:
    from heedful.plots import heatmap

    words = [[first], list("abcdefghijklm"), [first, "東京", "x", "∎"]]
    maps = [diagonal(words[index % 3]) for index in range(count)]
    figure, _ = heatmap._page(maps, ["a title that is rather long"] * count, columns=3)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        boxes = [axes.get_tightbbox() for axes in figure.axes]
    for i, one in enumerate(boxes):
        assert one is not None
        assert not any(one.overlaps(other) for other in boxes[:i] if other is not None)
        # Nor is anything cut off where the figure is saved as it is.
        assert one.x0 >= 0
        assert one.y0 >= 0
        assert one.x1 <= figure.bbox.x1
        assert one.y1 <= figure.bbox.y1


def test_titles_must_match_and_something_must_be_drawn(tmp_path: Path) -> None:
    path = tmp_path / "map.png"
    with pytest.raises(SizeError, match="expected 2 titles, got 1"):
        save_many([single()] * 2, path, titles=["one"])
    with pytest.raises(SizeError, match="at least one alignment"):
        save_many([], path)
    empty = Alignment.of([], ["A"], np.zeros((1, 0)))
    with pytest.raises(SizeError, match=r"one row and one column, got \(1, 0\)"):
        save(empty, path)
    with pytest.raises(SizeError, match=r"one row and one column, got \(1, 0\)"):
        draw(empty, Figure().subplots())
    assert not path.exists()


def test_long_labels_are_turned_and_short_ones_are_not() -> None:
    assert {t.get_rotation() for t in draw(diagonal(["a", "bc"])).get_xticklabels()} == {0}
    assert {t.get_rotation() for t in draw(diagonal(["a", "reading"])).get_xticklabels()} == {90}
    # What is one sign for its reader takes the room of one.
    assert fits(["क्ष्म", "e\u0301", "👍🏽", "👩‍👩‍👧‍👦"], 0.2)
    assert not fits(["कषत", "éé", "👍👍"], 0.2)


def test_size_grows_with_the_tokens() -> None:
    sizes = [
        np.asarray(draw(diagonal(["a"] * n)).figure.get_figure(root=True).get_size_inches()) for n in (3, 20, 40, 400)
    ]
    assert all((small < large).all() for small, large in itertools.pairwise(sizes))
    assert sizes[0].max() < 2.5  # a small map is no poster
    assert sizes[1].max() < 6  # on a page of a book without shrinking
    assert sizes[-1].max() < 26  # nor a large one a wall


def test_global_state_is_left_alone(tmp_path: Path) -> None:
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "mine"}):
        before = dict(matplotlib.rcParams)
        filters = list(warnings.filters)
        save(single(), tmp_path / "map.svg")
        save_many([single()] * 2, tmp_path / "maps.png")
        draw(single())
        assert dict(matplotlib.rcParams) == before
        assert warnings.filters == filters


def test_pyplot_and_torch_are_not_imported(tmp_path: Path) -> None:
    code = f"""
import sys, heedful.plots
assert "matplotlib" not in sys.modules
from heedful.alignment import Alignment
heedful.plots.save(Alignment.of(["x"], ["A"], [[1.0]]), {str(tmp_path / "map.svg")!r})
print([m for m in ("matplotlib.pyplot", "torch") if m in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
