"""Numbers as they are shown, axes, and answers with their errors marked."""

from __future__ import annotations

import math
from xml.etree.ElementTree import tostring

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.comparison.report.elements import element, html, visible
from heedful.comparison.report.figures import Axis, digits_for, figure, probability, rounded, signed
from heedful.comparison.report.lines import Line, Tick, lines
from heedful.comparison.report.markdown import text
from heedful.comparison.report.marking import Edit, edits, marked


def test_numbers() -> None:
    assert [figure(value, 1) for value in (1234.56, -0.04, -1.25, None, math.nan)] == [
        "1,234.6",
        "0.0",
        "−1.2",
        "–",
        "–",
    ]
    assert [signed(value, 1) for value in (1.26, -1.26, 0.04, -0.04, None)] == ["+1.3", "−1.3", "0.0", "0.0", "–"]
    assert [rounded(value) for value in (98765, 1234.5, 12.345, 0.01234, 0, None)] == [
        "98,800",
        "1,230",
        "12.3",
        "0.0123",
        "0",
        "–",
    ]
    shown = ["p < 0.001", "p = 0.001", "p = 0.035", "p = 0.23", "p = 1.00"]
    assert [probability(value) for value in (0.0009, 0.0014, 0.0349, 0.23, 1.0)] == shown
    assert [digits_for([width]) for width in (20, 4, 0.9, 0.08, 0, None)] == [1, 1, 1, 2, 1, 1]


@given(
    st.lists(st.floats(-1e6, 1e6, allow_subnormal=False).map(lambda value: round(value, 3)), min_size=1, max_size=5),
    st.booleans(),
)
def test_axes_hold_their_values_and_have_round_ticks(values: list[float], from_zero: bool) -> None:
    axis = Axis.around(values, from_zero=from_zero)
    assert axis.low <= min(values) + 1e-9
    assert axis.high >= max(values) - 1e-9
    assert 1 <= len(axis.ticks) <= 7
    labels = [axis.label(tick) for tick in axis.ticks]
    assert len(set(labels)) == len(labels)
    for label, tick in zip(labels, axis.ticks, strict=True):
        assert float(label.replace("−", "-").replace(",", "")) == pytest.approx(tick, rel=1e-9, abs=1e-9)
    assert not from_zero or axis.share(0) in (0, 1) or min(values) < 0 < max(values)


def test_an_axis_by_hand() -> None:
    assert Axis.around([29.1, 46.6]).ticks == (30, 35, 40, 45)
    assert Axis.around([12, 83], from_zero=True) == Axis(0, 100, (0, 20, 40, 60, 80, 100), 0)
    assert Axis.around([0.1, 0.4, None, math.nan]).digits == 1
    assert Axis(10, 20, (), 0).share(15) == 0.5
    assert (Axis(10, 20, (), 0).share(9), Axis(10, 20, (), 0).share(99)) == (0, 1)


@pytest.mark.parametrize(
    ("answer", "references", "wanted"),
    [
        ("N OW L", ["N OW L"], [Edit("N OW L", None)]),
        ("N AW L", ["X Y Z", "N OW L"], [Edit("N", None), Edit("AW", "OW"), Edit("L", None)]),
        ("N L", ["N OW L"], [Edit("N", None), Edit("", "OW"), Edit("L", None)]),
        ("N OW OW", ["N OW"], [Edit("N", None), Edit("OW", ""), Edit("OW", None)]),
        ("ne\u0301e", ["nee"], [Edit("n", None), Edit("e\u0301", "e"), Edit("e", None)]),
        ("", ["ab"], [Edit("", "ab")]),
        ("ab", [], [Edit("ab", None)]),
    ],
)
def test_errors_of_an_answer(answer: str, references: list[str], wanted: list[Edit]) -> None:
    """Against the nearest reference; words where there are spaces, else letters with their marks."""
    found = edits(answer, references)
    if (answer, references) == ("N OW OW", ["N OW"]):  # which of two equal ones is too much does not matter
        assert sorted(found, key=str) in (sorted(wanted, key=str), [Edit("N OW", None), Edit("OW", "")])
    else:
        assert found == wanted


def test_a_marked_answer() -> None:
    shown = tostring(marked("N AW  L", ["N OW L Z"]), encoding="unicode", method="html")
    assert shown == (
        '<bdi>N <span class="wrong" title="instead of OW">AW<span class="unseen"> (instead of OW) </span></span> L '
        '<span class="missing" title="missing">Z<span class="unseen"> (missing) </span></span></bdi>'
    )
    assert marked("", ["a"]).text == "nothing"


def test_texts_are_escaped_and_visible() -> None:
    assert html([element("p", {"title": '"<'}, "<b>&", element("br"), "\u202e a\x00\n")]) == (
        '<p title="&quot;<">&lt;b&gt;&amp;<br>U+202E aU+0000\n</p>'
    )
    assert visible("é  b\n \n") == "é  b\n \n"
    assert text("a|b\n*c* <d> \u202e") == r"a\|b \*c\* \<d\> U+202E"


def test_a_line_stops_where_there_is_no_value() -> None:
    line = Line(
        0,
        "a",
        (0.1, 0.3, 0.5, 0.7, 0.9),
        (1.0, 2.0, None, 3.0, 0.0),
        (0.5, 1.5, None, 2.0, 0.0),
        (2.0, 3.0, None, 4.0, 1.0),
    )
    panel = lines([line], [Tick(0.1, "x", "n = 1")], Axis(0, 4, (0, 2, 4), 0), label="all", every=True)
    paths = {node.get("class"): [] for node in panel.iter("path")}
    for node in panel.iter("path"):
        paths[node.get("class")].append(node.get("d"))
    assert paths["line d0"] == ["M10.00 75.00L30.00 50.00", "M70.00 25.00L90.00 100.00"]
    assert paths["band d0"][0] == "M10.00 87.50L30.00 62.50L30.00 25.00L10.00 50.00z"
    assert len(paths["band d0"]) == 2
    assert len(paths["mark d0"]) == 4
