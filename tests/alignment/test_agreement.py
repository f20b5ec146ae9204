"""Alignment error rate and its company, worked out by hand."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful import __version__
from heedful.alignment import link_scores
from heedful.errors import DataError

SURE = [{(0, 0), (1, 1)}, set(), {(0, 1)}]
POSSIBLE = [{(1, 2)}, {(2, 2)}, set()]
LINKS = [{(0, 0), (1, 2), (2, 2)}, set(), {(0, 0)}]


def test_by_hand_over_the_whole_corpus() -> None:
    """4 links, 1 of them sure and 2 possible; 3 sure links, 5 possible with them; the rates are not means of lines."""
    scores = link_scores(LINKS, SURE, POSSIBLE)
    assert scores.aer == pytest.approx(100 * (1 - (1 + 2) / (4 + 3)))
    assert scores.precision == pytest.approx(100 * 2 / 4)
    assert scores.recall == pytest.approx(100 * 1 / 3)
    assert scores.f1 == pytest.approx(100 * 2 / (2 + 3))  # 1/f = (1/p + 1/r) / 2
    assert (scores.links, scores.sure, scores.possible, scores.sentences) == (4, 3, 5, 3)
    assert scores.signature == f"lines:3|links:4|sure:3|possible:5|v:{__version__}"


def test_sure_links_are_possible_whether_or_not_they_are_listed() -> None:
    listed = [sure | possible for sure, possible in zip(SURE, POSSIBLE, strict=True)]
    assert link_scores(LINKS, SURE, listed) == link_scores(LINKS, SURE, POSSIBLE)


def test_with_sure_links_alone_the_error_is_what_f1_lacks() -> None:
    scores = link_scores(LINKS, SURE)
    assert scores.possible == scores.sure == 3
    assert scores.aer == pytest.approx(100 - scores.f1)
    assert scores.precision == pytest.approx(100 / 4)


def test_links_may_be_lists() -> None:
    listed = [[*links, *links] for links in LINKS]
    assert link_scores(listed, [list(sure) for sure in SURE], POSSIBLE) == link_scores(LINKS, SURE, POSSIBLE)


links = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=9)


@given(st.lists(st.tuples(links, links, links), min_size=1, max_size=5))
def test_bounds_and_perfection(gold: list[tuple[set, set, set]]) -> None:
    given, sure, possible = map(list, zip(*gold, strict=True))
    scores = link_scores(given, sure, possible)
    for rate in scores[:4]:
        assert math.isnan(rate) or -1e-9 <= rate <= 100
    if any(sure):
        assert link_scores(sure, sure, possible)[:4] == (0.0, 100.0, 100.0, 100.0)
        assert link_scores([may | must for may, must in zip(possible, sure, strict=True)], sure, possible).aer == 0.0


def test_what_is_divided_by_nothing_is_no_number() -> None:
    nothing = link_scores([set()], [{(0, 0)}])
    assert (nothing.aer, nothing.recall) == (100.0, 0.0)
    assert math.isnan(nothing.precision)
    assert math.isnan(nothing.f1)
    assert json.loads(json.dumps(nothing.as_json(), allow_nan=False))["precision"] is None
    assert all(math.isnan(rate) for rate in link_scores([], [])[:4])
    assert link_scores([{(0, 1)}], [{(0, 0)}])[:4] == (100.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("sides", [(LINKS, SURE[:2]), (LINKS[:1], SURE, POSSIBLE), (LINKS, SURE, POSSIBLE[1:])])
def test_gold_must_be_of_the_same_lines(sides: tuple) -> None:
    with pytest.raises(DataError, match="expected gold for as many sentences as there are links for, got"):
        link_scores(*sides)
