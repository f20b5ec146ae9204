"""Truncated windows, blocks and strides, worked out by hand."""

import pytest
import torch

from heedful.attention import Attention, Block, Dot, LocalM, Strided, Truncated
from heedful.errors import RecipeError, SizeError
from heedful.testing import check_scope

from .cases import Q, T, make, normal, words_and_end


def windows(scope, words, steps, *, values=None):
    """Which words answer at each step, where all scores are 0 unless `values` are given: the query is [1]."""
    attention = Attention(Dot(1, 1), scope=scope)
    mask, positions = words_and_end(words)
    given = torch.zeros(1, words + 1, 1) if values is None else torch.tensor([[*values, 0.0]]).unsqueeze(-1)
    weights = attention(torch.ones(1, steps, 1), attention.prepare(given, mask, positions)).weights[0]
    return [(row > 0).nonzero().flatten().add(1).tolist() for row in weights]


def test_window_moves_along_the_diagonal():
    assert windows(Truncated(width=1), 4, 6) == [[1, 2], [1, 2, 3], [2, 3, 4], [3, 4], [4], []]
    # p_t = 2.5, 5, 7.5: a centre between two words has fewer around it.
    assert windows(Truncated(width=1, slope=2.5), 9, 3) == [[2, 3], [4, 5, 6], [7, 8]]


def test_a_window_around_the_diagonal_is_local_m():
    mask, positions = words_and_end(10, 6)
    query, values = normal(2, T, Q), normal(2, 11, 3, seed=2)
    attention = make("general", "window")
    answer = attention(query, attention.prepare(values, mask, positions))
    attention.scope = LocalM(window=2)
    torch.testing.assert_close(attention(query, attention.prepare(values, mask, positions)), answer, rtol=0, atol=0)


def test_window_follows_the_last_peak():
    """The largest of words 1 to 3 is 2; of 1 to 3 it is 2 again. Of equal words it is the first."""
    scope = Truncated(width=1, around="last_peak")
    assert windows(scope, 5, 3, values=[0.0, 2.0, 1.0, 5.0, 4.0]) == [[1, 2, 3]] * 3
    # 3 is the largest of 1 to 3, 4 of 2 to 4, 5 of 3 to 5, and then the sentence ends.
    assert windows(scope, 5, 4, values=[0.0, 1.0, 2.0, 3.0, 4.0]) == [[1, 2, 3], [2, 3, 4], [3, 4, 5], [4, 5]]


def test_each_hypothesis_has_its_own_last_peak():
    """And a step of no weight leaves it where it was."""
    scope = Truncated(width=1, around="last_peak")
    memory = Attention(Dot(1, 1), scope=scope).prepare(torch.zeros(1, 6, 1), *words_and_end(5))
    weights = torch.tensor([[[0.0, 0.2, 0.8, 0, 0, 0], [0.0, 0, 0, 0, 0, 0], [0.0, 0, 0, 0.5, 0, 0]]])
    assert scope.begin(memory).tolist() == [[2]]
    assert scope.remember(torch.tensor([[2, 5, 3]]), weights, memory).tolist() == [[3, 5, 4]]


def test_blocks_and_their_neighbours():
    alone, beside = Block(width=2, neighbours=0), Block(width=2)
    assert windows(alone, 5, 7) == [[1, 2], [1, 2], [3, 4], [3, 4], [5], [5], []]
    assert windows(beside, 7, 5) == [[1, 2, 3, 4]] * 2 + [[1, 2, 3, 4, 5, 6]] * 2 + [[3, 4, 5, 6, 7]]
    # p_t = 1.5, 3, 4.5: halves are rounded up.
    assert windows(Block(width=2, neighbours=0, slope=1.5), 6, 3) == [[1, 2], [3, 4], [5, 6]]


def test_strides_are_counted_from_the_diagonal():
    scope = Strided(width=1, stride=4)
    assert windows(scope, 10, 4) == [[1, 2, 5, 9], [1, 2, 3, 6, 10], [2, 3, 4, 7], [3, 4, 5, 8]]
    assert windows(scope, 6, 9)[8] == [1, 5]


@pytest.mark.parametrize("scope", ["window", "block", "strided"])
def test_windows_of_other_slopes_keep_all_promises(scope):
    check_scope(scope, options={"width": 2, "slope": 0.7})


def test_windows_around_the_last_peak_keep_all_promises():
    check_scope("window", options={"width": 1, "around": "last_peak"})


@pytest.mark.parametrize(
    ("make_scope", "message"),
    [
        (lambda: Truncated(around="peak"), "around the 'diagonal' or the 'last_peak', got 'peak'"),
        (lambda: Truncated(around="last_peak", slope=2.0), "no diagonal, so no slope either; got slope 2.0"),
        (lambda: Truncated(slope=0.0), "slope must be above 0, got 0.0"),
        (lambda: Block(neighbours=-1), "neighbours must be 0 or more, got -1"),
        (lambda: Strided(stride=0), "stride must be at least 1, got 0"),
        (lambda: Block(slope=float("nan")), "slope must be above 0, got nan"),
    ],
)
def test_options_out_of_range_are_refused(make_scope, message):
    with pytest.raises((RecipeError, SizeError), match=message):
        make_scope()
