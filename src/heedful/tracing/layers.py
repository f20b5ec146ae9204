"""An encoder whose states ask each other: its equations, and its layers once more with NumPy alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from heedful.tracing.formulas import Array, Values, softmax, under
from heedful.tracing.words import ENCODER, VASWANI, Description, Letters, layer_end


def encoder_of_layers(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    """The source states of the encoder `self_attention`, from embeddings with places on, layer by layer."""
    h, j, layers = letters.h, letters.j, parts["encoder_layers"]
    before, where = parts["encoder_norm"] == "before", f"{VASWANI}, section 3."
    norm = "norm({})" if before else "{}"
    after = "{}" if before else "norm({})"
    placed = f"u^0_{j} = W_e sqrt(E) E x_{j} + p_{j}, of its place; the end stands behind the last; W_e if sizes differ"
    found = {"placed embeddings": Description(ENCODER, f"u^0_{j}", placed, f"{where}5")}
    for layer in range(1, layers + 1):
        end, below, a, v, u = layer_end(layer, layers), f"u^{layer - 1}", *(f"{x}^{layer}" for x in "avu")
        read = norm.format(below)
        asked = f"{a}_{j}k = mean over n of a^n_{j}k, a^n = softmax(W_q^n r_{j} . W_k^n r_k / sqrt(d)), r = {read}"
        heard = after.format(f"{below}_{j} + W_o [sum_k a^1_{j}k W_v^1 r_k; sum_k a^2_{j}k W_v^2 r_k; ...]")
        thought = after.format(f"{v}_{j} + W_2 max(0, W_1 {norm.format(f'{v}_{j}')} + b_1) + b_2")
        found |= {
            f"self-attention{end}": Description(ENCODER, f"{a}_{j}k", asked, f"{where}2"),
            f"heard states{end}": Description(ENCODER, f"{v}_{j}", f"{v}_{j} = {heard}", f"{where}1"),
            f"layer states{end}": Description(ENCODER, f"{u}_{j}", f"{u}_{j} = {thought}", f"{where}3"),
        }
    top = norm.format(f"u^{layers}_{j}")
    return found | {"source states": Description(ENCODER, f"{h}_{j}", f"{h}_{j} = {top}", f"{where}1")}


def layers_again(parts: Mapping[str, Any], values: Values, weights: Values) -> dict[str, Array]:
    """The same quantities, each from the traced ones that it is made of."""
    own, layers, before = under(weights, "encoder."), parts["encoder_layers"], parts["encoder_norm"] == "before"
    found = {"placed embeddings": _placed(values, own)}
    x = values["placed embeddings"]
    for layer in range(1, layers + 1):
        end, w = layer_end(layer, layers), under(own, f"blocks.{layer - 1}.")
        r = _norm(x, under(w, "around_attention.norm.")) if before else x
        q, k, v = (
            np.split(r @ w[f"attention.{name}_projection.weight"].T, parts["encoder_heads"], axis=1)
            for name in ("query", "key", "value")
        )
        alphas = [_rows(q_n @ k_n.T / math.sqrt(q_n.shape[1])) for q_n, k_n in zip(q, k, strict=True)]  # a^n
        heads = [alpha @ v_n for alpha, v_n in zip(alphas, v, strict=True)]
        total = x + np.concatenate(heads, axis=1) @ w["attention.output_projection.weight"].T
        heard = values[f"heard states{end}"]
        read = _norm(heard, under(w, "around_feed_forward.norm.")) if before else heard
        inner = np.maximum(0, read @ w["feed_forward.inner.weight"].T + w["feed_forward.inner.bias"])
        thought = heard + inner @ w["feed_forward.outer.weight"].T + w["feed_forward.outer.bias"]
        found |= {
            f"self-attention{end}": np.mean(alphas, axis=0),
            f"heard states{end}": total if before else _norm(total, under(w, "around_attention.norm.")),
            f"layer states{end}": thought if before else _norm(thought, under(w, "around_feed_forward.norm.")),
        }
        x = values[f"layer states{end}"]
    return found | {"source states": _norm(x, under(own, "norm.")) if before else x}


def _placed(values: Values, own: Values) -> Array:
    """W_e sqrt(E) E x_j + p_j."""
    x, places = values["source embeddings"], values["places"].astype(int)
    if places[-1] == 0:  # the end symbol
        places[-1] = places.max() + 1
    x = x * math.sqrt(x.shape[1])
    if "inputs.projection.weight" in own:
        x = x @ own["inputs.projection.weight"].T
    if "inputs.learned.weight" in own:
        return x + own["inputs.learned.weight"][places]
    size = x.shape[1]
    angles = places[:, None] / 10_000 ** (2 * (np.arange(size) // 2) / size)
    return x + np.where(np.arange(size) % 2 == 0, np.sin(angles), np.cos(angles))


def _rows(e: Array) -> Array:
    return np.array([softmax(row) for row in e])


def _norm(x: Array, w: Values) -> Array:
    """Of each row: less its mean, over its deviation, by w and b of PyTorch's layer norm."""
    deviation = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=1, keepdims=True)) / deviation * w["weight"] + w["bias"]
