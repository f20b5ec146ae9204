"""Alignments: cases worked out by hand, with 2 x 3 matrices for the most part."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from heedful.alignment import START_LABEL, Alignment
from heedful.errors import DataError, SizeError

WEIGHTS = [[0.2, 0.7, 0.1], [0.6, 0.3, 0.1]]


def copy_model(**changes: object) -> Alignment:
    """A perfect copy of "a b c" with tag and end symbols: every row looks at its own word."""
    settings: dict[str, object] = {
        "source": ["[t]", "a", "b", "c", "∎"],
        "target": ["a", "b", "c", "∎"],
        "weights": np.eye(5)[1:],
        "source_positions": [0, 1, 2, 3, 0],
        "target_end": True,
    }
    return Alignment.of(**(settings | changes))  # type: ignore[arg-type]


def test_each_target_word_is_linked_to_its_largest_weight() -> None:
    alignment = Alignment.of(["x", "y", "z"], ["A", "B"], WEIGHTS)
    assert alignment.links() == [(1, 0), (0, 1)]
    assert alignment.pharaoh() == "1-0 0-1"


def test_of_equal_weights_the_first_in_original_order_is_linked() -> None:
    read_reversed = Alignment.of(["z", "y", "x"], ["A"], [[0.4, 0.2, 0.4]], source_positions=[3, 2, 1])
    assert read_reversed.links() == [(0, 0)]


def test_copy_is_linked_diagonally_with_and_without_tag_and_end() -> None:
    assert copy_model().pharaoh() == "0-0 1-1 2-2"
    plain = Alignment.of(list("abc"), list("abc"), np.eye(3))
    assert plain.pharaoh() == "0-0 1-1 2-2"


def test_tag_and_end_are_never_linked_however_heavy() -> None:
    weights = [[0.5, 0.1, 0.0, 0.4], [0.4, 0.0, 0.1, 0.5], [0.0, 1.0, 0.0, 0.0]]
    alignment = Alignment.of(
        ["[t]", "x", "y", "∎"],
        ["A", "B", "∎"],
        weights,
        source_positions=[0, 1, 2, 0],
        target_end=True,
    )
    assert alignment.links() == [(0, 0), (1, 1)]


def test_last_row_is_a_word_where_the_output_was_cut_off() -> None:
    alignment = copy_model(target=["a", "b"], weights=np.eye(5)[1:3], target_end=False)
    assert alignment.pharaoh() == "0-0 1-1"


def test_row_without_weight_on_words_gives_no_link() -> None:
    alignment = Alignment.of(["x", "y", "∎"], ["A", "B"], [[0, 0, 1], [0, 0.1, 0.9]], source_positions=[1, 2, 0])
    assert alignment.links() == [(1, 1)]


def test_source_without_words_gives_no_link() -> None:
    alignment = Alignment.of(["[t]", "∎"], ["A", "∎"], np.eye(2), source_positions=[0, 0], target_end=True)
    assert alignment.links() == []
    assert alignment.pharaoh() == ""


def test_rows_about_the_input_word_belong_to_the_word_before() -> None:
    # Row 0 is about the start symbol, the step that writes the end symbol about the last word.
    weights = np.eye(5)[[4, 1, 2, 3]]
    alignment = copy_model(weights=weights, convention="input")
    assert alignment.peaks() == [(1, 1), (2, 2), (3, 3)]
    assert alignment.links() == [(0, 0), (1, 1), (2, 2)]
    assert alignment.row_labels() == (START_LABEL, "a", "b", "c")
    assert copy_model().row_labels() == ("a", "b", "c", "∎")


def test_reversed_source_is_shown_in_original_order() -> None:
    # Read as [t] c b a ∎; the decoder writes "a" looking at the column where "a" was read, and so on.
    alignment = Alignment.of(
        ["[t]", "c", "b", "a", "∎"],
        ["a", "b", "c", "∎"],
        np.eye(5)[[3, 2, 1, 4]],
        source_positions=[0, 3, 2, 1, 0],
        target_end=True,
    )
    assert alignment == copy_model()
    assert alignment.source == ("[t]", "a", "b", "c", "∎")
    assert alignment.source_positions == (0, 1, 2, 3, 0)
    np.testing.assert_array_equal(alignment.weights, np.eye(5)[1:])


@given(st.data())
def test_links_never_point_past_the_words(data: st.DataObject) -> None:
    tags, words, rows = (data.draw(st.integers(0, 5)) for _ in range(3))
    end = data.draw(st.booleans())
    convention = data.draw(st.sampled_from(["predicted", "input"]))
    positions = [0] * tags + data.draw(st.permutations(range(1, words + 1))) + [0]
    weights = data.draw(arrays(np.float64, (rows, len(positions)), elements=st.floats(0, 1)))
    alignment = Alignment.of(
        ["s"] * len(positions),
        ["t"] * rows,
        weights,
        convention=convention,
        source_positions=positions,
        target_end=end,
    )
    for source, target in alignment.links():
        assert 0 <= source < words
        assert 0 <= target < rows - end
        row = target + (convention == "input")
        column = positions.index(source + 1)
        assert weights[row, column] == max(weights[row, tags:-1])


@given(
    arrays(np.float64, (2, 3), elements=st.floats(0, allow_nan=False, allow_infinity=False)),
    st.lists(st.text(), min_size=3, max_size=3),
)
def test_json_gives_back_the_same_bits(weights: np.ndarray, labels: list[str]) -> None:
    alignment = Alignment.of(labels, labels[:2], weights, source_positions=[2, 1, 0], target_end=True)
    again = Alignment.from_json(json.loads(json.dumps(alignment.to_json())))
    assert again.weights.tobytes() == alignment.weights.tobytes()
    assert again == alignment


def test_json_keeps_single_precision_exactly() -> None:
    weights = np.random.default_rng(7).random((2, 3), dtype=np.float32)
    again = Alignment.from_json(json.loads(json.dumps(Alignment.of(["x", "|||", ""], ["A", "B"], weights).to_json())))
    np.testing.assert_array_equal(again.weights.astype(np.float32), weights)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_json_of_an_empty_matrix(shape: tuple[int, int]) -> None:
    alignment = Alignment.of(["x"] * shape[1], ["A"] * shape[0], np.zeros(shape))
    again = Alignment.from_json(json.loads(json.dumps(alignment.to_json())))
    assert again == alignment
    assert again.weights.shape == shape
    assert again.links() == []


@pytest.mark.parametrize("key", ["source", "target", "weights", "convention", "source_positions", "target_end"])
def test_json_without_a_key_is_refused_by_name(key: str) -> None:
    value = copy_model().to_json()
    del value[key]
    with pytest.raises(DataError, match=f"expected the key '{key}'"):
        Alignment.from_json(value)


@pytest.mark.parametrize("weights", [[[1, 2], [3]], [["one"]], None])
def test_json_with_other_than_a_matrix_is_refused(weights: object) -> None:
    with pytest.raises((DataError, SizeError), match=r"matrix of numbers|expected shape"):
        Alignment.from_json(copy_model().to_json() | {"weights": weights})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": np.eye(5)}, r"\(target, source\) = \(4, 5\), got \(5, 5\)"),
        ({"weights": np.full((4, 5), np.nan)}, "finite numbers, got nan at row 0, column 0"),
        ({"convention": "luong"}, "'predicted' or 'input', got 'luong'"),
        ({"source_positions": [0, 1, 2, 0]}, "one for each of the 5 source labels, got 4"),
        ({"source_positions": [0, 1, 1, 2, 0]}, r"expected 1\.\.3 for the words, each once, got \[1, 1, 2\]"),
        ({"source_positions": [0, 2, 3, 4, 0]}, r"expected 1\.\.3"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(SizeError, match=message):
        copy_model(**changes)


def test_without_special_by_hand() -> None:
    weights = [[0.5, 0.125, 0.0, 0.375], [0.25, 0.0, 0.25, 0.5], [0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 0.0, 0.0]]
    alignment = Alignment.of(
        ["[t]", "x", "y", "∎"],
        ["A", "B", "C", "∎"],
        weights,
        source_positions=[0, 1, 2, 0],
        target_end=True,
    )
    words = alignment.without_special()
    assert words == Alignment.of(["x", "y"], ["A", "B", "C"], [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    assert words.links() == alignment.links() == [(0, 0), (1, 1)]
    assert alignment.weights.tolist() == weights


def test_without_special_turns_rows_about_the_input_word_into_rows_about_their_label() -> None:
    weights = np.eye(5)[[4, 1, 2, 3]] * 0.6 + 0.1
    words = copy_model(weights=weights, convention="input").without_special()
    expected = np.where(np.eye(3) > 0, 0.7, 0.1) / 0.9
    np.testing.assert_allclose(words.weights, expected, rtol=0, atol=1e-15)
    assert (words.source, words.target, words.row_labels()) == (tuple("abc"),) * 3
    assert (words.convention, words.source_positions, words.target_end) == ("predicted", (1, 2, 3), False)
    cut = copy_model(target=["a", "b"], weights=weights[:2], convention="input", target_end=False)
    assert cut.without_special().target == ("a",)  # nothing was written after "b", so no row is about it


@pytest.mark.parametrize("convention", ["predicted", "input"])
@pytest.mark.parametrize("end", [True, False])
def test_without_special_keeps_the_links_and_rows_sum_to_one(convention: str, end: bool) -> None:
    weights = np.random.default_rng(3).random((7, 11)) * (np.arange(7)[:, None] != 3)
    alignment = Alignment.of(
        [f"s{i}" for i in range(11)],
        [f"t{i}" for i in range(7)],
        weights,
        convention=convention,
        source_positions=[0, 0, 3, 1, 2, 4, 8, 7, 6, 5, 0],
        target_end=end,
    )
    words = alignment.without_special()
    assert words.links() == alignment.links()
    assert words.weights.shape == (7 - end if convention == "predicted" else 6, 8)
    sums = words.weights.sum(axis=1).round(12).tolist()
    assert sorted(sums) == [0.0] + [1.0] * (len(sums) - 1)
    assert [words.target[row] for _, row in words.links()] == [f"t{row}" for _, row in alignment.links()]
    np.testing.assert_allclose(words.without_special().weights, words.weights, rtol=0, atol=1e-15)


def test_without_special_of_nothing() -> None:
    special = Alignment.of(["[t]", "∎"], ["∎"], np.eye(2)[1:], source_positions=[0, 0], target_end=True)
    assert special.without_special() == Alignment.of([], [], np.zeros((0, 0)))


def test_nobody_can_change_the_weights() -> None:
    mine = np.eye(3)
    alignment = Alignment(tuple("abc"), tuple("abc"), mine, "predicted", (1, 2, 3), False)
    mine[0] = 0
    assert alignment.links()[0] == (0, 0)
    with pytest.raises(ValueError, match="read-only"):
        alignment.weights[0, 0] = 2


def test_equal_means_equal_in_every_part() -> None:
    assert copy_model() == copy_model()
    assert copy_model() != copy_model(weights=np.zeros((4, 5)))
    assert copy_model() != copy_model(convention="input")


def test_importing_it_imports_neither_torch_nor_matplotlib() -> None:
    code = "import sys, heedful.alignment; print([m for m in ('torch', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_weight_is_below_0() -> None:
    with pytest.raises(SizeError, match=r"expected numbers from 0, got -1e-12 at row 1, column 2$"):
        Alignment.of(["x", "y", "z"], ["A", "B"], [[0, 1, 0], [-0.0, 1, -1e-12]])
    assert Alignment.of(["x"], ["A"], [[-0.0]]).links() == []


def test_an_alignment_of_nothing() -> None:
    empty = Alignment.of([], [], [])
    assert empty == Alignment.of((), (), np.zeros((0, 0))) == Alignment((), (), [], "predicted", (), False)  # type: ignore[arg-type]
    assert Alignment.of(["x", "y"], [], []).weights.shape == (0, 2)
    assert (empty.pharaoh(), empty.words()) == ("", empty)
    with pytest.raises(SizeError, match=r"expected shape \(target, source\) = \(1, 1\), got \(0,\)"):
        Alignment.of(["x"], ["A"], [])


@pytest.mark.parametrize("weights", [[[1], [1, 2]], [["a", "b"]] * 2, None, "x"])
def test_what_is_no_matrix(weights: object) -> None:
    with pytest.raises(SizeError, match="alignment weights: expected"):
        Alignment.of(["a", "b"], ["x", "y"], weights)


@pytest.mark.parametrize("side", ["x", "Source", None])
def test_a_side_that_there_is_not(side: Any) -> None:
    alignment = Alignment.of(["x"], ["A"], [[1]])
    for merge in (alignment.words, alignment.graphemes):
        with pytest.raises(SizeError, match=f"side: expected 'both', 'source' or 'target', got {side!r}"):
            merge(side=side)
