"""Normalisers against entmax's bisection and numbers worked out by hand; temperature; extreme scores."""

import math

import pytest
import torch
from entmax import entmax_bisect

from heedful.attention import Entmax15, Normaliser, Softmax, Sparsemax, normalisers
from heedful.attention.normalisers import COLDEST
from heedful.errors import RecipeError, SizeError

from .cases import B, S, T, normal, words_and_end

NAMES = [name for name in normalisers.names() if not normalisers[name].sequential]  # see test_monotonic.py
DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]
ALL = torch.ones(1, 1, 1, dtype=torch.bool)


def row(*scores: float) -> torch.Tensor:
    return torch.tensor([[scores]], dtype=torch.float64)


def close(actual, expected, tolerance=1e-12):
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(("kind", "alpha"), [(Entmax15, 1.5), (Sparsemax, 2.0)])
def test_sparse_normalisers_equal_bisection(kind, alpha):
    scores = 2 * normal(B, T, S)
    close(kind()(scores, ALL), entmax_bisect(scores, alpha=alpha, dim=-1, n_iter=60), 1e-9)
    mask, _ = words_and_end(S - 1, 3)
    weights = kind()(scores, mask[:, None, :])
    close(weights[1, :, :4], entmax_bisect(scores[1, :, :4], alpha=alpha, dim=-1, n_iter=60), 1e-9)
    assert (weights[0] == 0).any()  # sparse


def test_by_hand():
    close(Softmax()(row(0, math.log(3)), ALL), row(0.25, 0.75))
    # Support {0, .5}: tau = (.5 - 1) / 2.
    close(Sparsemax()(row(-2, 0, 0.5), ALL), row(0, 0.25, 0.75))
    # Halves [-1, 0, .25], support the last two: tau^2 + (.25 - tau)^2 = 1.
    tau = (1 - math.sqrt(31)) / 8
    close(Entmax15()(row(-2, 0, 0.5), ALL), row(0, tau**2, (0.25 - tau) ** 2))


@pytest.mark.parametrize("name", NAMES)
def test_temperature_divides_scores(name):
    kind, scores = normalisers[name], normal(B, T, S)
    mask = words_and_end(S - 1, 3)[0][:, None, :]
    close(kind(temperature=0.3)(scores, mask), kind()(scores / 0.3, mask))
    flat = kind(temperature=1e9)(scores, mask)
    close(flat[1, :, :4], torch.full((T, 4), 0.25, dtype=torch.float64), 1e-6)
    sharp = kind(temperature=1e-4)(scores, mask)
    close(sharp, torch.nn.functional.one_hot(scores.masked_fill(~mask, -9).argmax(-1), S).double())


def test_softmax_at_temperature_two_by_hand():
    close(Softmax(temperature=2)(row(0, math.log(9)), ALL), row(0.25, 0.75))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan])
def test_a_temperature_is_above_zero(name, temperature):
    with pytest.raises(SizeError, match=f"temperature must be at least 1e-06, got {temperature}"):
        normalisers[name](temperature=temperature)


@pytest.mark.parametrize("name", NAMES)
def test_another_temperature_makes_another_normaliser(name):
    kind, scores = normalisers[name], normal(B, T, S)
    normaliser = kind(temperature=0.7).eval()
    other = normaliser.at(0.3)
    assert other(scores, ALL).equal(kind(temperature=0.3)(scores, ALL))
    assert normaliser(scores, ALL).equal(kind(temperature=0.7)(scores, ALL))
    assert type(other) is kind
    assert not other.training
    with pytest.raises(SizeError, match=r"temperature must be at least 1e-06, got 0\.0"):
        normaliser.at(0.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_huge_scores_give_one_hot_rows_and_finite_gradients(name, dtype):
    scores = (normal(B, T, S) * 1e4).to(dtype).requires_grad_()
    mask = words_and_end(S - 1, 3)[0][:, None, :]
    weights = normalisers[name]()(scores, mask)
    best = scores.detach().masked_fill(~mask, -torch.inf).argmax(-1)
    assert weights.dtype == dtype
    assert weights.equal(torch.nn.functional.one_hot(best, S).to(dtype))
    (weights * normal(B, T, S, dtype=dtype)).sum().backward()
    assert scores.grad.isfinite().all()


@pytest.mark.parametrize("name", NAMES)
def test_equal_huge_scores_share(name):
    for huge in (1e4, -1e4, 1e30, -1e30):
        close(normalisers[name]()(row(huge, huge, 0), row(1, 1, 0) > 0), row(0.5, 0.5, 0))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_a_fully_masked_row_is_zero_with_zero_gradient(name, dtype):
    scores = normal(B, T, S, dtype=dtype).requires_grad_()
    mask = torch.tensor([[False], [True]])[:, :, None].expand(B, T, S)
    weights = normalisers[name]()(scores, mask)
    assert not weights[0].any()
    assert not weights.isnan().any()
    (weights * normal(B, T, S, seed=2, dtype=dtype)).sum().backward()
    assert scores.grad.isfinite().all()
    assert not scores.grad[0].any()
    assert scores.grad[1].any()


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_at_masked_positions_is_ignored(name):
    mask = words_and_end(S - 1, 3)[0][:, None, :]
    plain = normalisers[name]()(normal(B, T, S).masked_fill(~mask, 0), mask)
    for junk in (1e3, math.inf, -math.inf, math.nan):
        scores = normal(B, T, S).masked_fill(~mask, junk).requires_grad_()
        weights = normalisers[name]()(scores, mask)
        assert weights.equal(plain)
        weights.square().sum().backward()
        assert scores.grad.isfinite().all()


@pytest.mark.parametrize(("kind", "alpha"), [(Entmax15, 1.5), (Sparsemax, 2.0)])
def test_scores_far_below_the_largest_change_nothing(kind, alpha):
    # What is more than 8 below the largest is raised to that: it must not be seen from outside.
    scores = row(0.0, -0.9, -1.9, -7.5, -8.5, -1e5) if alpha == 2 else row(0.0, -1.9, -7.5, -8.5, -1e5)
    weights = kind()(scores, ALL)
    close(weights, entmax_bisect(scores, alpha=alpha, dim=-1, n_iter=60), 1e-9)
    assert weights[0, 0, 1] > 0
    assert weights[0, 0, 2:].tolist() == [0] * (scores.shape[-1] - 2)


@pytest.mark.parametrize("name", NAMES)
def test_half_precision_is_computed_in_single(name):
    normaliser = normalisers[name](temperature=0.3)
    scores = normal(B, T, 257, dtype=torch.bfloat16)
    assert normaliser(scores, ALL).equal(normaliser(scores.float(), ALL).to(torch.bfloat16))


def test_registered_names_are_distinct_classes():
    assert {normalisers[name] for name in NAMES} == {Softmax, Sparsemax, Entmax15}
    with pytest.raises(RecipeError, match=r"unknown normaliser 'sparsmax'; did you mean 'sparsemax'\?"):
        normalisers["sparsmax"]
    with pytest.raises(RecipeError, match="'softmax' has no option 'temp'"):
        normalisers.build("softmax", {"temp": 2.0}, {})


def test_a_normaliser_is_only_its_distribution():
    """A new one writes `distribute`: mask, fill, temperature and dtype are the base class's."""

    class Linear(Normaliser):
        def distribute(self, scores):
            return scores.clamp(min=0) / scores.clamp(min=0).sum(-1, keepdim=True).clamp(min=1e-9)

    close(Linear()(row(1, 3, 9), row(1, 1, 0) > 0), row(0.25, 0.75, 0))
    assert not Linear()(row(1, 3), row(0, 0) > 0).any()


@pytest.mark.parametrize("name", NAMES)
def test_the_coldest_temperature_is_the_largest_score_and_padding_has_no_say(name):
    """Below what can be told apart the largest score takes all; what is masked still gets nothing."""
    scores = torch.tensor([[[-1.0, -2.0, -3.0, 5.0, 5.0], [-1e33, -2e33, -3e33, 0.0, 0.0]]])
    mask = torch.tensor([[[True, True, True, False, False]]])
    cold = normalisers[name](temperature=COLDEST)
    for wider in (scores, torch.cat([scores, torch.zeros(1, 2, 7)], dim=-1)):
        kept = torch.cat([mask, mask.new_zeros(1, 1, wider.shape[-1] - 5)], dim=-1)
        weights = cold(wider, kept)
        assert weights[..., :3].tolist() == [[[1.0, 0.0, 0.0]] * 2]
        assert not weights[..., 3:].any()
