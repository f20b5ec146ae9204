"""Pieces to words, characters to graphemes: by hand, and with the tokenisers' own labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.alignment import Alignment
from heedful.alignment.merge import grapheme_groups, word_groups
from heedful.data.codec import END_LABEL
from heedful.data.tokens import Tokeniser, make_tokeniser
from heedful.errors import SizeError


def of_pieces(source: Sequence[str], target: Sequence[str], weights: Any, *, tags: int = 0, end: bool = True):
    """Words with their tags and end symbols around them, `weights` of all."""
    return Alignment.of(
        [*["[t]"] * tags, *source, END_LABEL],
        [*target, *[END_LABEL] * end],
        weights,
        source_positions=[*[0] * tags, *range(1, len(source) + 1), 0],
        target_end=end,
    )


def test_columns_are_summed_and_rows_averaged() -> None:
    """Words "abc d" and "X YZ"; first without the end symbol's share, then merged."""
    weights = [[0.2, 0.3, 0.25, 0.25], [0.1, 0.1, 0.8, 0.0], [0.3, 0.3, 0.4, 0.0], [0.0, 0.0, 0.0, 1.0]]
    words = of_pieces(["ab", "c", " d"], ["X", " Y", "Z"], weights).words()
    assert (words.source, words.target) == (("abc", "d"), ("X", "YZ"))
    np.testing.assert_allclose(words.weights, [[0.5 / 0.75, 0.25 / 0.75], [0.4, 0.6]], rtol=0, atol=1e-15)
    assert (words.convention, words.source_positions, words.target_end) == ("predicted", (1, 2), False)
    assert words.pharaoh() == "0-0 1-1"


def test_one_side_alone() -> None:
    pieces = of_pieces(["a", "b"], ["X", "Y"], np.eye(3))
    assert pieces.words().weights.tolist() == [[1.0]]
    assert pieces.words(side="source").weights.tolist() == [[1.0], [1.0]]
    assert pieces.words(side="target").weights.tolist() == [[0.5, 0.5]]
    assert pieces.words(side="target").target == ("XY",)


def test_weight_on_spaces_is_left_out() -> None:
    """A space belongs to no word: no row, no column, and what is left of a row is made to sum to 1."""
    weights = [[0.1, 0.5, 0.4], [0.2, 0.2, 0.6], [0.0, 1.0, 0.0]]
    words = Alignment.of(["a", " ", "b"], ["X", " ", "Y"], weights).words()
    assert (words.source, words.target) == (("a", "b"), ("X", "Y"))
    np.testing.assert_allclose(words.weights, [[0.2, 0.8], [0.0, 0.0]], rtol=0, atol=1e-15)
    assert words.links() == [(1, 0)]


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (["new", " york"], [[0], [1]]),
        ([" ", "new", " ", " york", "er"], [[1], [3, 4]]),
        (list("ab  c "), [[0, 1], [4]]),
        ([" ab", "c ", "d", " ", "\u3000", "e"], [[0, 1], [2], [5]]),
        (["a b", "c", " d"], [[0, 1], [2]]),
        ([" ", "\n"], []),
        ([], []),
        (["", "a", "", "b"], [[1, 3]]),
    ],
)
def test_words_are_what_stands_between_white_space(labels: list[str], groups: list[list[int]]) -> None:
    assert word_groups(labels) == groups


TEXTS = ["new york is new", "the lowest of the low", " a", "  new  york  ", "naïve 東京 café é", "a", "x\u3000y z"]


def learned(name: str) -> Tokeniser:
    tokeniser = make_tokeniser(name, {"vocabulary_size": 280} if name == "bpe" else {})
    tokeniser.train(["new york is new", "the lowest of the low"] * 5)
    return tokeniser


@pytest.mark.parametrize("name", ["bpe", "characters", "graphemes"])
@pytest.mark.parametrize("tags", [0, 2])
def test_identical_texts_are_aligned_word_by_word(name: str, tags: int) -> None:
    """0-0 1-1 ... n-n: neither a lone mark before the first piece nor tags shift any number."""
    tokeniser = learned(name)
    cut = 0
    for text in TEXTS:
        labels = tokeniser.labels(text)
        weights = np.eye(len(labels) + 1, len(labels) + 1 + tags, k=tags)
        words = of_pieces(labels, labels, weights, tags=tags).words(source_text=text, target_text=text)
        expected = text.split()
        assert words.pharaoh() == " ".join(f"{i}-{i}" for i in range(len(expected)))
        assert words.source == words.target == tuple(expected)
        np.testing.assert_allclose(words.weights, np.eye(len(expected)), rtol=0, atol=1e-15)
        cut += len(labels) > len(expected)
    assert cut > 3


def test_bytes_of_one_character_have_the_words_of_the_text_as_labels() -> None:
    """Each byte is shown as the character that it is a part of."""
    labels = learned("bpe").labels("東京 é")
    assert labels.count("東") == 3
    pieces = of_pieces(labels, labels, np.eye(len(labels) + 1))
    assert pieces.words().source == ("東東東京京京", "éé")
    named = pieces.words(source_text="東京 é")
    assert (named.source, named.target) == (("東京", "é"), ("東東東京京京", "éé"))


def test_the_text_of_an_output_that_was_cut_may_go_on() -> None:
    cut = of_pieces(["a", " b"], ["X"], [[1.0, 0.0, 0.0]], end=False)
    assert cut.words(target_text="X Y").target == ("X",)
    assert cut.words(source_text="ab").source == ("a", "b")  # no text of these pieces: they name themselves


def test_the_last_word_may_lack_the_row_of_its_last_piece() -> None:
    """Rows about the input word, cut before the end: nothing was written after "Z", so no row is about it."""
    weights = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    pieces = Alignment.of(["a", " b", "∎"], ["X", " Y", "Z"], weights, convention="input", source_positions=[1, 2, 0])
    words = pieces.words()
    assert (words.target, words.pharaoh()) == (("X", "Y"), "0-0 1-1")


def test_graphemes() -> None:
    """A Devanagari syllable of four code points, an emoji of three, a letter with a combining accent."""
    labels = list("क्षिx👩\u200d🚀e\u0301")
    assert grapheme_groups(labels) == [[0, 1, 2, 3], [4], [5, 6, 7], [8, 9]]
    alignment = of_pieces(labels, labels, np.eye(11))
    merged = alignment.graphemes()
    assert merged.source == merged.target == ("क्षि", "x", "👩\u200d🚀", "e\u0301")
    np.testing.assert_allclose(merged.weights, np.eye(4), rtol=0, atol=1e-15)
    assert alignment.graphemes(side="source").weights.shape == (10, 4)
    assert alignment.graphemes(side="target").weights.shape == (4, 10)
    assert grapheme_groups([]) == []
    assert make_tokeniser("graphemes").split("".join(labels)) == list(merged.source)


def test_groups_of_ones_own() -> None:
    alignment = of_pieces(["a", "b", "c"], ["X", "Y"], [[0.2, 0.2, 0.6, 0.0], [0.5, 0.5, 0.0, 0.0], [0, 0, 0, 1]])
    merged = alignment.merged(source=[[2, 0], [1]])
    assert (merged.source, merged.target) == (("ca", "b"), ("X", "Y"))
    np.testing.assert_allclose(merged.weights, [[0.8, 0.2], [0.5, 0.5]], rtol=0, atol=1e-15)
    named = alignment.merged(target=[[0, 1]], target_labels=["both"])
    assert (named.target, named.source) == (("both",), ("a", "b", "c"))
    np.testing.assert_allclose(named.weights, [[0.35, 0.35, 0.3]], rtol=0, atol=1e-15)
    assert alignment.merged() == alignment.without_special()
    assert alignment.merged(source=[], target=[]).weights.shape == (0, 0)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"source": [[0], []]}, r"source group 1: expected some of the places 0 to 2, got \[\]"),
        ({"source": [[3]]}, r"source group 0: expected some of the places 0 to 2, got \[3\]"),
        ({"target": [[-1]]}, r"target group 0: expected some of the places 0 to 1, got \[-1\]"),
        ({"target": [[0], [1, 0]]}, "target groups: expected each place in at most one, got 0 in several"),
        ({"source": [[0, 1], [2]], "source_labels": ["one"]}, r"expected shape \(target, source\) = \(2, 1\)"),
    ],
)
def test_groups_that_make_no_sense(groups: dict[str, Any], message: str) -> None:
    with pytest.raises(SizeError, match=message):
        of_pieces(["a", "b", "c"], ["X", "Y"], np.eye(3, 4)).merged(**groups)


@given(st.data())
def test_rows_of_words_sum_to_one(data: st.DataObject) -> None:
    """And so does what is left: weight that words had is nowhere lost, and nothing is left of spaces."""
    source, target = (data.draw(st.lists(st.sampled_from(["a", "b", " ", " c", "d "]), max_size=7)) for _ in range(2))
    seed = data.draw(st.integers(0, 999))
    weights = np.random.default_rng(seed).random((len(target) + 1, len(source) + 1)) + 0.01
    words = of_pieces(source, target, weights).words()
    assert list(words.source) == "".join(source).split()
    assert list(words.target) == "".join(target).split()
    sums = words.weights.sum(axis=1)
    np.testing.assert_allclose(sums, 1.0 if words.source else 0.0, rtol=0, atol=1e-12)
