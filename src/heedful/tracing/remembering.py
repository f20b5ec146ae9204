"""Attention that remembers earlier steps, once more with NumPy alone: see `heedful.tracing.recompute`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heedful.tracing.formulas import Array, sigmoid, softmax

Values = Mapping[str, Array]
Parts = Mapping[str, Any]


def earlier(parts: Parts, values: Values, before: Values | None) -> dict[str, Array]:
    """What scope, score and normaliser know before the step, from what the step before has left behind."""
    size, found = len(values["source symbols"]), {}
    if "centre" in values and parts.get("around") == "last_peak":
        found["centre"] = np.array(float(parts["width"] + 1)) if before is None else before["centre"]
        if before is not None and before["weights"].any():
            found["centre"] = values["places"][before["weights"].argmax()]
    if "coverage" in values:
        found["coverage"] = np.zeros(size) if before is None else before["coverage"] + before["weights"]
    if "earlier weights" in values:
        found["earlier weights"] = np.zeros((size, values["earlier weights"].shape[1]))
        if before is not None:
            last = before["weights"][:, None]
            sums = before["earlier weights"][:, -1:] + last
            joined = {"last": last, "sum": sums, "both": np.concatenate([last, sums], axis=1)}
            found["earlier weights"] = joined[parts["looks_at"]]
    order = in_order(values["places"])
    own = None if before is None else before.get("weights before the prior", before["weights"])
    if "last stop" in values:
        stops = [1] if own is None else [place for place, j in enumerate(order, start=1) if own[j] > 0]
        found["last stop"] = np.array(float(max(stops, default=size + 1)))
    if "stops before" in values and own is None:
        found["stops before"] = np.eye(size)[order[0]]
    elif "stops before" in values and own is not None and parts["chunk"] == 1:
        found["stops before"] = own
    return found


def in_order(places: Array) -> list[int]:
    """The columns in the order of the sentence; what has no place comes last."""
    return sorted(range(len(places)), key=lambda j: (places[j] == 0, places[j]))


def seeing_scores(parts: Parts, s: Array, h: Array, values: Values, weights: Values) -> dict[str, Array]:
    """The scores, and what they are made of."""
    W_a, U_a, v_a, b_a = (weights[name] for name in ("W_a", "U_a", "v_a", "b_a"))
    found = {"query": W_a @ s, "keys": np.array([U_a @ h_j + b_a for h_j in h])}
    if parts["score"] == "coverage":
        seen = np.outer(values["coverage"], weights["w_c"])
    else:
        found["location features"] = _convolved(weights["F"], values["earlier weights"], in_order(values["places"]))
        seen = values["location features"] @ weights["U_f"].T
    sums = [values["query"] + key + own for key, own in zip(values["keys"], seen, strict=True)]
    return found | {"scores": np.array([v_a @ np.tanh(x) for x in sums])}


def _convolved(F: Array, alpha: Array, order: list[int]) -> Array:
    """f_j = sum over k of F_k . alpha at the place that is k - the middle away from j's; 0 outside of the sentence."""
    features, middle = np.zeros((len(order), len(F))), F.shape[2] // 2
    for place, j in enumerate(order):
        for k in range(F.shape[2]):
            other = place + k - middle
            if 0 <= other < len(order):
                features[j] += F[:, :, k] @ alpha[order[other]]
    return features


def monotonic(parts: Parts, values: Values, weights: Values, open_: Any) -> Array:
    """The weights, before a prior."""
    order, e, w = in_order(values["places"]), values["scores"], parts["chunk"]
    x, alpha = e + weights["r"], np.zeros(len(e))
    if "last stop" in values:
        k = int(values["last stop"]) - 1
        stops = [j for j in order[k:] if open_[j] and x[j] > 0]
        alpha[stops[:1]] = 1
    else:
        p, q, missed = sigmoid(x / parts["temperature"]) * open_, 0.0, 1.0
        for j in order:
            q = missed * q + values["stops before"][j]  # q_j = (1 - p_j-1) q_j-1 + alpha_i-1,j
            alpha[j], missed = p[j] * q, 1 - p[j]
    beta = np.zeros(len(e))
    for place, k in enumerate(order):
        if alpha[k] > 0:
            chunk = [j for j in order[max(0, place - w + 1) : place + 1] if open_[j]]
            beta[chunk] += alpha[k] * softmax(e[chunk] / parts["temperature"])
    return beta
