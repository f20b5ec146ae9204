"""Scores of words, and the weights of segments and of the words in them, with NumPy alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heedful.tracing.formulas import NORMALISERS, Array, phi, under
from heedful.tracing.remembering import seeing_scores

Values = Mapping[str, Array]
Parts = Mapping[str, Any]


def segments_of(parts: Parts, s: Array, h: Array, values: Values, weights: Values, open_: Any) -> dict[str, Array]:
    """u_g, beta_g, and alpha_j = beta_g alpha(j|g)."""
    members = [values["segments"] == g for g in range(1, len(values["segment states"]) + 1)]
    own = {name: values[f"segment {name}"] for name in ("keys", "query") if f"segment {name}" in values}
    rated = score_of({"score": parts["segment_score"]}, s, values["segment states"], own, under(weights, "segments."))
    found = {f"segment {name}": value for name, value in rated.items()}
    found["segment states"] = np.array([h[own].mean(0) for own in members])
    normalise = NORMALISERS.get(parts["normaliser"])
    if normalise is None:
        return found
    there = np.array([bool((own & open_).any()) for own in members])
    beta, alpha = np.zeros(len(members)), np.zeros(len(h))
    if there.any():
        beta[there] = normalise(values["segment scores"][there] / parts["temperature"])
    for share, own in zip(values["segment weights"], members, strict=True):
        if (own & open_).any():
            alpha[own & open_] = share * normalise(values["scores"][own & open_] / parts["temperature"])
    return found | {"segment weights": beta, "weights": alpha}


def score_of(parts: Parts, s: Array, h: Array, values: Values, weights: Values) -> dict[str, Array]:
    W_a, U_a, v_a, b_a = (weights.get(name) for name in ("W_a", "U_a", "v_a", "b_a"))
    score = parts["score"]
    if score == "dot":
        return {"scores": np.array([s @ h_j for h_j in h])}
    if score == "scaled_dot":
        return {"scores": np.array([s @ h_j / len(s) ** 0.5 for h_j in h])}
    if score == "general" and W_a is not None:
        return {"keys": h @ W_a.T, "scores": np.array([s @ key for key in values["keys"]])}
    if score == "concat" and W_a is not None:  # v_a . tanh(W_a [s; h_j]): the columns of W_a for s, those for h_j
        W_a, U_a = W_a[:, : len(s)], W_a[:, len(s) :]
    if score in ("additive", "concat") and W_a is not None and U_a is not None and v_a is not None:
        scores = np.array([v_a @ np.tanh(values["query"] + key) for key in values["keys"]])
        return {
            "query": W_a @ s,
            "keys": np.array([U_a @ h_j + (0 if b_a is None else b_a) for h_j in h]),
            "scores": scores,
        }
    if score == "linear" and parts.get("feature_map") == "exp":  # phi(x) = e^x
        scores = np.array([np.logaddexp.reduce(values["query"] + key) for key in values["keys"]])
        return {"query": weights["W_q"] @ s, "keys": h @ weights["W_k"].T, "scores": scores}
    if score == "linear":  # phi(x) = elu(x) + 1
        return {
            "query": weights["W_q"] @ s,
            "keys": phi(h @ weights["W_k"].T),
            "scores": np.array([np.log(phi(values["query"]) @ key) for key in values["keys"]]),
        }
    if score == "location" and W_a is not None:  # row p of W_a s is for the word at place p
        rated = values["query"]
        rows = np.clip(values["places"].astype(int), 1, len(rated)) - 1
        return {"query": W_a @ s, "scores": np.array([rated[row] for row in rows])}
    return seeing_scores(parts, s, h, values, weights) if score in ("coverage", "location_sensitive") else {}
