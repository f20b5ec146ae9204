"""What attention does at one step, from the query to the weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from heedful.attention import (
    Attention,
    Coverage,
    LocationSensitive,
    Memory,
    Monotonic,
    MultiHead,
    scopes,
)
from heedful.attention.memory import Parts
from heedful.model import Model, State, Steps
from heedful.tracing.weights import registered_name

Tensors = dict[str, Tensor]


def attended(model: Model, memory: Memory, query: Tensor, state: State, steps: Steps) -> Tensors:
    """Attention, from the query to the weights."""
    attention = model.attention
    assert attention is not None
    assert steps.weights is not None
    if isinstance(attention, MultiHead):
        return _asked_in_heads(attention, memory, query, state, steps)
    values: Tensors = {}
    queries = attention.score.queries(query)
    if memory.keys is not memory.values:
        values["keys"] = memory.keys[0]
    if attention.score.query_weight() is not None:
        values["query"] = queries[0, 0]
    values |= {} if state.carry is None else _remembered(attention, memory, state.carry)
    parts = attention.explain(query, memory, steps=state.step, carry=state.carry)
    mask, scores, shares, prior, _ = parts
    name = registered_name(scopes, attention.scope)
    if name == "local_m":
        values["centre"] = state.step[0, 0] + 1
    elif name == "local_p":
        scope: Any = attention.scope
        share = torch.sigmoid(torch.tanh(scope.query_projection(query)) @ scope.v)
        values["centre"] = memory.lengths[0] * share[0, 0]
    elif name in ("window", "block", "strided"):
        diagonal: Any = attention.scope
        of_scope = state.carry[0] if state.carry is not None and diagonal.sequential else diagonal.centre(state.step)
        values["centre"] = of_scope[0, 0]
    values["scores"] = scores[0, 0]
    if parts.groups is not None:
        values |= _rated_segments(attention, memory, query, parts)
    if name not in ("global", "hierarchical") or attention.score.reach(memory) is not None:
        values["window"] = mask[0, 0]
    if prior is not None:
        values |= {"weights before the prior": shares[0, 0], "prior": prior[0, 0]}
    return values | {"weights": steps.weights[0, 0]}


def _asked_in_heads(attention: MultiHead, memory: Memory, query: Tensor, state: State, steps: Steps) -> Tensors:
    """The same of each head, a row each."""
    assert steps.weights is not None
    parts = attention.explain(query, memory, steps=state.step, carry=state.carry)
    mask, scores, shares, prior = (None if part is None else part[0, :, 0] for part in parts[:4])
    assert shares is not None
    values: dict[str, Tensor | None] = {"scores of heads": scores, "window of heads": mask}
    if prior is not None:
        values |= {"weights of heads before the prior": shares, "prior of heads": prior}
    values |= {"weights of heads": shares if prior is None else shares * prior, "weights": steps.weights[0, 0]}
    return {name: value for name, value in values.items() if value is not None}


def _remembered(attention: Attention, memory: Memory, carry: Any) -> Tensors:
    """What the score and the normaliser know of earlier steps."""
    values, (_, of_score, of_normaliser) = {}, carry
    score, order = attention.score, memory.order
    assert order is not None
    if isinstance(score, Coverage):
        values["coverage"] = of_score[0, 0]
    elif isinstance(score, LocationSensitive):
        values["earlier weights"] = torch.zeros_like(of_score).scatter(-1, order.expand_as(of_score), of_score)[0, 0].T
        values["location features"] = score.location_features(memory, of_score)[0, 0]
    if isinstance(attention.normaliser, Monotonic) and attention.normaliser.walks:
        values["last stop"] = of_normaliser[0, 0].clamp(max=memory.mask.shape[1]) + 1
    elif isinstance(attention.normaliser, Monotonic):
        values["stops before"] = torch.zeros_like(of_normaliser[0, 0]).scatter(-1, order[0], of_normaliser[0, 0])
    return values


def _rated_segments(attention: Attention, memory: Memory, query: Tensor, parts: Parts) -> Tensors:
    """Segments, from their states to their weights, and the words' weights within them."""
    assert parts.groups is not None
    assert memory.segments is not None
    score: Any = attention.scope.score
    of, columns = memory.segments.memory, parts.groups.columns[0]
    numbers = torch.zeros_like(memory.positions[0])
    for number, own in enumerate(columns, start=1):
        numbers[own[own >= 0]] = number
    values = {"segments": numbers, "segment states": of.values[0]}
    if of.keys is not of.values:
        values["segment keys"] = of.keys[0]
    if score.query_weight() is not None:
        values["segment query"] = score.queries(query)[0, 0]
    mask = parts.mask[0, 0]
    there = torch.stack([mask[own[own >= 0]].any() for own in columns])
    weights = attention.normaliser(parts.groups.scores, there)
    return values | {"segment scores": parts.groups.scores[0, 0], "segment weights": weights[0, 0]}
