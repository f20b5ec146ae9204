"""Linear attention: the cheap order against the plain one, and what it never makes."""

import pytest
import torch

from heedful.attention import Additive, Attention, Factored, Kernel, LocalM, Softmax
from heedful.attention.interventions import Observed
from heedful.errors import RecipeError
from heedful.tensors import dense, steps_of

from .cases import B, Q, S, T, V, make, normal, words_and_end

KINDS = ["linear", "linear of exp"]


def answer(attention, *, loop=False):
    """Context, weights and all gradients; the second sentence is padded."""
    query, values = normal(B, T, Q).requires_grad_(), normal(B, S, V, seed=2).requires_grad_()
    memory = attention.prepare(values, *words_and_end(S - 1, 4))
    if loop:
        ask = attention.asked(memory, steps=T)
        found = [ask(query[:, t : t + 1], steps=torch.tensor([[t]])) for t in range(T)]
    else:
        found = [attention(query, memory)]
    parts = [torch.cat([getattr(one, part) for one in found], dim=1) for part in ("context", "weights")]
    total = sum((part * normal(*part.shape, seed=9)).sum() for part in parts)
    return found[0].weighting, [*parts, *torch.autograd.grad(total, [query, values, *attention.parameters()])]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_cheap_order_gives_what_the_plain_one_gives(kind, loop):
    attention = make(kind)
    weighting, found = answer(attention, loop=loop)
    assert isinstance(weighting, Factored)
    attention.normaliser = Observed(Softmax(), lambda *seen: None)
    weighting, wanted = answer(attention, loop=loop)
    assert isinstance(weighting, torch.Tensor)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_weights_by_hand():
    """phi(-1) = 1 / e, phi(0) = 1, phi(1) = 2; with queries and keys of one number each."""
    attention = Attention(Kernel(1, 1, attention_size=1)).double()
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.fill_(1.0)
    values = torch.tensor([[[0.0], [1.0], [5.0]]], dtype=torch.float64)
    memory = attention.prepare(values, torch.tensor([[True, True, False]]))
    found = attention(torch.tensor([[[-1.0], [3.0]]], dtype=torch.float64), memory)
    torch.testing.assert_close(found.weights, torch.tensor([[[1 / 3, 2 / 3, 0]] * 2], dtype=torch.float64))
    torch.testing.assert_close(found.context, torch.tensor([[[2 / 3]] * 2], dtype=torch.float64))


@pytest.mark.parametrize("plain", [False, True])
@pytest.mark.parametrize("scale", [1.0, 3000.0])
def test_exponentials_are_those_of_the_equation(scale, plain):
    """alpha_tj of log sum_d exp(q_td + k_jd), also where e^x itself would be no number."""
    attention = make("linear of exp")
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.mul_(scale)
    attention.normaliser = Observed(Softmax(), lambda *seen: None) if plain else attention.normaliser
    query, values, (mask, positions) = normal(B, T, Q), normal(B, S, V, seed=2), words_and_end(S - 1, 4)
    keys = attention.score.key_projection(values).unsqueeze(1)
    scores = (attention.score.query_projection(query).unsqueeze(2) + keys).logsumexp(-1)
    wanted = scores.masked_fill(~mask[:, None], -torch.inf).softmax(-1)
    memory = attention.prepare(values, mask, positions)
    found = attention(query, memory)
    close = {"rtol": 0, "atol": 1e-12 * scale}
    torch.testing.assert_close(found.weights, wanted, **close)
    some = steps_of(found.weighting, torch.tensor([1, 0]), torch.tensor([2, 4]))
    torch.testing.assert_close(dense(some)[:, 0], wanted[[1, 0], [2, 4]], **close)
    torch.testing.assert_close(found.context, wanted @ values, **close)
    raw = attention.score(attention.score.queries(query), memory)
    shown = mask[:, None] & (wanted > 1e-300)
    torch.testing.assert_close(raw[shown], scores[shown], rtol=1e-11, atol=1e-11)


def test_padding_takes_nothing_off_small_exponentials():
    """Keys of -200 beside padding, whose keys are 0: e^-200 is 0 in single precision."""
    attention = Attention(Kernel(1, 1, attention_size=1, feature_map="exp"))
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.fill_(-200.0)
    memory = attention.prepare(torch.tensor([[[1.0], [1.01], [0.0]]]), torch.tensor([[True, True, False]]))
    weights = attention(torch.ones(1, 1, 1), memory).weights
    torch.testing.assert_close(weights[0, 0, :2], torch.tensor([2.0, 0.0]).softmax(0))


def test_exponentials_learn_to_look_at_one_place_of_many():
    """Query t has to find place t of 23, whose random vectors are known to both sides; four numbers a place."""
    torch.manual_seed(3)
    places = torch.randn(1, 23, 31)
    attention = Attention(Kernel(31, 31, attention_size=97, feature_map="exp"))
    optimiser = torch.optim.Adam(attention.parameters(), lr=0.02)
    for _ in range(60):
        on_diagonal = attention(places, attention.prepare(places)).weights[0].diagonal()
        optimiser.zero_grad()
        (-on_diagonal.log().mean()).backward()
        optimiser.step()
    assert on_diagonal.min().item() > 0.9


def test_an_unknown_map_is_refused():
    with pytest.raises(RecipeError, match="a feature map is 'elu' or 'exp', got 'relu'"):
        Kernel(Q, V, feature_map="relu")


@pytest.mark.parametrize("kind", KINDS)
def test_other_values_have_sums_of_their_own(kind):
    attention = make(kind)
    memory, values = attention.prepare(normal(B, S, V, seed=2)), normal(B, S, 2, seed=3)
    answer = attention(normal(B, T, Q), memory.with_values(values))
    torch.testing.assert_close(answer.context, answer.weights @ values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        lambda attention: setattr(attention, "scope", LocalM(window=2)),
        lambda attention: setattr(attention, "normaliser", Softmax(temperature=0.5)),
        lambda attention: setattr(attention, "dropout", torch.nn.Dropout(0.5)),
        lambda attention: setattr(attention, "score", Additive(Q, V).double()),
    ],
)
def test_with_anything_else_the_order_is_the_plain_one(change):
    attention = make("linear").train()
    change(attention)
    memory = attention.prepare(normal(B, S, V, seed=2))
    assert memory.sums is None
    assert not isinstance(attention(normal(B, T, Q), memory).weighting, Factored)


@pytest.mark.parametrize("kind", ["elu", "exp"])
def test_nothing_of_the_size_of_source_times_target_is_made(kind):
    """All that one call makes is counted: of 997 positions and 499 queries, less than half a matrix of both."""
    attention = Attention(Kernel(Q, V, attention_size=7, feature_map=kind))
    query, values = torch.randn(1, 499, Q, requires_grad=True), torch.randn(1, 997, V, requires_grad=True)
    largest = 0

    class Largest(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, given=(), options=None):
            nonlocal largest
            found = function(*given, **(options or {}))
            parts = filter(torch.is_tensor, torch.utils._pytree.tree_leaves(found))
            largest = max([largest, *(part.numel() for part in parts)])
            return found

    with Largest():
        attention(query, attention.prepare(values)).context.sum().backward()
    assert largest <= 997 * 8


@pytest.mark.parametrize("kind", KINDS)
def test_features_of_very_different_sizes_stay_numbers(kind):
    attention = make(kind).float()
    with torch.no_grad():
        attention.score.query_projection.weight.mul_(1e4)
    found = attention(normal(B, T, Q).float(), attention.prepare(normal(B, S, V).float()))
    assert found.context.isfinite().all()
    torch.testing.assert_close(found.weights.sum(-1), torch.ones(B, T))


@pytest.mark.parametrize("loop", [False, True])
def test_sums_that_half_precision_cannot_hold(loop):
    """Of 3,000 words phi(q) . sum phi(k) is some 400,000; the largest number of half precision is 65,504."""
    attention, values, query = Attention(Kernel(64, 64)), normal(1, 3000, 64).float(), normal(1, 1, 64, seed=2).float()
    steps = torch.zeros(1, 1, dtype=torch.int64)

    def answered():
        memory = attention.prepare(values)
        found = attention.asked(memory, steps=1)(query, steps=steps) if loop else attention(query, memory)
        return found.context, found.weights.float()

    wanted = answered()
    with torch.autocast("cpu", dtype=torch.float16):
        found = answered()
    for half, single in zip(found, wanted, strict=True):
        torch.testing.assert_close(half, single, rtol=0.02, atol=1e-3 * single.abs().max().item())
