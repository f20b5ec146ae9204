"""Attention as a whole: gradients, dropout, queries together and alone, errors, and parts from outside."""

import subprocess
import sys

import pytest
import torch
from torch.func import functional_call

from grid import daily, spanning
from heedful.attention import (
    Attention,
    Dot,
    General,
    Global,
    Scope,
    Score,
    Softmax,
    Window,
    normalisers,
    scopes,
    scores,
)
from heedful.errors import SizeError

from .cases import COMBINATIONS, B, Q, S, T, V, make, normal, value_size, variant, words_and_end

DTYPES = [torch.float64, torch.float32, torch.float16, torch.bfloat16]


def close(actual, expected, tolerance=1e-12):
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize("combination", daily(COMBINATIONS, spanning(COMBINATIONS)), ids="-".join)
def test_gradients(combination):
    """Of context and weights by query, values and all parameters, against finite differences."""
    attention = make(*combination)
    mask, positions = words_and_end(4, 2)
    inputs = [normal(B, 3, Q), normal(B, 5, value_size(combination[0]), seed=2)]
    names = [name for name, _ in attention.named_parameters()]

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention

        def forward(self, query, values):
            answer = self.attention(query, self.attention.prepare(values, mask, positions))
            return answer.context, answer.weights

    def answer(query, values, *parameters):
        named = {f"attention.{name}": value for name, value in zip(names, parameters, strict=True)}
        return functional_call(Whole(), named, (query, values))

    inputs += [parameter.detach() for parameter in attention.parameters()]
    assert torch.autograd.gradcheck(answer, [value.clone().requires_grad_() for value in inputs])


# ---------------------------------------------------------------------------------------------- queries


@pytest.mark.parametrize("scope", scopes.names())
def test_queries_at_once_are_queries_one_at_a_time(scope):
    attention = make("additive", scope)
    mask, positions = words_and_end(10, 4)
    memory = attention.prepare(normal(B, S, V), mask, positions)
    query = normal(B, T, Q)
    together = attention(query, memory)
    for t in range(T):
        alone = attention(query[:, t : t + 1], memory, steps=torch.tensor([[t]]))
        close(alone.context, together.context[:, t : t + 1])
        close(alone.weights, together.weights[:, t : t + 1])


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
def test_a_loop_asks_the_same(combination):
    """One query after the other, with gradients of everything, as all at once."""
    attention = make(*combination)
    mask, positions = words_and_end(10, 4)
    query, values = normal(B, T, Q).requires_grad_(), normal(B, S, value_size(combination[0])).requires_grad_()
    leaves = [query, values, *attention.parameters()]
    found = []
    for loop in (False, True):
        memory = attention.prepare(values, mask, positions)
        if loop:
            ask = attention.asked(memory, steps=T)
            answers, carry = [], attention.begin(memory)
            for t in range(T):
                answers.append(ask(query[:, t : t + 1], steps=torch.tensor([[t]]), carry=carry))
                carry = answers[-1].carry
            answer = [torch.cat([getattr(one, part) for one in answers], dim=1) for part in ("context", "weights")]
        else:
            answer = [getattr(attention(query, memory), part) for part in ("context", "weights")]
        total = sum((part * normal(*part.shape, seed=9)).sum() for part in answer)
        found.append((*answer, *torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)))
    for one, other in zip(*found, strict=True):
        close(one, other)


def test_a_loop_without_gradients_asks_the_same():
    attention = make("additive")
    memory, query = attention.prepare(normal(B, S, V)), normal(B, 1, Q)
    with torch.no_grad():
        found = attention.asked(memory, steps=1)(query, steps=torch.tensor([[0]]))
    assert found.context.equal(attention(query, memory).context.detach())


def test_context_is_the_weighted_sum_of_values():
    attention = make("concat", "local_p", "entmax15")
    mask, positions = words_and_end(10, 4)
    values = normal(B, S, V)
    answer = attention(normal(B, T, Q), attention.prepare(values, mask, positions))
    close(answer.context, torch.einsum("bts,bsv->btv", answer.weights, values))


# ---------------------------------------------------------------------------------------------- masks


def test_all_is_real_and_in_order_by_default():
    attention = make("location", "local_p")
    values, query = normal(B, S, V), normal(B, T, Q)
    mask, positions = torch.ones(B, S, dtype=torch.bool), torch.arange(1, S + 1).expand(B, S)
    close(
        attention(query, attention.prepare(values)),
        attention(query, attention.prepare(values, mask, positions)),
    )
    mask = torch.tensor([False, True, True, False, True, *[False] * 6]).expand(B, S)
    positions = torch.tensor([0, 1, 2, 0, 3, *[0] * 6]).expand(B, S)
    close(
        attention(query, attention.prepare(values, mask)),
        attention(query, attention.prepare(values, mask, positions)),
    )


@pytest.mark.parametrize("junk", [1e3, torch.inf, torch.nan])
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_stands_in_the_padding_changes_nothing(dtype, junk):
    mask, positions = words_and_end(10, 4)
    query = normal(B, T, Q, dtype=dtype)
    for combination in COMBINATIONS:
        attention = make(*combination).to(dtype)
        values = normal(B, S, value_size(combination[0]), seed=2, dtype=dtype)
        clean = attention(query, attention.prepare(values, mask, positions))
        dirty = attention(query, attention.prepare(values.masked_fill(~mask.unsqueeze(-1), junk), mask, positions))
        assert dirty.weights.equal(clean.weights)
        assert dirty.context.equal(clean.context)
        assert not dirty.weights[1, :, 5:].any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_fully_masked_sentence_gives_zeros_and_finite_gradients(dtype):
    mask, positions = words_and_end(10, 4)
    mask[1] = False
    for combination in COMBINATIONS:
        attention = make(*combination).to(dtype)
        query = normal(B, T, Q, dtype=dtype).requires_grad_()
        values = normal(B, S, value_size(combination[0]), seed=2, dtype=dtype).requires_grad_()
        answer = attention(query, attention.prepare(values, mask, positions))
        assert not answer.weights[1].any()
        assert not answer.context[1].any()
        assert answer.weights[0].any()
        (answer.context.square().sum() + answer.weights.square().sum()).backward()
        for tensor in (query, values, *attention.parameters()):
            assert tensor.grad.isfinite().all()
        assert not values.grad[1].any()


def test_values_are_zero_where_masked():
    mask, _ = words_and_end(10, 4)
    values = normal(B, S, V).masked_fill(~mask.unsqueeze(-1), torch.nan)
    memory = make("additive").prepare(values, mask)
    assert not memory.values[~mask].any()
    assert memory.values[mask].equal(values[mask])
    assert memory.keys.isfinite().all()


@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
def test_only_content_based_parts_follow_a_permutation_of_the_source(combination):
    attention = make(*combination)
    names = (variant(combination[0])[0], *combination[1:])
    parts = zip((scores, scopes, normalisers), names, strict=True)
    assert attention.content_based == all(registry[name].content_based for registry, name in parts)
    order = torch.tensor([4, 9, 1, 0, 7, 10, 2, 5, 8, 3, 6])
    values, query = normal(B, S, value_size(combination[0])), normal(B, T, Q)
    segments = (1 + torch.arange(S) // 3).expand(B, S)  # of the places, whatever stands there
    before = attention(query, attention.prepare(values, segments=segments))
    after = attention(query, attention.prepare(values[:, order], segments=segments))
    follows = [
        torch.allclose(after.weights, before.weights[..., order], rtol=0, atol=1e-12),
        torch.allclose(after.context, before.context, rtol=0, atol=1e-12),
    ]
    assert follows == [attention.content_based] * 2


# ---------------------------------------------------------------------------------------------- dropout


def test_dropout_zeroes_weights_and_scales_the_others_in_training_only():
    attention = make("general", dropout=0.25)
    values = torch.eye(V, dtype=torch.float64).unsqueeze(0)  # so that a context is the weights that made it
    memory, query = attention.prepare(values), normal(1, 1, Q).expand(1, 4001, Q)
    kept = attention.eval()(query, memory)
    close(kept.weights.sum(-1), torch.ones(1, 4001, dtype=torch.float64))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        dropped = attention.train()(query, memory)
    close(dropped.weights, kept.weights)  # what was attended to; the context is made of less
    used = dropped.context
    factors = used / kept.weights
    gone = factors == 0
    close(factors[~gone], torch.full_like(factors[~gone], 4 / 3))
    assert gone.double().mean().item() == pytest.approx(0.25, abs=0.02)
    close(used.mean(1), kept.weights[:, 0], 0.02)  # the same in expectation


def test_no_dropout_by_default():
    attention = make("general").train()
    memory, query = attention.prepare(normal(1, 5, V)), normal(1, T, Q)
    assert attention(query, memory).weights.equal(attention.eval()(query, memory).weights)


# ---------------------------------------------------------------------------------------------- errors


def test_sizes_that_do_not_fit():
    attention = make("general")
    with pytest.raises(SizeError, match=r"values must be \(sentences, 1 position or more, 3\), got \(2, 11, 5\)"):
        attention.prepare(normal(B, S, 5))
    with pytest.raises(SizeError, match=r"values must be \(sentences, 1 position or more, 3\), got \(11, 3\)"):
        attention.prepare(normal(S, V))
    mask = torch.ones(B, S, dtype=torch.bool)
    with pytest.raises(SizeError, match=r"mask must be of bool, True = a real position, got torch.int64"):
        attention.prepare(normal(B, S, V), mask.long())
    with pytest.raises(SizeError, match=r"mask must be \(2, 11\), got \(2, 7\)"):
        attention.prepare(normal(B, S, V), mask[:, :7], torch.ones(B, S, dtype=torch.int64))
    with pytest.raises(SizeError, match=r"positions must be \(2, 11\), got \(1, 11\)"):
        attention.prepare(normal(B, S, V), mask, torch.ones(1, S, dtype=torch.int64))
    memory = attention.prepare(normal(B, S, V))
    for query in (normal(B, T, 7), normal(3, T, Q), normal(B, Q)):
        with pytest.raises(SizeError, match=r"queries must be \(2, steps, 5\), got \(") as caught:
            attention(query, memory)
        assert str(tuple(query.shape)) in str(caught.value)


# ---------------------------------------------------------------------------------------------- parts


def test_defaults_are_global_and_softmax():
    attention = Attention(Dot(Q, Q))
    assert isinstance(attention.scope, Global)
    assert isinstance(attention.normaliser, Softmax)


def test_a_new_score_works_by_name_with_no_other_edit(monkeypatch):
    monkeypatch.setattr(scores, "_members", dict(scores._members))

    @scores.register("negative_distance")
    class NegativeDistance(Score):
        """-|s - h|^2, of one size."""

        def forward(self, queries, memory):
            return -(queries.unsqueeze(2) - memory.keys.unsqueeze(1)).square().sum(-1)

    assert "negative_distance" in scores.names()
    score = scores.build("negative_distance", {}, {"query_size": 2, "value_size": 2})
    attention = Attention(score)
    values = torch.tensor([[[0.0, 0.0], [3.0, 4.0], [torch.nan, 0.0]]])
    memory = attention.prepare(values, torch.tensor([[True, True, False]]))
    weights = attention(torch.zeros(1, 1, 2), memory).weights
    close(weights[0, 0], torch.softmax(torch.tensor([0.0, -25.0, -torch.inf]), 0))


def test_a_prior_is_multiplied_in_after_normalising():
    class Half(Scope):
        def forward(self, query, memory, steps):
            shape = (*query.shape[:2], memory.mask.shape[1])
            return Window(memory.mask[:, None, :], torch.full(shape, 0.5, dtype=query.dtype))

    plain, half = Attention(General(Q, V)), Attention(General(Q, V), scope=Half())
    half.load_state_dict(plain.state_dict())
    query, values = normal(B, T, Q, dtype=torch.float32), normal(B, S, V, dtype=torch.float32)
    answer, whole = half(query, half.prepare(values)), plain(query, plain.prepare(values))
    assert answer.weights.equal(whole.weights / 2)
    close(answer.context, whole.context / 2, 1e-6)


def test_attention_imports_nothing_of_ours_but_errors_and_registry():
    code = "import sys, heedful.attention; print(sorted(m for m in sys.modules if m.split('.')[0] == 'heedful'))"
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    ours = ["heedful", "heedful.attention", "heedful.errors", "heedful.registry", "heedful.tensors"]
    ours += [
        f"heedful.attention.{name}"
        for name in (
            "additive",
            "asked",
            "attention",
            "coverage",
            "factor",
            "hierarchical",
            "linear",
            "memory",
            "monotonic",
            "multihead",
            "normalisers",
            "products",
            "reading",
            "rows",
            "scopes",
            "scores",
            "segments",
            "two",
            "weights",
            "windows",
        )
    ]
    assert done.stdout.strip() == str(sorted(ours))
