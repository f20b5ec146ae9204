"""Which weights are links: rules worked out by hand on 3 x 3 matrices, and what must hold of all of them."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heedful.alignment import Alignment
from heedful.alignment.rules import chosen
from heedful.errors import DataError
from heedful.options import LinkRule

WEIGHTS = [[0.5, 0.4, 0.1], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]]
THREE = Alignment.of(list("xyz"), list("ABC"), WEIGHTS)


def test_argmax_is_the_default() -> None:
    assert THREE.links() == THREE.links("argmax") == [(0, 0), (0, 1), (2, 2)]
    assert THREE.pharaoh() == "0-0 0-1 2-2"
    assert THREE.links(threshold=0.6) == [(0, 1), (2, 2)]


def test_threshold_takes_all_that_reach_it() -> None:
    assert THREE.pharaoh("threshold", threshold=0.4) == "0-0 1-0 0-1 2-2"
    assert THREE.links("threshold", threshold=1.0) == []
    assert len(THREE.links("threshold", threshold=0.0)) == 9


def test_relative_takes_all_near_the_largest_of_their_row() -> None:
    # Half of 0.5, 0.6 and 0.6: 0.25, 0.3 and 0.3.
    assert THREE.pharaoh("relative", threshold=0.5) == "0-0 1-0 0-1 1-1 2-2"
    assert THREE.links("relative", threshold=1.0) == THREE.links()


def test_one_to_one_is_best_first() -> None:
    # 0.6 in row B (the first of two 0.6), then 0.6 in row C; row A is left with y.
    assert THREE.pharaoh("one_to_one") == "1-0 0-1 2-2"
    assert THREE.pharaoh("one_to_one", threshold=0.5) == "0-1 2-2"
    # A matching of more weight exists, 0-1 1-0 with 1.7: best first takes 1.0 and is left with 0.1.
    greedy = Alignment.of("xy", "AB", [[1.0, 0.9], [0.8, 0.1]])
    assert greedy.pharaoh("one_to_one") == "0-0 1-1"


def best_first(weights: np.ndarray) -> list[tuple[int, int]]:
    """The definition, step by step: take the first of the largest, strike out its row and column."""
    left, cells = weights.copy(), []
    for _ in range(min(weights.shape)):
        row, column = np.unravel_index(left.argmax(), left.shape)
        cells.append((int(row), int(column)))
        left[row], left[:, column] = -1, -1
    return sorted(cell for cell in cells if weights[cell] > 0)


@pytest.mark.parametrize("shape", [(1, 1), (1, 7), (13, 5), (5, 13), (11, 11), (53, 41)])
def test_one_to_one_takes_the_same_as_step_by_step(shape: tuple[int, int]) -> None:
    """With ties everywhere, zeros among them."""
    draw = np.random.default_rng(shape)
    for kinds in (2, 3, 7, 10**6):
        weights = draw.integers(0, kinds, shape) / kinds
        assert chosen(weights, "one_to_one") == best_first(weights)


def test_one_to_one_sorts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not once for each link: a thousand words would take a billion steps."""
    looks = []
    for name in ("argmax", "argsort"):
        real = getattr(np, name)
        monkeypatch.setattr(np, name, lambda *given, real=real, **more: (looks.append(1), real(*given, **more))[1])
    assert len(chosen(np.random.default_rng(7).random((29, 31)), "one_to_one")) == 29
    assert len(looks) == 1


def test_links_can_be_written_the_other_way_round() -> None:
    assert Alignment.of("xyz", "AB", WEIGHTS[:2]).pharaoh("one_to_one", swap=True) == "0-1 1-0"


@pytest.mark.parametrize("rule", get_args(LinkRule))
@pytest.mark.parametrize("convention", ["predicted", "input"])
def test_tags_and_ends_never_take_part(rule: LinkRule, convention: Any) -> None:
    """However heavy: the links are those of the words alone, and peaks are their cells."""
    draw = np.random.default_rng(5)
    weights = draw.random((7, 11))
    weights[:, [0, 1, 10]] += 1
    alignment = Alignment.of(
        ["s"] * 11,
        ["t"] * 7,
        weights / weights.sum(axis=1, keepdims=True),
        convention=convention,
        source_positions=[0, 0, 3, 1, 2, 4, 8, 7, 6, 5, 0],
        target_end=True,
    )
    words = alignment.without_special()
    scale = 1.0 if rule == "relative" else 0.1
    links = alignment.links(rule, threshold=None if rule in ("argmax", "one_to_one") else 0.5 * scale)
    cells = [(row, column) for column, row in links]
    assert cells
    if rule == "threshold":
        rows = alignment.weights[:-1, 2:-1] if convention == "predicted" else alignment.weights[1:, 2:-1]
        assert cells == [(row, column) for row, column in np.argwhere(rows >= 0.05).tolist()]
    else:
        assert links == words.links(rule, threshold=0.5 if rule == "relative" else None)
    shift = 0 if convention == "predicted" else 1
    peaks = alignment.peaks(rule, threshold=0.5 * scale if rule in ("threshold", "relative") else None)
    assert peaks == [(row + shift, column + 2) for row, column in cells]


@given(
    arrays(np.float64, st.tuples(st.integers(0, 7), st.integers(0, 5)), elements=st.sampled_from([0, 0.1, 0.2, 0.5]))
)
def test_what_holds_of_all_rules(weights: np.ndarray) -> None:
    found = {
        rule: chosen(weights, rule, 0.2 if rule in ("threshold", "relative") else None) for rule in get_args(LinkRule)
    }
    for cells in found.values():
        assert cells == sorted(set(cells))
        assert all(weights[cell] > 0 for cell in cells)
    assert set(found["argmax"]) <= set(found["relative"])
    assert set(found["threshold"]) == {(i, j) for i, j in np.argwhere(weights >= 0.2).tolist()}
    rows, columns = ([cell[side] for cell in found["one_to_one"]] for side in (0, 1))
    assert len(set(rows)) == len(rows)
    assert len(set(columns)) == len(columns)
    # No cell that is left over could have been taken: a larger or equal one in its row or column was.
    for row, column in np.argwhere(weights > 0).tolist():
        taken = [weights[cell] for cell in found["one_to_one"] if cell[0] == row or cell[1] == column]
        assert max(taken) >= weights[row, column]


def test_no_words_no_links() -> None:
    alignment = Alignment.of(["∎"], ["∎"], [[1.0]], source_positions=[0], target_end=True)
    for rule in get_args(LinkRule):
        assert alignment.links(rule, threshold=0.5) == []


@pytest.mark.parametrize(
    ("rule", "threshold", "message"),
    [
        ("one-to-one", None, r"unknown rule 'one-to-one'; did you mean 'one_to_one'\?"),
        ("threshold", None, "'threshold' need a threshold from 0 to 1, got none"),
        ("relative", None, "'relative' need a threshold"),
        ("argmax", 1.5, "from 0 to 1, got 1.5"),
        ("threshold", float("nan"), "from 0 to 1, got nan"),
        ("one_to_one", -0.1, "from 0 to 1, got -0.1"),
    ],
)
def test_what_makes_no_sense_is_refused(rule: Any, threshold: float | None, message: str) -> None:
    with pytest.raises(DataError, match=message):
        THREE.links(rule, threshold=threshold)
