"""The report of a comparison in a browser: its pictures stand where they should, its heat maps are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import launched, watched
from comparison.cases import NAMES, make
from heedful.comparison import Comparison
from heedful.comparison.report import write_report
from heedful.comparison.report.terms import ranked
from heedful.plots.colours import THEMES, ramp


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with launched() as browser:
        yield browser


def written(comparison: Comparison, folder: Path) -> Path:
    write_report(comparison, folder)
    return folder / "report.html"


def middle(node: Any) -> float:
    box = node.bounding_box()
    return box["x"] + box["width"] / 2


@pytest.mark.parametrize("width", [1200, 360])
def test_dots_stand_at_their_numbers(browser: Any, tmp_path: Path, width: int) -> None:
    """On the scale over them, between the ends of their interval, and the page never scrolls sideways."""
    comparison = make(NAMES[:3])
    with watched(browser, written(comparison, tmp_path), width=width, height=780) as page:
        assert page.evaluate("document.documentElement.scrollWidth") == width
        chart = page.locator(".dots").first
        labels = chart.locator(".scale text").all()
        places = {float(label.text_content()): middle(label) for label in labels}
        low, high = min(places), max(places)
        pixels = (places[high] - places[low]) / (high - low)
        values = [error.value for error in comparison.judgement(part="dev").errors]
        order = [one.place for one in ranked(comparison)]
        for row, place in zip(chart.locator("tbody tr:not(.scale)").all(), order, strict=True):
            at = middle(row.locator(".picture .mark"))
            assert at == pytest.approx(places[low] + pixels * (values[place] - low), abs=1.5)
            line = row.locator(".interval").bounding_box()
            error = comparison.judgement(part="dev").errors[place]
            stroke = 2.5  # is in the box
            assert line["width"] - stroke == pytest.approx(pixels * (error.high - error.low), abs=1)
            assert row.locator(".seed").count() == 3


def test_lines_go_through_their_numbers(browser: Any, tmp_path: Path) -> None:
    comparison = make(NAMES[:3])
    (breakdown,) = (one for one in comparison.breakdowns if one.by == "length")
    with watched(browser, written(comparison, tmp_path)) as page:
        plot = page.locator(".plot").first
        ticks = [node for node in plot.locator("text").all() if node.get_attribute("text-anchor") == "end"]
        heights = {float(node.text_content()): node.bounding_box() for node in ticks}
        levels = {tick: box["y"] + box["height"] / 2 for tick, box in heights.items()}
        low, high = min(levels), max(levels)
        line = plot.locator("path.line.d0").bounding_box()  # "fixed", which rises from bin to bin
        values = [group.errors[0].value for group in breakdown.groups]
        assert values == sorted(values)
        for pixel, value in ((line["y"], values[-1]), (line["y"] + line["height"], values[0])):
            wanted = levels[low] + (levels[high] - levels[low]) * (value - low) / (high - low)
            assert pixel == pytest.approx(wanted, abs=2.5)
        labels = [node.text_content() for node in plot.locator("text").all()]
        assert [f"n = {group.sources}" for group in breakdown.groups] == [
            one for one in labels if one.startswith("n = ")
        ]


def test_heat_maps_of_the_chosen_example(browser: Any, tmp_path: Path) -> None:
    """Those of all designs beside each other in the colours of their weights; another example, theme, and paper."""
    comparison = make(NAMES[:3])
    first = next(one for one in comparison.examples if one.why == "most different answers")
    weights = first.answers[1].alignment.weights  # type: ignore[union-attr]
    levels = np.rint(255 * weights).astype(int)
    with watched(browser, written(comparison, tmp_path)) as page:
        page.locator("#examples").scroll_into_view_if_needed()
        shown = page.locator(".example:visible")
        shown.locator("canvas").first.wait_for()
        assert shown.locator("canvas").count() == 2  # "fixed" has none
        assert "no attention to show" in shown.inner_text()
        np.testing.assert_array_equal(pixels(page), ramp(THEMES["light"])[levels])
        page.select_option("#theme", "dark")
        np.testing.assert_array_equal(pixels(page), ramp(THEMES["dark"])[levels])
        page.emulate_media(media="print")
        page.wait_for_timeout(100)
        np.testing.assert_array_equal(pixels(page), ramp(THEMES["light"])[levels])
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        page.emulate_media(media="screen")
        page.select_option("#example", "2")
        assert page.locator(".example:visible h3").inner_text() == "counterrevolutionary"
        stage = page.locator(".example:visible .stage").first
        stage.focus()
        assert " → K (target 1): weight " in page.locator(".example:visible .readout").first.inner_text()


def pixels(page: Any) -> np.ndarray:
    """(T, S, 3) the colours of the cells of the design "bahdanau2015"."""
    canvas = page.locator(".example:visible figure", has_text="bahdanau2015").locator("canvas")
    rows, columns, *values = canvas.evaluate(
        """canvas => {
            const {width, height} = canvas, image = canvas.getContext("2d").getImageData(0, 0, width, height);
            return [height, width, ...image.data];
        }"""
    )
    return np.array(values).reshape(rows, columns, 4)[..., :3]


def test_without_scripts(browser: Any, tmp_path: Path) -> None:
    """Tables, charts and answers are there; only heat maps are not."""
    with watched(browser, written(make(NAMES[:5]), tmp_path), width=360, java_script_enabled=False) as page:
        assert page.locator(".example:visible").count() == 3
        assert page.locator(".plot:visible").count() > 3
        assert page.locator("#theme:visible").count() == 0
        assert page.locator(".wrong:visible").count() > 3
        assert page.get_by_text("drawn by the page’s own script").is_visible()
