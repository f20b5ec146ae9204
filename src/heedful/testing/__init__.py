"""A conformance suite for parts of attention, one's own among them, as check_estimator is for scikit-learn.

>>> check_score("general")  # by its registered name; a class will do as well

What is checked is what the rest of the package relies on. Masked positions might as well not be there,
whatever stands at them, for weights, contexts and gradients; a sentence gets the same answer alone and in a
batch, a query the same alone and among others; positions count, not the order in memory; with nothing to
attend to, weights and contexts are zeros; nothing is ever NaN, in no floating dtype; no input is written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor

from heedful.attention import Attention, Normaliser, Scope, Score, normalisers, scopes, scores
from heedful.attention.scores import General
from heedful.errors import SizeError
from heedful.registry import Registry
from heedful.testing.data import (
    GONE,
    KEPT,
    LENGTHS,
    QUERY_SIZE,
    SENTENCES,
    STEPS,
    VALUE_SIZE,
    WORDS,
    Answer,
    AnyAttention,
    Data,
    drawn,
    example,
    normal,
)

Part = TypeVar("Part")

TOLERANCES = {torch.float64: 1e-11, torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}
EXACT = (torch.float64, torch.float32)


def check_score(score: str | type[Score], *, options: Mapping[str, Any] | None = None) -> None:
    """Check a score, by its registered name or as a class that need not be registered.

    Args:
        score: built with query_size and value_size, which differ unless it refuses that with a SizeError.
        options: what else it is built with.

    Raises:
        AssertionError: says which rule is broken, in which dtype, and by how much.
    """
    part, name = _build(scores, score, options)
    attention = drawn(Attention(part), torch.float64)
    part, data = attention.score, example(attention, torch.float64)
    memory = data.memory(attention, data.values)
    queries = part.queries(data.query)
    _demand(memory.keys.shape[:2] == (SENTENCES, WORDS), name, "keys must be (B, S, K)", memory.keys.shape)
    steps = 1 if part.sequential else STEPS
    raw = part(queries[:, :steps], memory, *([part.begin(memory)] if part.sequential else []))
    _demand(raw.shape == (SENTENCES, steps, WORDS), name, "scores must be (B, T, S)", raw.shape)
    weight = part.query_weight()
    product = data.query if weight is None else data.query @ weight.T
    _demand(queries.shape == product.shape, name, "queries must be of query_weight()'s size", queries.shape)
    _same(queries, product, name, "queries(query) must be query times query_weight()")
    reach = part.reach(memory)
    if reach is not None:
        _demand(reach.dtype == torch.bool, name, "reach must be of bool", reach.dtype)
        _demand(reach.shape == (SENTENCES, WORDS), name, "reach must be (B, S)", reach.shape)
    check_attention(attention, name=name)


def check_scope(scope: str | type[Scope], *, options: Mapping[str, Any] | None = None) -> None:
    """Check a scope; arguments and errors as for `check_score`."""
    part, name = _build(scopes, scope, options)
    attention = drawn(Attention(General(QUERY_SIZE, VALUE_SIZE), scope=part), torch.float64)
    data = example(attention, torch.float64)
    memory = data.memory(attention, data.values)
    steps = 1 if attention.scope.sequential else STEPS
    carry = [attention.scope.begin(memory)] if attention.scope.sequential else []
    window = attention.scope(data.query[:, :steps], memory, torch.arange(steps)[None, :], *carry)
    _demand(window.mask.dtype == torch.bool, name, "the window's mask must be of bool", window.mask.dtype)
    if window.columns is not None:
        shape = window.columns.shape
        _demand(window.mask.shape == shape, name, f"a window's mask must be as its columns, {shape}", window.mask.shape)
        window = window.dense(WORDS)
    wide = window.mask.expand(SENTENCES, steps, WORDS)
    _demand(not (wide & ~data.mask[:, None, :]).any(), name, "a masked position must not be in the window")
    if window.prior is not None:
        shape = window.prior.shape
        _demand(shape == (SENTENCES, steps, WORDS), name, "a prior must be (B, T, S)", shape)
        _demand((window.prior >= 0).all(), name, "a prior must not be negative")
    check_attention(attention, name=name)


def check_normaliser(normaliser: str | type[Normaliser], *, options: Mapping[str, Any] | None = None) -> None:
    """Check a normaliser; arguments and errors as for `check_score`."""
    part, name = _build(normalisers, normaliser, options)
    for dtype in TOLERANCES:
        for factor in (1.0, 1e4):
            _check_rows(part, dtype, factor, name)
    check_attention(Attention(General(QUERY_SIZE, VALUE_SIZE), normaliser=part), name=name)


def check_attention(attention: AnyAttention, *, name: str = "attention") -> None:
    """Check what holds for every score, scope and normaliser together, on a copy of `attention`.

    Args:
        attention: with any parameters, also the zeros that some start from: the copy gets its own.
        name: for the messages.

    Raises:
        AssertionError: says which rule is broken, in which dtype, and by how much.
    """
    for dtype in TOLERANCES:
        module = drawn(attention, dtype)
        data = example(module, dtype)
        _check_inputs(module, data, name)
        _check_masking(module, data, name)
        _check_nothing_to_attend_to(module, data, name)
    for dtype in EXACT:  # in half precision, sums in another order may move a word over the edge of a window
        module = drawn(attention, dtype)
        data = example(module, dtype)
        _check_batch(module, data, name)
        _check_queries(module, data, name)
        _check_order(module, data, name)


def _check_rows(part: Normaliser, dtype: torch.dtype, factor: float, name: str) -> None:
    where = f"({dtype}, scores of about {factor:g})"
    mask = torch.tensor([True, False, True, True, False, True, False])
    raw = normal(SENTENCES, STEPS, len(mask), seed=0).to(dtype)
    scores = (raw * factor).to(dtype)
    scores[..., ~mask] = torch.tensor([1e3, torch.nan, torch.inf], dtype=dtype)
    scores.requires_grad_()
    weights = _rows(part, scores, mask.expand(SENTENCES, 1, -1))
    (gradient,) = torch.autograd.grad((weights * raw).sum(), scores)
    _demand(weights.dtype == dtype, name, f"weights must be of the scores' {dtype}", weights.dtype)
    _finite({"weights": weights, "the gradient of scores": gradient}, name, where)
    _demand((weights >= 0).all(), name, f"weights must not be negative {where}")
    _demand(not weights[..., ~mask].any(), name, f"masked weights must be exactly 0 {where}")
    sums = weights.detach().sum(-1)
    if part.partial:
        most = 1 + TOLERANCES[dtype]
        _demand((sums <= most).all(), name, f"rows must sum to at most 1 {where}", float(sums.max()))
    else:
        _same(sums, torch.ones(SENTENCES, STEPS), name, f"rows must sum to 1 {where}")
    _demand(not gradient[..., ~mask].any(), name, f"masked scores must have no gradient {where}")


def _rows(part: Normaliser, scores: Tensor, mask: Tensor) -> Tensor:
    """The weights of T steps, one after the other where the part remembers."""
    if not part.sequential:
        return part(scores, mask)
    one = Attention(General(1, 1).to(scores.dtype), normaliser=part)
    memory = one.prepare(scores.new_zeros(len(scores), scores.shape[-1], 1), mask[:, 0])
    carry, rows = part.begin(memory), []
    for step in scores.split(1, dim=1):
        weights, carry = part(step, mask, memory, carry)
        rows.append(weights)
    return torch.cat(rows, dim=1)


def _check_masking(module: AnyAttention, data: Data, name: str) -> None:
    where = f"({data.query.dtype})"
    data = data._replace(mask=torch.ones_like(data.mask))
    sliced, sliced_gradients = _answer(module, data.pick(KEPT))
    masked, gradients = _answer(module, data.hide(GONE))
    _finite({**masked._asdict(), **gradients}, name, where)
    for part in masked:
        _demand(part.dtype == data.query.dtype, name, f"the answer must be of {data.query.dtype}", part.dtype)
    _demand(not masked.weights[..., GONE].any(), name, f"masked weights must be exactly 0 {where}")
    rule = f"masking must equal slicing {where}"
    _same_answer(Answer(masked.context, masked.weights[..., KEPT]), sliced, name, rule)
    gradients["values"] = gradients["values"][:, KEPT]
    for key, gradient in gradients.items():
        _same(gradient, sliced_gradients[key], name, f"{rule}: gradients of {key}")


def _check_nothing_to_attend_to(module: AnyAttention, data: Data, name: str) -> None:
    where = f"with nothing to attend to ({data.query.dtype})"
    answer, gradients = _answer(module, data._replace(mask=data.mask & torch.tensor([[True], [False]])))
    _finite({**answer._asdict(), **gradients}, name, where)
    _demand(not answer.weights[1].any(), name, f"weights must be 0 {where}")
    _demand(not answer.context[1].any(), name, f"the context must be 0 {where}")


def _check_batch(module: AnyAttention, data: Data, name: str) -> None:
    answer, _ = _answer(module, data)
    for row, length in enumerate(LENGTHS):
        alone, _ = _answer(module, Data(*(part[row : row + 1] for part in data)).pick(range(length)))
        in_batch = Answer(answer.context[row : row + 1], answer.weights[row : row + 1, :, :length])
        _same_answer(in_batch, alone, name, "a sentence must get in a batch the answer that it gets alone")


def _check_queries(module: AnyAttention, data: Data, name: str) -> None:
    memory = data.memory(module, data.values)
    together, carry = module(data.query, memory), module.begin(memory)
    for step in range(STEPS):
        steps = torch.full((SENTENCES, 1), step)
        alone = module(data.query[:, step : step + 1], memory, steps=steps, carry=carry)
        carry = alone.carry
        one = Answer(together.context[:, step : step + 1], together.weights[:, step : step + 1])
        rule = "a query must get among others the answer that it gets alone"
        _same_answer(one, Answer(alone.context, alone.weights), name, rule)


def _check_order(module: AnyAttention, data: Data, name: str) -> None:
    order = [*range(4, WORDS), *range(4)]
    answer, _ = _answer(module, data)
    expected = Answer(answer.context, answer.weights[..., order])
    moved, _ = _answer(module, data.pick(order))
    _same_answer(moved, expected, name, "positions must count, not the order in memory")
    if module.content_based:
        moved, _ = _answer(module, data.pick(order)._replace(positions=data.positions))
        _same_answer(moved, expected, name, "content_based, so a permutation of the source must change nothing")


def _check_inputs(module: AnyAttention, data: Data, name: str) -> None:
    kept = [part.clone() for part in data]
    with torch.no_grad():
        module(data.query, data.memory(module, data.values))
    _demand(all(map(torch.equal, data, kept)), name, "no input may be written to")


def _answer(module: AnyAttention, data: Data) -> tuple[Answer, dict[str, Tensor]]:
    """What attention answers, and a loss's gradients of query, values and every parameter."""
    query, values = data.query.detach().requires_grad_(), data.values.detach().requires_grad_()
    answer = module(query, data.memory(module, values))
    loss = (answer.context * data.context_share).sum() + (answer.weights * data.weights_share).sum()
    wanted = {"query": query, "values": values, **dict(module.named_parameters())}
    found = torch.autograd.grad(loss, list(wanted.values()), allow_unused=True, materialize_grads=True)
    return Answer(answer.context.detach(), answer.weights.detach()), dict(zip(wanted, found, strict=True))


def _build(registry: Registry[Part], part: str | type[Part], options: Mapping[str, Any] | None) -> tuple[Part, str]:
    """The part, built as by a recipe, and what messages call it."""
    name = part if isinstance(part, str) else part.__name__
    if not isinstance(part, str):
        registry = Registry(registry.kind)
        registry.register(name)(part)
    with torch.random.fork_rng(devices=[]):
        try:
            made = registry.build(name, options or {}, {"query_size": QUERY_SIZE, "value_size": VALUE_SIZE})
        except SizeError:
            made = registry.build(name, options or {}, {"query_size": QUERY_SIZE, "value_size": QUERY_SIZE})
    return made, f"{registry.kind} {name!r}"


def _demand(condition: bool | Tensor, name: str, rule: str, got: object = None) -> None:
    if not condition:
        raise AssertionError(f"{name}: {rule}" + ("" if got is None else f", got {got}"))


def _finite(tensors: Mapping[str, Tensor], name: str, where: str) -> None:
    for key, tensor in tensors.items():
        _demand(tensor.isfinite().all(), name, f"{key} must be finite {where}")


def _same_answer(got: Answer, wanted: Answer, name: str, rule: str) -> None:
    _same(got.weights, wanted.weights, name, f"{rule}: weights")
    _same(got.context, wanted.context, name, f"{rule}: contexts")


def _same(got: Tensor, wanted: Tensor, name: str, rule: str) -> None:
    """Equal up to rounding in the dtype of `got`, relative to the largest wanted value if that is above 1."""
    difference = (got.double() - wanted.double()).abs().amax().item()
    allowed = TOLERANCES[got.dtype] * max(1.0, wanted.abs().amax().item())
    _demand(difference <= allowed, name, rule, f"a difference of {difference:.2g}")
