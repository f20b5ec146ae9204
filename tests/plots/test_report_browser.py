"""A report in a browser: an installed Chromium, headless; nothing is downloaded, and no page may ask for anything."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import launched, watched
from heedful.alignment import Alignment, measure
from heedful.plots import Entry, Map, Picture, Report, save_report
from heedful.plots.colours import THEMES, ramp
from heedful.plots.report import entropies

from .cases import KEPT, LABELS, entry, random_alignment, report, words

Open = Callable[..., AbstractContextManager[Any]]
HOSTILE = ["</script><img/src=x/onerror=alert(1)>", "<!--<script>", "{{data}}", '"', "\\u003c", "\u2028"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as browser:
        yield browser


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Open:
    """``with opened(report) as page``: fails if the page complains, asks anybody, or runs what is in its tokens."""

    def open_report(shown: Report | Path, **options: Any) -> AbstractContextManager[Any]:
        path = shown if isinstance(shown, Path) else tmp_path / "report.html"
        if isinstance(shown, Report):
            save_report(shown, path)
        return watched(browser, path, **options)

    return open_report


def lines(page: Any) -> list[int]:
    """The lines of the pairs in the list, in order."""
    return [int(text.removeprefix("line ")) for text in page.locator(".pair .line").all_inner_texts()]


def cell(stage: Any, row: int, column: int) -> tuple[float, float]:
    """Where in the map the cell's middle is, in pixels."""
    canvas, box = stage.locator("canvas").bounding_box(), stage.bounding_box()
    rows, columns = stage.locator("canvas").get_attribute("height"), stage.locator("canvas").get_attribute("width")
    return (
        canvas["x"] - box["x"] + (column + 0.5) * canvas["width"] / int(columns),
        canvas["y"] - box["y"] + (row + 0.5) * canvas["height"] / int(rows),
    )


def point(page: Any, place: int, row: int, column: int, *, tap: bool = False) -> str:
    """What is said when the cell of that map is pointed at."""
    stage = page.locator(".stage").nth(place)
    stage.scroll_into_view_if_needed()  # and is drawn then
    x, y = cell(stage, row, column)
    (stage.tap if tap else stage.hover)(position={"x": x, "y": y})
    return page.locator(".readout").nth(place).inner_text()


def says(text: str, alignment: Alignment, row: int, column: int) -> None:
    """The words and the numbers of a cell, to 1/255 and what three digits lose."""
    found = re.fullmatch(
        r"(.+) \(source (\d+)\) → (.+) \(target (\d+)\): weight (\d\.\d{3}), row entropy (\d\.\d\d)(, linked)?", text
    )
    assert found, text
    assert (found[1], int(found[2])) == (alignment.source[column], column + 1)
    assert (found[3], int(found[4])) == (alignment.row_labels()[row], row + 1)
    assert abs(float(found[5]) - alignment.weights[row, column]) <= 0.5 / 255 + 0.0005
    assert abs(float(found[6]) - entropies(alignment)[row]) <= 0.5 / 255 + 0.005
    assert bool(found[7]) == ((row, column) in alignment.peaks())


def pixels(page: Any) -> np.ndarray:
    """(T, S, 3) the colours of the first map's cells."""
    rows, columns, *values = page.locator(".stage canvas").first.evaluate(
        """canvas => {
            const {width, height} = canvas, image = canvas.getContext("2d").getImageData(0, 0, width, height);
            return [height, width, ...image.data];
        }"""
    )
    return np.array(values).reshape(rows, columns, 4)[..., :3]


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """Sentences of 8 to 40 words; their lengths are as those of translation data."""
    entries = [
        entry(line, words("source", 8 + 7 * line % 29), words("Target", 8 + 11 * line % 31)) for line in range(1, 1001)
    ]
    path = tmp_path_factory.mktemp("thousand") / "report.html"
    save_report(report(*entries), path)
    return path, report(*entries)


def test_a_thousand_pairs(thousand: tuple[Path, Report], opened: Open) -> None:
    """Under 5 MB; what is far below is not drawn, and is when it comes into sight; numbers are the alignment's."""
    path, made = thousand
    assert path.stat().st_size < 5e6
    with opened(path) as page:
        assert page.locator("#count").inner_text() == "1,000 pairs"
        for place, row, column in ((0, 0, 0), (0, 3, 5), (1, 7, 2)):
            says(point(page, place, row, column), made.entries[place].maps[0].alignment, row, column)
        assert page.locator(".stage canvas").count() < page.locator(".stage").count() < 100
        for _ in range(3):
            page.locator("#more").scroll_into_view_if_needed()
            page.wait_for_timeout(100)
        assert lines(page)[:60] == list(range(1, 61))
        late = page.locator("#pair-60 ~ .maps .stage")
        late.scroll_into_view_if_needed()
        late.locator("canvas").wait_for()
        page.locator(".stage").first.locator("canvas").wait_for(state="detached")  # forgotten again


def test_sort_by_a_health_check(thousand: tuple[Path, Report], opened: Open) -> None:
    path, made = thousand
    measured = {one.line: measure(one.maps[0].alignment)["diagonality"] for one in made.entries}
    wanted = sorted(measured, key=lambda line: (round(measured[line], 4), line))
    with opened(path) as page:
        page.select_option("#sort", "diagonality")
        assert lines(page)[:20] == wanted[:20] != list(range(1, 21))
        assert "near the diagonal" in page.locator("#meaning").inner_text()
        assert page.locator(".key").first.inner_text() == f"diagonality {measured[wanted[0]]:.2f}"
        page.click("#order")
        assert measured[lines(page)[0]] == pytest.approx(max(measured.values()), abs=1e-4)
        page.select_option("#sort", "source length")
        assert lines(page)[0] == max(made.entries, key=lambda one: len(one.maps[0].alignment.source)).line
        page.select_option("#sort", "score")
        assert lines(page)[0] == 1
        page.click("#checks summary")
        page.click("#measures button:has-text('entropy')")
        assert page.locator("#sort").input_value() == "entropy"


@pytest.mark.slow
def test_pairs_without_a_check_come_last(opened: Open) -> None:
    """Diagonality is not defined for short sources."""
    short = entry(1, ["x"], ["A"])
    with opened(report(short, entry(2, words("s", 7), words("t", 5)))) as page:
        for _ in range(2):
            page.select_option("#sort", "diagonality")
            assert lines(page) == [2, 1]
            assert page.locator(".key").last.inner_text() == "diagonality –"
            page.click("#order")


def test_find(thousand: tuple[Path, Report], opened: Open) -> None:
    path, made = thousand
    with opened(path) as page:
        page.fill("#find", "tARGET37")
        wanted = [one.line for one in made.entries if "Target37" in (one.given or "")]
        assert lines(page) == wanted[:24]
        assert page.locator("#count").inner_text() == f"{len(wanted)} of 1,000 pairs"
        page.fill("#find", "nowhere")
        assert lines(page) == []
        page.fill("#find", "")
        assert page.locator("#count").inner_text() == "1,000 pairs"


def test_cells_have_the_colours_of_their_weights(opened: Open) -> None:
    """In both themes, by the switch and by the system; and stretched to the largest weight."""
    weights = np.array([[0.5, 0.25, 0.0], [0.1, 0.2, 0.3]])
    alignment = Alignment.of(["x", "y", "z"], ["A", "B"], weights)
    levels, light, dark = np.rint(255 * weights).astype(int), ramp(THEMES["light"]), ramp(THEMES["dark"])
    one = report(Entry(1, "x y z", None, (Map(alignment),)))
    with opened(one) as page:
        background = "getComputedStyle(document.body).backgroundColor"
        np.testing.assert_array_equal(pixels(page), light[levels])
        paper = page.evaluate(background)
        page.select_option("#theme", "dark")
        np.testing.assert_array_equal(pixels(page), dark[levels])
        assert page.evaluate(background) != paper
        page.select_option("#theme", "light")
        np.testing.assert_array_equal(pixels(page), light[levels])
        assert page.evaluate(background) == paper
        page.check("#stretch")
        np.testing.assert_array_equal(pixels(page), light[np.floor(255 * levels / levels.max() + 0.5).astype(int)])
    with opened(one, color_scheme="dark") as page:
        np.testing.assert_array_equal(pixels(page), dark[levels])
        page.emulate_media(color_scheme="light")
        page.wait_for_timeout(100)
        np.testing.assert_array_equal(pixels(page), light[levels])
        page.emulate_media(color_scheme="dark")
        page.wait_for_timeout(100)
        page.select_option("#theme", "light")
        np.testing.assert_array_equal(pixels(page), light[levels])


def test_a_large_map(opened: Open) -> None:
    """Of more cells than a call has arguments, in stretched colours; numbers are unpacked once while it is drawn."""
    weights = np.zeros((400, 400))
    weights[:, ::3] = 0.2
    weights[399, 398] = 0.6
    alignment = Alignment.of(words("s", 400), words("t", 400), weights)
    with opened(report(Entry(1, "s", None, (Map(alignment),)))) as page:
        page.evaluate("() => { const real = atob; window.unpacked = 0; window.atob = (t) => (unpacked++, real(t)); }")
        page.check("#stretch")
        shown = page.locator(".stage canvas").first.evaluate(
            """canvas => {
                const {data} = canvas.getContext("2d").getImageData(0, 0, 400, 400);
                return [[0, 0], [0, 1], [399, 398]].map(([row, column]) =>
                    [...data.slice(4 * (400 * row + column)).slice(0, 3)]);
            }"""
        )
        assert shown == ramp(THEMES["light"])[[85, 0, 255]].tolist()
        for column in range(5):
            says(point(page, 0, 3, column), alignment, 3, column)
        assert page.evaluate("unpacked") <= 2  # weights and entropies


def test_a_single_cell_stands_at_its_labels(opened: Open) -> None:
    weights = np.zeros((2, 3))
    weights[1, 2] = 1
    with opened(report(Entry(1, "x y z", None, (Map(Alignment.of(["x", "y", "z"], ["A", "B"], weights)),)))) as page:
        assert np.argwhere((pixels(page) == ramp(THEMES["light"])[255]).all(-1)).tolist() == [[1, 2]]
        canvas = page.locator(".stage canvas").bounding_box()
        boxes = {node.text_content(): node.bounding_box() for node in page.locator(".label").all()}
        middle = {name: (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) for name, box in boxes.items()}
        wide, high = canvas["width"] / 3, canvas["height"] / 2
        for column, label in enumerate("xyz"):
            assert middle[label][0] == pytest.approx(canvas["x"] + (column + 0.5) * wide, abs=2)
            assert middle[label][1] < canvas["y"]
        for row, label in enumerate("AB"):
            assert middle[label][1] == pytest.approx(canvas["y"] + (row + 0.5) * high, abs=4)
            assert middle[label][0] < canvas["x"]
        dot = page.locator(".links circle").bounding_box()
        assert dot["x"] + dot["width"] / 2 == pytest.approx(canvas["x"] + 2.5 * wide, abs=1.5)
        assert dot["y"] + dot["height"] / 2 == pytest.approx(canvas["y"] + 1.5 * high, abs=1.5)


def test_keys_and_fingers(opened: Open) -> None:
    one = entry(1, words("s", 5), words("t", 3))
    alignment = one.maps[0].alignment
    with opened(report(one), has_touch=True) as page:
        stage, readout = page.locator(".stage"), page.locator(".readout")
        says(point(page, 0, 2, 3, tap=True), alignment, 2, 3)
        for key, (row, column) in {"ArrowUp": (1, 3), "ArrowRight": (1, 4), "End": (1, 5), "Home": (1, 0)}.items():
            page.keyboard.press(key)
            says(readout.inner_text(), alignment, row, column)
        for _ in range(9):
            page.keyboard.press("ArrowDown")
        says(readout.inner_text(), alignment, 3, 0)
        assert page.locator(".label.lit").all_text_contents() == ["s0", "∎"]
        stage.blur()
        assert not page.locator(".label.lit").count()


@pytest.mark.parametrize("width", [1200, pytest.param(360, marks=pytest.mark.slow)])
def test_two_runs_on_the_same_pair(opened: Open, width: int) -> None:
    """Side by side where there is room; a cell that is pointed at is shown in both; sorted by either, and by both."""
    entries = [entry(line, words("s", 6), words("t", 4), captions=("one", "other")) for line in range(1, 8)]
    with opened(report(*entries), width=width) as page:
        first, second = (page.locator(".stage").nth(place).bounding_box() for place in range(2))
        beside = first["y"] == second["y"] and first["x"] + first["width"] < second["x"]
        below = first["y"] + first["height"] < second["y"] and first["x"] == second["x"]
        assert (beside, below) == (width == 1200, width == 360)
        says(point(page, 0, 2, 3), entries[0].maps[0].alignment, 2, 3)
        says(page.locator(".readout").nth(1).inner_text(), entries[0].maps[1].alignment, 2, 3)
        page.select_option("#sort", "focus")
        for place, name in enumerate(("one", "other")):
            page.select_option("#of", name)
            assert lines(page) == sorted(
                range(1, 8), key=lambda line: round(measure(entries[line - 1].maps[place].alignment)["focus"], 4)
            )
        page.select_option("#sort", "difference")
        apart = {
            one.line: np.abs(one.maps[0].alignment.weights - one.maps[1].alignment.weights).sum(1).mean()
            for one in entries
        }
        assert lines(page) == sorted(apart, key=apart.__getitem__)


def test_n_best_side_by_side(opened: Open) -> None:
    source, answers = words("s", 4), [["A", "B"], ["A", "C"], ["B"]]
    maps = tuple(
        Map(random_alignment(source, answer, seed=place), " ".join(answer), f"answer {place + 1}", -place - 0.5)
        for place, answer in enumerate(answers)
    )
    with opened(report(Entry(1, " ".join(source), "A B C", maps))) as page:
        captions = page.locator("figcaption").all_inner_texts()
        assert captions == [f"answer {n} {text} score −{n - 1}.500" for n, text in ((1, "A B"), (2, "A C"), (3, "B"))]
        assert page.locator(".given").inner_text() == "given target: A B C"
        assert len({page.locator(".stage").nth(place).bounding_box()["y"] for place in range(3)}) == 1


def test_narrow_windows(opened: Open) -> None:
    """The page never scrolls sideways; a map that is too wide does, in its own box; the tools can be used."""
    with opened(
        report(entry(1, words("s", 60), words("t", 58)), entry(2, ["x"], ["A"])), width=360, height=780
    ) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        assert page.locator(".scroll", has=page.locator(".stage")).first.evaluate("n => n.scrollWidth > n.clientWidth")
        for name in ("#find", "#sort", "#theme"):
            box = page.locator(name).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 360
        page.click("#checks summary")
        page.locator(".more summary").nth(1).click()
        assert page.evaluate("document.documentElement.scrollWidth") == 360
        page.locator(".stage").first.scroll_into_view_if_needed()
        page.locator(".stage canvas").first.wait_for()
        for label in ("s0", "s59", "t57"):
            assert page.locator(".label", has_text=re.compile(f"^{label}$")).count() == 1


def test_the_first_screen_of_a_telephone_has_a_map(opened: Open) -> None:
    """What explains is closed there, and open where there is room; signature and score say what they mean."""
    one = Report("a and b on pairs.tsv", (("run", "a"), ("signature", "forced")), (entry(1, ["x"], ["A"]),))
    with opened(one, width=360, height=640) as page:
        assert page.locator("details[open]").count() == 0
        canvas = page.locator(".stage canvas").bounding_box()
        assert canvas["y"] + canvas["height"] < 640
        page.click("#made summary")
        for name, meaning in (("#facts dd", "the model is made to write"), (".score", "log-probability")):
            assert meaning in page.locator(name).last.get_attribute("title")
    with opened(one) as page:
        assert page.locator("details[open]").evaluate_all("all => all.map(one => one.id)") == ["made", "about"]


def test_long_texts_are_cut_to_three_lines(opened: Open) -> None:
    long, short = "a long source " * 300, "a short one " * 20
    alignment = random_alignment(["x"], ["A"], seed=1)
    maps = (Map(alignment, long), Map(alignment, short))
    with opened(Report(long, (), (Entry(1, long, long + "b", maps),))) as page:

        def lines_of(node: Any) -> int:
            return round(
                node.evaluate("n => n.getBoundingClientRect().height / parseFloat(getComputedStyle(n).lineHeight)")
            )

        assert lines_of(page.locator("h1")) == 3
        assert page.locator("h1").get_attribute("title") == long
        texts = page.locator(".pair bdi.text").all()
        assert [lines_of(node) for node in texts[:3]] == [3, 3, 3]
        assert texts[0].text_content() == long
        assert page.locator(".whole").count() == 3  # none for the short one
        button = page.locator(".whole").first
        button.press("Enter")
        assert lines_of(texts[0]) > 20
        assert button.get_attribute("aria-expanded") == "true"
        button.click()
        assert lines_of(texts[0]) == 3
        assert len(page.locator(".stage").first.get_attribute("aria-label")) < 600


def test_hostile_tokens_are_text(opened: Open) -> None:
    one = Entry(1, HOSTILE[0], HOSTILE[1], (Map(random_alignment(HOSTILE, HOSTILE, seed=1), HOSTILE[2], HOSTILE[0]),))
    shown = Report(HOSTILE[0], ((HOSTILE[0], HOSTILE[1]),), (one,))
    with opened(shown) as page:
        assert page.title() == page.locator("h1").inner_text() == HOSTILE[0]
        assert page.locator("script").count() == 2
        assert not page.locator("img").count()
        says(point(page, 0, 0, 2), one.maps[0].alignment, 0, 2)
        page.locator(".more summary").nth(1).click()
        page.locator(".weights").wait_for()
        heads = page.locator(".weights").first.locator("thead bdi").all_text_contents()
        assert heads == [*HOSTILE[:5], "U+2028", "∎"]


def test_scripts_of_the_world_are_whole(opened: Open) -> None:
    """One label for each token, graphemes not cut, spaces seen, Hebrew in its own direction."""
    labels = ["東", "क्षत्रिय", "שלום,", "👩‍👩‍👧‍👦", " ", "é", "\x07"]
    more = [*LABELS, *KEPT]
    maps = (Map(random_alignment(labels, labels, seed=1)), Map(random_alignment(more, ["x"], seed=2)))
    with opened(report(Entry(1, "a", None, maps))) as page:
        first, second = page.locator(".stage").all()
        wanted = [*labels[:4], "␣", "é", "U+0007", "∎"]
        assert first.locator(".label").all_text_contents() == wanted * 2
        assert second.locator(".label").all_text_contents()[:-3] == [*LABELS.values(), *KEPT]
        assert (
            page.locator(".label", has_text="שלום").first.evaluate("n => getComputedStyle(n).unicodeBidi")
            == "plaintext"
        )


@pytest.mark.slow
def test_long_labels_are_cut_between_graphemes_and_read_out_whole(opened: Open) -> None:
    long = "👩‍👩‍👧‍👦" * 40
    with opened(report(Entry(1, "a", None, (Map(random_alignment([long, "b"], ["A"], seed=1)),)))) as page:
        label = page.locator(".label").first.text_content()
        assert re.fullmatch("(👩‍👩‍👧‍👦)+…", label)
        assert point(page, 0, 0, 0).startswith(long)


def test_everything_has_a_name(opened: Open) -> None:
    """Controls and maps can be told apart by those who hear the page; numbers are there as a table."""
    one = entry(1, words("s", 3), words("t", 2))
    with opened(report(one)) as page:
        for role, names in {
            "searchbox": ["Find"],
            "combobox": ["Sort by", "Colours"],
            "application": ["Heat map: s0 s1 s2 → t0 t1. 3 rows, 4 columns."],
            "search": ["Find and sort pairs"],
            "article": ["line 1 s0 s1 s2"],
        }.items():
            for name in names:
                assert page.get_by_role(role, name=name, exact=role != "combobox").count() == 1, (role, name)
        page.locator(".more summary").nth(1).click()
        page.locator(".weights").wait_for()
        rows = page.locator(".weights tbody tr").all_inner_texts()
        assert [row.split("\t")[1:] for row in rows] == [
            [f"{round(255 * weight) / 255:.2f}" for weight in row] for row in one.maps[0].alignment.weights.tolist()
        ]


@pytest.mark.slow
def test_the_theme_that_was_asked_for(opened: Open, tmp_path: Path) -> None:
    save_report(report(entry(1, ["x"], ["A"])), tmp_path / "dark.html", theme="dark")
    with opened(tmp_path / "dark.html", color_scheme="light") as page:
        assert page.locator("#theme").input_value() == "dark"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 17, 22)"


def test_picture_stands_over_its_columns(opened: Open) -> None:
    """Three columns of weights over four of an image: the first is about two of them."""
    image = Picture(np.array([[1.0, 1.0, 0.0, 1.0]]), "image")
    alignment = Alignment.of(["a", "b", "c"], ["A"], [[0.5, 0.25, 0.25]], source_spans=[(0, 2), (2, 3), (3, 4)])
    with opened(report(Entry(1, "x", "A", (Map(alignment, "A", picture=image),)))) as page:
        picture, weights = (page.locator(f".stage canvas{which}") for which in (".picture", ":not(.picture)"))
        above, below = picture.bounding_box(), weights.bounding_box()
        assert (above["x"], above["width"]) == (below["x"], below["width"])
        assert above["y"] + above["height"] <= below["y"]
        found = picture.evaluate(
            "node => { const { width, data } = node.getContext('2d').getImageData(0, 3, node.width, 1);"
            " return [0.16, 0.32, 0.5, 0.84].map(share => data[4 * Math.floor(share * width)]); }"
        )
        assert found == [255, 255, 0, 255]
        page.mouse.move(below["x"] + below["width"] / 2, below["y"] + 3)
        assert page.locator(".readout").inner_text().startswith("b (source 2)")


def test_columns_under_a_picture_may_be_narrow_and_rows_stay_legible(opened: Open) -> None:
    long = Alignment.of(words("s", 300), ["A", "B"], np.full((2, 300), 1 / 300))
    with opened(report(Entry(1, "x", "A B", (Map(long, "A B", picture=Picture(np.eye(5, 300))),)))) as page:
        box = page.locator(".stage canvas:not(.picture)").bounding_box()
        assert (box["width"], box["height"]) == (900, 30)
        labels = [text for text in page.locator(".stage .label").all_text_contents() if text]
        assert labels == [*words("s", 300)[::12], "A", "B"]
        page.mouse.move(box["x"] + 1.5, box["y"] + 22)
        assert "(target 2)" in page.locator(".readout").inner_text()
