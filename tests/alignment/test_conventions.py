"""Rows about the predicted word and rows about the input word: two ways to change, one for each doubt."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from heedful.alignment import START_LABEL, Alignment
from heedful.errors import SizeError

ROWS = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.8, 0.05, 0.05], [0.0, 0.2, 0.6, 0.2], [0.1, 0.1, 0.1, 0.7]]


def three_words(convention: str, *, end: bool = True) -> Alignment:
    return Alignment.of(
        ["a", "b", "c", "∎"],
        ["A", "B", "C", "∎"][: 3 + end],
        ROWS[: 3 + end],
        convention=convention,
        source_positions=[1, 2, 3, 0],
        target_end=end,
    )


def test_read_as_moves_links_and_no_number() -> None:
    predicted = three_words("predicted")
    assert (predicted.row_labels(), predicted.pharaoh()) == (("A", "B", "C", "∎"), "0-0 1-1 2-2")
    read = predicted.read_as("input")
    assert (read.row_labels(), read.pharaoh()) == ((START_LABEL, "A", "B", "C"), "1-0 2-1 0-2")
    assert read == three_words("input")
    assert read.weights.tolist() == predicted.weights.tolist() == ROWS
    assert read.read_as("predicted") == predicted == predicted.read_as("predicted")


def test_moved_to_moves_numbers_and_no_link() -> None:
    predicted = three_words("predicted")
    moved = predicted.moved_to("input")
    assert (moved.row_labels(), moved.pharaoh()) == ((START_LABEL, "A", "B", "C"), "0-0 1-1 2-2")
    assert moved.weights.tolist() == [[0.0] * 4, *ROWS[:3]]
    back = moved.moved_to("predicted")
    assert (back.row_labels(), back.pharaoh()) == (("A", "B", "C", "∎"), "0-0 1-1 2-2")
    assert back.weights.tolist() == [*ROWS[:3], [0.0] * 4]  # the row about the end has no place in "input"
    assert predicted.moved_to("predicted") == predicted


def test_an_output_that_was_cut_has_no_step_that_reads_its_last_word() -> None:
    cut = three_words("predicted", end=False)
    assert cut.pharaoh() == "0-0 1-1 2-2"
    assert cut.moved_to("input").pharaoh() == "0-0 1-1"
    unread = three_words("input", end=False)
    assert unread.moved_to("predicted").pharaoh() == unread.pharaoh() == "1-0 2-1"


@pytest.mark.parametrize("end", [True, False])
@pytest.mark.parametrize("convention", ["predicted", "input"])
def test_words_keep_their_rows(convention: Any, end: bool) -> None:
    alignment = three_words(convention, end=end)
    other: Any = {"predicted": "input", "input": "predicted"}[convention]
    moved = alignment.moved_to(other)
    assert moved.weights.shape == alignment.weights.shape
    own, its = alignment.without_special(), moved.without_special()
    both = min(len(own.target), len(its.target))
    assert both >= 2
    assert own.target[:both] == its.target[:both]
    np.testing.assert_array_equal(own.weights[:both], its.weights[:both])


def test_nothing_can_be_moved() -> None:
    nothing = Alignment.of([], [], np.zeros((0, 0)))
    assert nothing.moved_to("input") == nothing.read_as("input")


def test_there_are_two_conventions() -> None:
    wrong: Any = "output"
    for change in (three_words("input").read_as, three_words("input").moved_to):
        with pytest.raises(SizeError, match="expected 'predicted' or 'input', got 'output'"):
            change(wrong)
