"""Two directions as one: cases by hand, and the published pseudo-code word by word on a grid."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest

from heedful.alignment import symmetrise
from heedful.errors import DataError
from heedful.options import Symmetrisation

Links = set[tuple[int, int]]


def one(forward: Links, backward: Links, method: Symmetrisation) -> Links:
    (found,) = symmetrise([forward], [backward], method=method)
    return set(found)


FORWARD: Links = {(0, 0), (1, 1), (4, 4), (3, 0)}
BACKWARD: Links = {(0, 0), (0, 1)}


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("intersection", {(0, 0)}),
        ("union", {(0, 0), (1, 1), (4, 4), (3, 0), (0, 1)}),
        # 0-1 and 1-1 are neighbours of 0-0 and bring a new word each; 3-0 and 4-4 are neighbours of none.
        ("grow-diag", {(0, 0), (0, 1), (1, 1)}),
        # 3-0: source word 3 has no link yet, target word 0 has.
        ("grow-diag-final", {(0, 0), (0, 1), (1, 1), (4, 4), (3, 0)}),
        ("grow-diag-final-and", {(0, 0), (0, 1), (1, 1), (4, 4)}),
    ],
)
def test_by_hand(method: Symmetrisation, expected: Links) -> None:
    assert one(FORWARD, BACKWARD, method) == expected


def test_grown_links_let_others_grow() -> None:
    """From 0-0 along the diagonal, though only the first is in both directions."""
    diagonal = {(i, i) for i in range(7)}
    assert one(diagonal, {(0, 0)}, "grow-diag") == diagonal
    assert one({(6, 6)}, diagonal, "grow-diag") == diagonal  # backwards through the order in which links are met
    assert one(diagonal, {(8, 8)}, "grow-diag") == set()


def test_links_that_are_added_before_the_present_one_wait_for_the_next_round() -> None:
    """2-2 brings 2-1 and 1-1. Then it is the turn of 1-1, which brings 0-0, and 2-0 has no free word any more; if 2-1
    had its turn at once, 2-0 would be there first."""
    union = {(0, 0), (2, 0), (1, 1), (2, 1), (2, 2)}
    assert one(union, {(2, 2)}, "grow-diag") == {(0, 0), (1, 1), (2, 1), (2, 2)}
    assert published(union, {(2, 2)}, "grow-diag") == {(0, 0), (1, 1), (2, 1), (2, 2)}


def test_no_link_is_added_where_both_words_have_one() -> None:
    square = {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert one(square, {(0, 0), (1, 1)}, "grow-diag-final") == {(0, 0), (1, 1)}


def test_forward_links_come_first_in_the_end() -> None:
    assert one({(2, 0)}, {(2, 1)}, "grow-diag-final-and") == {(2, 0)}
    assert one({(2, 1)}, {(2, 0)}, "grow-diag-final-and") == {(2, 1)}
    assert one({(2, 1)}, {(2, 0)}, "grow-diag-final") == {(2, 0), (2, 1)}


def published(forward: Links, backward: Links, method: str) -> Links:
    """The pseudo-code of the Moses manual (Training step 3), in its words: e is a target word, f a source word."""
    size = 9
    alignment = {(f, e) for f in range(size) for e in range(size) if (f, e) in forward and (f, e) in backward}

    def aligned_e(e: int) -> bool:
        return any((f, e) in alignment for f in range(size))

    def aligned_f(f: int) -> bool:
        return any((f, e) in alignment for e in range(size))

    again = True
    while again:
        again = False
        for e in range(size):
            for f in range(size):
                if (f, e) not in alignment:
                    continue
                for down, right in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                    new = (f + right, e + down)
                    in_union = new in forward or new in backward
                    if in_union and (not aligned_e(new[1]) or not aligned_f(new[0])):
                        alignment.add(new)
                        again = True
    if method == "grow-diag":
        return alignment
    for direction in (forward, backward):
        for e in range(size):
            for f in range(size):
                free = (not aligned_e(e), not aligned_f(f))
                if (f, e) in direction and (any(free) if method == "grow-diag-final" else all(free)):
                    alignment.add((f, e))
    return alignment


def test_as_published() -> None:
    draw = random.Random(3)
    differ = 0
    for _ in range(200):
        size = draw.randint(1, 9)

        def some(size: int = size) -> Links:
            return {(draw.randrange(size), draw.randrange(size)) for _ in range(draw.randint(0, 2 * size))}

        forward, backward = some(), some()
        backward |= {link for link in forward if draw.random() < 0.4}
        found = {method: one(forward, backward, method) for method in get_args(Symmetrisation)}
        for method in ("grow-diag", "grow-diag-final", "grow-diag-final-and"):
            assert found[method] == published(forward, backward, method), (method, forward, backward)
        assert found["intersection"] <= found["grow-diag"] <= found["grow-diag-final-and"] <= found["union"]
        assert found["grow-diag"] <= found["grow-diag-final"] <= found["union"]
        differ += len(set(map(frozenset, found.values()))) == 5
    assert differ > 20


def test_sentence_by_sentence() -> None:
    found = symmetrise([FORWARD, set(), {(0, 0)}], [BACKWARD, {(1, 1)}, {(0, 0)}])
    assert found == [{(0, 0), (0, 1), (1, 1), (4, 4)}, {(1, 1)}, {(0, 0)}]
    assert symmetrise([[(0, 0), (0, 0)]], [[(0, 0)]], method="intersection") == [{(0, 0)}]
    assert symmetrise([], []) == []


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(DataError, match="as many sentences in both directions, got 2 forward, 1 backward"):
        symmetrise([set(), set()], [set()])
    wrong: Any = "grow_diag"
    with pytest.raises(DataError, match=r"unknown method 'grow_diag'; did you mean 'grow-diag'\?"):
        symmetrise([set()], [set()], method=wrong)
