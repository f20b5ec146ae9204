"""Windows and the Gaussian of local_p, worked out by hand."""

import math

import pytest
import torch

from heedful.attention import Attention, Dot, Global, LocalM, LocalP, scopes
from heedful.errors import SizeError

from .cases import Q, S, T, draw, make, normal, words_and_end


def attend(scope, lengths, steps=1):
    """Weights (B, T, S) where all scores are 0 and the query is [1]: uniform in the window, times a prior."""
    attention = Attention(Dot(1, 1), scope=scope)
    mask, positions = words_and_end(*lengths)
    memory = attention.prepare(torch.zeros(*mask.shape, 1, dtype=torch.float64), mask, positions)
    return attention(torch.ones(len(lengths), steps, 1, dtype=torch.float64), memory).weights.detach()


def local_p(window, logit):
    """p_t = S sigmoid(logit) for the query [1]: tanh(50) is 1."""
    scope = LocalP(1, window=window).double()
    with torch.no_grad():
        scope.query_projection.weight.fill_(50)
        scope.v.fill_(logit)
    return scope


# ---------------------------------------------------------------------------------------------- local_m


def test_windows_of_local_m_move_one_word_a_step():
    weights = attend(LocalM(window=2), [7, 3], steps=11)
    windows = [[(row > 0).nonzero().flatten().add(1).tolist() for row in sentence] for sentence in weights]
    assert windows[0] == [
        [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], [2, 3, 4, 5, 6], [3, 4, 5, 6, 7], [4, 5, 6, 7],
        [5, 6, 7], [6, 7], [7], [], [],
    ]  # fmt: skip
    assert windows[1] == [[1, 2, 3], [1, 2, 3], [1, 2, 3], [2, 3], [3], [], [], [], [], [], []]
    assert weights[0, 1].tolist() == [0.25] * 4 + [0] * 4


def test_steps_say_where_a_query_stands():
    attention = make("general", "local_m")
    mask, positions = words_and_end(7, 5)
    query, values = normal(2, 4, Q), normal(2, 8, 3, seed=2)
    memory = attention.prepare(values, mask, positions)
    steps = torch.tensor([[3, 0, 5, 1], [2, 2, 7, 0]])
    weights = attention(query, memory, steps=steps).weights
    for b in range(2):
        for t in range(4):
            inside = {j for j in range(8) if weights[b, t, j] > 0}
            centre, length = int(steps[b, t]) + 1, (7, 5)[b]
            assert inside == {j - 1 for j in range(centre - 2, centre + 3) if 1 <= j <= length}


@pytest.mark.parametrize("score", ["general", "concat", "location"])
def test_local_m_with_a_huge_window_is_global_over_the_words(score):
    local, everywhere = make(score, "local_m"), make(score)
    local.scope = LocalM(window=1000)
    mask, positions = words_and_end(10, 6)
    query, values = normal(2, T, Q), normal(2, S, 3, seed=2)
    answer = local(query, local.prepare(values, mask, positions))
    expected = everywhere(query, everywhere.prepare(values, mask & (positions > 0), positions))
    torch.testing.assert_close(answer, expected, rtol=0, atol=0)


# ---------------------------------------------------------------------------------------------- local_p


@pytest.mark.parametrize(
    ("logit", "centre", "inside"),
    [
        (-1000.0, 0.0, [1, 2]),  # both ends of [-2, 2] belong to the window; there is no word 0
        (math.log(0.5 / 5.5), 0.5, [1, 2]),
        (math.log(1.5 / 4.5), 1.5, [1, 2, 3]),
        (0.0, 3.0, [1, 2, 3, 4, 5]),
        (math.log(3.25 / 2.75), 3.25, [2, 3, 4, 5]),
        (math.log(5.5 / 0.5), 5.5, [4, 5, 6]),
        (1000.0, 6.0, [4, 5, 6]),
    ],
)
def test_window_and_gaussian_of_local_p(logit, centre, inside):
    # D = 2, so sigma = 1; scores are equal, so each word in the window has 1 / its size before the factor.
    (row,) = attend(local_p(2, logit), [6])[0]
    expected = [math.exp(-((j - centre) ** 2) / 2) / len(inside) if j in inside else 0.0 for j in (*range(1, 7), -99)]
    assert row.tolist() == pytest.approx(expected, abs=1e-12)
    assert 0 < row.sum() < 1


def test_deviation_of_local_p_is_half_its_window():
    # D = 5, sigma = 2.5, S = 4, p_t = 2.
    row = attend(local_p(5, 0.0), [4])[0, 0]
    bell = [math.exp(-((j - 2) ** 2) / (2 * 2.5**2)) / 4 for j in (1, 2, 3, 4)]
    assert row.tolist() == pytest.approx([*bell, 0], abs=1e-14)


def test_length_of_local_p_counts_words_of_each_sentence():
    # p_t = S / 2: 3.5 of 7 words, 1 of 2; the end symbol and the padding count for nothing.
    weights = attend(local_p(1, 0.0), [7, 2])
    assert (weights[0, 0] > 0).nonzero().flatten().tolist() == [2, 3]
    assert (weights[1, 0] > 0).nonzero().flatten().tolist() == [0, 1]
    assert weights[1, 0, 0] == 0.5


def test_centre_of_local_p_is_predicted_from_the_query():
    # tanh(W s) = .5 and v = 2 ln 2 give sigmoid(ln 2) = 2/3, p_t = 10/3 of 5 words; sigma = 1/2.
    scope = LocalP(2, attention_size=1, window=1).double()
    with torch.no_grad():
        scope.query_projection.weight.copy_(torch.tensor([[math.atanh(0.5), -1.0]], dtype=torch.float64))
        scope.v.fill_(2 * math.log(2))
    attention = Attention(Dot(2, 2), scope=scope)
    mask, positions = words_and_end(5)
    memory = attention.prepare(torch.zeros(1, 6, 2, dtype=torch.float64), mask, positions)
    row = attention(torch.tensor([[[1.0, 0.0]]], dtype=torch.float64), memory).weights[0, 0]
    bell = [math.exp(-2 * (1 / 3) ** 2) / 2, math.exp(-2 * (2 / 3) ** 2) / 2]
    assert row.tolist() == pytest.approx([0, 0, *bell, 0, 0], abs=1e-14)


def test_rows_of_local_p_sum_to_less_than_one():
    attention = make("general", "local_p")
    mask, positions = words_and_end(10, 5)
    weights = attention(normal(2, T, Q), attention.prepare(normal(2, S, 3, seed=2), mask, positions)).weights
    assert (weights.sum(-1) < 1).all()
    assert (weights.sum(-1) > 0).all()


# ---------------------------------------------------------------------------------------------- all


@pytest.mark.parametrize("name", ["local_m", "local_p"])
def test_a_sentence_without_words_has_an_empty_window(name):
    attention = make("general", name)
    mask, positions = words_and_end(0, 5)
    answer = attention(normal(2, T, Q), attention.prepare(normal(2, 6, 3, seed=2), mask, positions))
    assert not answer.weights[0].any()
    assert not answer.context[0].any()
    assert answer.weights[1].any()


def test_an_empty_window_gives_zeros_and_finite_gradients():
    attention = make("additive", "local_m")
    mask, positions = words_and_end(3)
    query, values = normal(1, 9, Q).requires_grad_(), normal(1, 4, 3, seed=2).requires_grad_()
    answer = attention(query, attention.prepare(values, mask, positions))
    assert not answer.weights[0, 5:].any()  # step 6 is 3 behind the last word
    assert not answer.context[0, 5:].any()
    assert answer.weights[0, 4].any()
    answer.context.sum().backward()
    assert query.grad.isfinite().all()
    assert not query.grad[0, 5:].any()
    assert values.grad.isfinite().all()


def test_global_sees_all_that_is_real():
    scope = Global()
    mask, positions = words_and_end(4, 2)
    memory = Attention(Dot(3, 3), scope=scope).prepare(normal(2, 5, 3), mask, positions)
    window = scope(normal(2, T, 3), memory, torch.zeros(1, 1, dtype=torch.int64))
    assert window.mask.expand(2, T, 5).equal(mask[:, None, :].expand(2, T, 5))
    assert window.prior is None


@pytest.mark.parametrize("name", ["local_m", "local_p"])
def test_a_window_is_at_least_one(name):
    with pytest.raises(SizeError, match="window must be at least 1, got 0"):
        scopes.build(name, {"window": 0}, {"query_size": Q})
    scopes.build(name, {"window": 1}, {"query_size": Q})


def test_default_sizes_of_local_p():
    assert LocalP(Q).query_projection.weight.shape == (Q, Q)
    assert LocalP(Q).window == LocalM().window == 10  # the paper's D
    assert draw(LocalP(Q, attention_size=13)).v.shape == (13,)
