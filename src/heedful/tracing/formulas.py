"""Gated units and normalisers as their formulas stand in print, with NumPy alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Values = Mapping[str, Array]


def sigmoid(x: Array) -> Array:
    """1 / (1 + e^-x)."""
    return 1 / (1 + np.exp(-x))


def phi(x: Array) -> Array:
    """elu(x) + 1: Katharopoulos et al. 2020, equation 7."""
    return np.where(x > 0, x + 1, np.exp(np.minimum(x, 0)))


def under(weights: Values, prefix: str) -> dict[str, Array]:
    """The weights whose names begin with `prefix`, without it."""
    return {name[len(prefix) :]: value for name, value in weights.items() if name.startswith(prefix)}


def gates_of(
    cell: str, w: Values, inputs: Mapping[str, Array], s: Array, known: Values | None = None
) -> dict[str, Array] | None:
    """The gates of one step; None for a cell that there is no formula for.

    Args:
        cell: its registered name.
        w: its weights by their letters.
        inputs: what it reads: ``{"W": E y_{t-1}, "C": c_t}``.
        s: the state before, s_{t-1}.
        known: gates that others are to be computed from; by default those that are computed here.
    """
    known = known or {}
    if cell == "paper_gru":
        return _paper_gru(w, inputs, s, known)
    x = np.concatenate(list(inputs.values()))
    if cell == "gru":
        r = sigmoid(w["W_ir"] @ x + w["b_ir"] + w["W_hr"] @ s + w["b_hr"])
        z = sigmoid(w["W_iz"] @ x + w["b_iz"] + w["W_hz"] @ s + w["b_hz"])
        reset = known.get("reset gate", r)
        n = np.tanh(w["W_in"] @ x + w["b_in"] + reset * (w["W_hn"] @ s + w["b_hn"]))
        return {"reset gate": r, "update gate": z, "candidate state": n}
    if cell == "lstm":
        i, f, g, o = (w[f"W_i{gate}"] @ x + w[f"b_i{gate}"] + w[f"W_h{gate}"] @ s + w[f"b_h{gate}"] for gate in "ifgo")
        return {
            "input gate": sigmoid(i),
            "forget gate": sigmoid(f),
            "candidate cell": np.tanh(g),
            "output gate": sigmoid(o),
        }
    return None


def _paper_gru(w: Values, inputs: Mapping[str, Array], s: Array, known: Values) -> dict[str, Array]:
    """Bahdanau et al. 2015, appendix A: with C c_t beside W E y_{t-1} where a context is read."""
    z = sigmoid(sum(w[f"{X}_z"] @ x for X, x in inputs.items()) + w["U_z"] @ s + w["b_z"])
    r = sigmoid(sum(w[f"{X}_r"] @ x for X, x in inputs.items()) + w["U_r"] @ s + w["b_r"])
    reset = known.get("reset gate", r)
    new = np.tanh(sum(w[X] @ x for X, x in inputs.items()) + w["U"] @ (reset * s) + w["b"])
    return {"update gate": z, "reset gate": r, "candidate state": new}


def new_state(cell: str, gates: Values, s: Array, m: Array) -> tuple[Array, Array]:
    """The new state, and an LSTM's new cell, from the gates, the state before and the cell before."""
    if cell == "lstm":
        m = gates["forget gate"] * m + gates["input gate"] * gates["candidate cell"]
        memory = gates.get("new cell", m)
        return gates["output gate"] * np.tanh(memory), m
    z = gates["update gate"]
    if cell == "gru":
        return (1 - z) * gates["candidate state"] + z * s, m  # z keeps the OLD state
    return (1 - z) * s + z * gates["candidate state"], m  # z weighs the NEW state


def softmax(e: Array) -> Array:
    """exp(e_j) / sum_k exp(e_k); without the largest score first, so that nothing overflows."""
    exps = np.exp(e - e.max())
    return exps / exps.sum()


def sparsemax(e: Array) -> Array:
    """Martins and Astudillo 2016: the k largest are kept, k the most for which the k-th is above their tau."""
    z = np.sort(e)[::-1]
    k = max(n for n in range(1, len(z) + 1) if z[n - 1] > (z[:n].sum() - 1) / n)
    return np.maximum(e - (z[:k].sum() - 1) / k, 0)


def entmax15(e: Array) -> Array:
    """Peters et al. 2019: sum_j max(e_j / 2 - tau, 0)^2 = 1; tau by halving, then exactly on those that are kept."""
    u = e / 2
    low, high = u.max() - 1, u.max()
    for _ in range(100):
        tau = (low + high) / 2
        low, high = (tau, high) if (np.maximum(u - tau, 0) ** 2).sum() >= 1 else (low, tau)
    kept = u[u > (low + high) / 2]
    tau = kept.mean() - np.sqrt((1 - ((kept - kept.mean()) ** 2).sum()) / len(kept))
    return np.maximum(u - tau, 0) ** 2


NORMALISERS: dict[str, Callable[[Array], Array]] = {"softmax": softmax, "sparsemax": sparsemax, "entmax15": entmax15}


def weights_of_heads(parts: Mapping[str, Any], values: Values) -> dict[str, Array]:
    """Each head's weights from its scores, and their mean."""
    normalise = None if "segment_score" in parts else NORMALISERS.get(parts["normaliser"])
    scores, open_ = values["scores of heads"], values["window of heads"] > 0
    found = {"weights": values["weights of heads"].mean(0)}
    prior = "prior of heads" in values
    if normalise is not None:
        alphas = np.zeros(scores.shape)
        for alpha, own, there in zip(alphas, scores, open_, strict=True):
            if there.any():
                alpha[there] = normalise(own[there] / parts["temperature"])
        found["weights of heads before the prior" if prior else "weights of heads"] = alphas
    if prior:
        found["weights of heads"] = values["weights of heads before the prior"] * values["prior of heads"]
    return found
