"""Several heads: PyTorch's own, one head written out, and each head alone."""

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from grid import in_turn
from heedful.attention import (
    Attention,
    Causal,
    General,
    LocalP,
    MultiHead,
    ScaledDot,
    dense,
    normalisers,
    scopes,
    scores,
)
from heedful.attention.interventions import Uniform
from heedful.errors import SizeError
from heedful.testing import check_attention

from .cases import OPTIONS, SCORES, Q, S, T, V, draw, normal, variant, words_and_end

SIZE = 13  # of a head
HEADS = 3


class Tired(ScaledDot):
    """A position that was looked at answers less: a part that remembers."""

    sequential = True

    def forward(self, queries, memory, carry):
        return super().forward(queries, memory) - carry

    def begin(self, memory):
        return torch.zeros_like(memory.mask[:, None, :], dtype=memory.values.dtype)

    def remember(self, carry, weights, memory):
        return carry + dense(weights)


def heads_of(
    score: str = "scaled_dot", scope: str = "global", normaliser: str = "softmax", *, heads: int = HEADS
) -> MultiHead:
    sizes = {"query_size": SIZE, "value_size": SIZE}
    attention = Attention(
        scores.build(*variant(score), sizes),
        scope=scopes.build(scope, OPTIONS.get(scope, {}), sizes),
        normaliser=normalisers.build(normaliser, {}, sizes),
    )
    return draw(MultiHead(attention, query_size=Q, value_size=V, heads=heads))


def example():
    mask, positions = words_and_end(10, 4)
    return normal(2, T, Q), normal(2, S, V, seed=2), mask, positions


@pytest.mark.parametrize(("score", "scope", "normaliser"), in_turn(SCORES, scopes.names(), ("softmax", "sparsemax")))
def test_the_contract_of_attention_holds_for_heads_of_any(score, scope, normaliser):
    check_attention(heads_of(score, scope, normaliser))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("bias", [False, True])
def test_it_is_torchs_multi_head_attention(dtype, bias):
    """Copied weights, padded sources; context and mean weights."""
    size = 12
    theirs = nn.MultiheadAttention(size, HEADS, bias=bias, batch_first=True).to(dtype)
    head = ScaledDot(size // HEADS, size // HEADS)
    ours = MultiHead(Attention(head), query_size=size, value_size=size, heads=HEADS, bias=bias).to(dtype)
    projections = (ours.query_projection, ours.key_projection, ours.value_projection, ours.output_projection)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.copy_(normal(*parameter.shape, seed=parameter.numel(), dtype=dtype) / 3)
        for projection, weight in zip(
            projections, (*theirs.in_proj_weight.chunk(3), theirs.out_proj.weight), strict=True
        ):
            projection.weight.copy_(weight)
        if bias:
            for projection, offset in zip(
                projections, (*theirs.in_proj_bias.chunk(3), theirs.out_proj.bias), strict=True
            ):
                projection.bias.copy_(offset)
    query, source = normal(2, T, size, dtype=dtype), normal(2, S, size, seed=2, dtype=dtype)
    mask, _ = words_and_end(10, 4)
    found = ours(query, ours.prepare(source, mask))
    context, weights = theirs(query, source, source, key_padding_mask=~mask)
    exact = 1e-12 if dtype == torch.float64 else 1e-6
    torch.testing.assert_close(found.context, context, rtol=0, atol=exact)
    torch.testing.assert_close(found.weights, weights, rtol=0, atol=exact)


@pytest.mark.parametrize("causal", [False, True])
def test_the_heads_are_torchs_scaled_dot_product_attention(causal):
    """Without its output matrix; as an encoder's or, under the scope `causal`, a decoder's self-attention."""
    sizes = {"query_size": V, "value_size": V}
    attention = Attention(ScaledDot(SIZE, SIZE), scope=Causal() if causal else None)
    ours = draw(MultiHead(attention, **sizes, heads=HEADS))
    x = normal(2, S, V)
    mask = torch.arange(S) < torch.tensor([[S], [4]])

    def by_head(projection):
        return projection(x).unflatten(2, (HEADS, SIZE)).transpose(1, 2)

    allowed = mask[:, None, None, :].expand(2, 1, S, S)
    allowed = allowed.tril() if causal else allowed
    parts = map(by_head, (ours.query_projection, ours.key_projection, ours.value_projection))
    heads = functional.scaled_dot_product_attention(*parts, attn_mask=allowed)
    expected = ours.output_projection(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(ours(x, ours.prepare(x, mask)).context, expected, rtol=0, atol=1e-12)


def test_one_head_is_the_general_score_with_a_matrix_in_two_factors():
    """W_a = W_q^T W_k / sqrt(d)."""
    ours = heads_of(heads=1)
    general = Attention(General(Q, V)).double()
    W_q, W_k = ours.query_projection.weight, ours.key_projection.weight
    with torch.no_grad():
        general.score.key_projection.weight.copy_(W_q.T @ W_k / math.sqrt(SIZE))
    query, values, mask, _ = example()
    found, expected = (one(query, one.prepare(values, mask)) for one in (ours, general))
    torch.testing.assert_close(found.weights, expected.weights, rtol=0, atol=1e-12)
    W_o, W_v = ours.output_projection.weight, ours.value_projection.weight
    torch.testing.assert_close(found.context, expected.context @ (W_o @ W_v).T, rtol=0, atol=1e-12)


@pytest.mark.parametrize("score", scores.names())
def test_each_head_is_attention_over_its_own_projections(score):
    """`explain` has their weights; their mean is what is returned, and their contexts side by side make the answer."""
    ours = heads_of(score, "local_p")
    query, values, mask, positions = example()
    memory = ours.prepare(values, mask, positions)
    steps = torch.arange(T)[None]
    found = ours(query, memory)
    if ours.sequential:  # one step, of which more could not be explained at once
        query, steps = query[:, :1], steps[:, :1]
    parts = ours.explain(query, memory, steps=steps, carry=ours.begin(memory))
    assert parts.prior is not None
    contexts, means = [], []
    for head in range(HEADS):
        rows = slice(head * SIZE, (head + 1) * SIZE)
        q, k, v = (
            part @ projection.weight[rows].T
            for part, projection in (
                (query, ours.query_projection),
                (values, ours.key_projection),
                (values, ours.value_projection),
            )
        )
        alone = ours.core(q, ours.core.prepare(v, mask, positions, keys=k), steps=steps)
        torch.testing.assert_close(parts.shares[:, head] * parts.prior[:, head], alone.weights)
        contexts.append(alone.context)
        means.append(alone.weights)
    count = len(steps[0])
    torch.testing.assert_close(found.weights[:, :count], torch.stack(means).mean(0))
    torch.testing.assert_close(found.context[:, :count], torch.cat(contexts, -1) @ ours.output_projection.weight.T)


@pytest.mark.parametrize("scope", scopes.names())
@pytest.mark.parametrize("score", ["scaled_dot", "additive"])
def test_a_loop_asks_for_the_same(score, scope):
    """In value and gradient, as all steps at once."""
    ours = heads_of(score, scope)
    query, values, mask, positions = example()
    leaves = [query.requires_grad_(), values.requires_grad_(), *ours.parameters()]
    found = []
    for loop in (False, True):
        memory = ours.prepare(values, mask, positions)
        if loop:
            ask = ours.asked(memory, steps=T)
            carry, answers = ours.begin(memory), []
            for t in range(T):
                answers.append(ask(query[:, t : t + 1], steps=torch.tensor([[t]]), carry=carry))
                carry = answers[-1].carry
        else:
            answers = [ours(query, memory)]
        parts = [torch.cat([getattr(one, part) for one in answers], dim=1) for part in ("context", "weights")]
        total = sum((part * normal(*part.shape, seed=9)).sum() for part in parts)
        gradients = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
        found.append([*parts, *gradients])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_parts_may_be_exchanged():
    """In every head, as interventions do."""
    ours = heads_of()
    query, values, mask, _ = example()
    ours.core.normaliser = Uniform()
    assert ours.normaliser is ours.core.normaliser
    weights = ours(query, ours.prepare(values, mask)).weights
    torch.testing.assert_close(weights[1], torch.cat([torch.full((T, 5), 0.2), torch.zeros(T, 6)], -1).double())


def test_what_a_part_remembers_is_reordered_along_hypotheses():
    """A carry is (B, K, H, ...): a hypothesis that continues another has its memory, in each head."""
    attention = Attention(Tired(SIZE, SIZE))
    ours = draw(MultiHead(attention, query_size=Q, value_size=V, heads=HEADS))
    _, values, mask, positions = example()
    memory = ours.prepare(values, mask, positions)
    query = normal(2, 2, Q)  # two hypotheses
    first = ours(query, memory, steps=torch.zeros(2, 2, dtype=torch.int64), carry=ours.begin(memory))
    assert first.carry[1].shape == (2, 2, HEADS, S)
    step = torch.ones(2, 2, dtype=torch.int64)
    turned = (None, first.carry[1].flip(1), None)
    there, back = (ours(q, memory, steps=step, carry=c) for q, c in ((query, first.carry), (query.flip(1), turned)))
    torch.testing.assert_close(back.weights.flip(1), there.weights)
    assert not torch.allclose(there.weights, first.weights)


def test_heads_that_remember_keep_the_contract():
    ours = MultiHead(Attention(Tired(SIZE, SIZE)), query_size=Q, value_size=V, heads=HEADS)
    assert ours.sequential
    check_attention(ours)


def test_sizes_that_do_not_fit():
    with pytest.raises(SizeError, match="queries and values of one size, got 5 and 3"):
        MultiHead(Attention(General(5, 3)), query_size=5, value_size=3, heads=2)
    with pytest.raises(SizeError, match="heads must be at least 1, got 0"):
        MultiHead(Attention(General(5, 5)), query_size=5, value_size=3, heads=0)
    ours = heads_of()
    with pytest.raises(SizeError, match=r"values must be \(sentences, 1 position or more, 3\), got \(2, 11, 5\)"):
        ours.prepare(normal(2, S, Q))
    memory = ours.prepare(normal(2, S, V))
    with pytest.raises(SizeError, match=r"queries must be \(2, steps, 5\), got \(1, 7, 5\)"):
        ours(normal(1, T, Q), memory)


def test_windows_of_heads_stay_windows():
    """Each head's own columns; the sums are the mean of the heads' rows."""
    ours = heads_of("general", "local_p")
    assert isinstance(ours.scope, LocalP)
    query, values, mask, positions = example()
    memory = ours.prepare(values, mask, positions)
    answer = ours(query, memory)
    assert not isinstance(answer.weighting, torch.Tensor)
    parts = ours.explain(query, memory, steps=torch.arange(T)[None])
    assert parts.prior is not None
    torch.testing.assert_close(answer.weights, (parts.shares * parts.prior).mean(1))
