"""A decoding step once more, with NumPy alone: the papers' formulas, for one sentence, without masks or batches.

Written apart from the model, to be compared with it: each quantity in float64 from the traced numbers that its formula
names, and weights, so that a fault shows where it is. Names are those of a `heedful.tracing.Trace`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heedful.tracing.formulas import (
    NORMALISERS,
    Array,
    gates_of,
    new_state,
    sigmoid,
    softmax,
    under,
    weights_of_heads,
)
from heedful.tracing.layers import layers_again
from heedful.tracing.rated import score_of, segments_of
from heedful.tracing.remembering import earlier, monotonic
from heedful.tracing.windows import scope_of

Values = Mapping[str, Array]
Parts = Mapping[str, Any]


def recompute(parts: Parts, values: Values, weights: Values, *, before: Values | None = None) -> dict[str, Array]:
    """Every quantity of a step that there is a formula for, by name.

    Args:
        parts: which part does what, by their registered names, and their settings: see `Trace.parts`.
        values: the traced quantities of the step.
        weights: the model's parameters by their letters: see `Trace.weights`.
        before: those of the step before; None for the first step, where the decoder's start is recomputed instead.
    """
    values = {name: np.asarray(value, np.float64) for name, value in values.items()}
    weights = {name: np.asarray(value, np.float64) for name, value in weights.items()}
    found = _embeddings(values, weights) | _encoder(parts, values, weights)
    if before is None:
        found |= _start(parts, values, weights)
    else:
        before = {name: np.asarray(value, np.float64) for name, value in before.items()}
        found |= _carried(parts, before)
    if "weights" in values:
        found |= earlier(parts, values, before) | _attention(parts, values, weights)
    elif "context" in values:
        found["context"] = values["last hidden" + _layer(parts["encoder_layers"], parts["encoder_layers"])]  # c = h_Tx
    found |= _decoder(parts, values, weights) | _late(parts, values, weights)
    return found | _readout(parts, values, weights) | _output(parts, values, weights)


def _layer(layer: int, layers: int) -> str:
    return f", layer {layer}" if layers > 1 else ""


def _embeddings(values: Values, weights: Values) -> dict[str, Array]:
    x, y = values["source symbols"].astype(int), int(values["previous symbol"])
    return {"source embeddings": weights["E_x"][x], "target embedding": weights["E_y"][y]}


# ---------------------------------------------------------------------------------------------- encoder


def _encoder(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    """h_j of every layer, word by word, and the states after the last word that is read."""
    if parts["encoder"] != "recurrent":
        return layers_again(parts, values, weights) if parts["encoder"] == "self_attention" else {}
    layers, found = parts["encoder_layers"], {}
    inputs = values["source embeddings"]
    for layer in range(1, layers + 1):
        end = _layer(layer, layers)
        ways = ["forward", "backward"] if parts["bidirectional"] else ["forward"]
        runs = []
        for way in ways:
            own = under(weights, f"encoder.{layer}.{way}.")
            run = _read(parts["cell"], own, inputs if way == "forward" else inputs[::-1])
            if run is None:
                return found
            runs.append(run)
        states = [runs[0][0], *(states[::-1] for states, _, _ in runs[1:])]
        if parts["bidirectional"]:
            found |= {f"{way} states{end}": state for way, state in zip(ways, states, strict=True)}
            traced = [values[f"{way} states{end}"] for way in ways]
            found["source states"] = np.concatenate(traced, axis=1)  # h_j = [h→_j; h←_j], of the top layer in the end
        else:
            found["source states" if layer == layers else f"forward states{end}"] = states[0]
        found[f"last hidden{end}"] = np.concatenate([hidden for _, hidden, _ in runs])
        found[f"last cell{end}"] = np.concatenate([cell for _, _, cell in runs])
        if layer < layers:  # the next layer reads the traced states of this one
            inputs = np.concatenate([values[f"{way} states{end}"] for way in ways], axis=1)
    return found


def _read(cell: str, weights: Values, inputs: Array) -> tuple[Array, Array, Array] | None:
    """One layer in one direction: all states, the last one, the last cell (of an LSTM)."""
    size = len(next(iter(weights.values()))) if weights else 0
    hidden, memory, states = np.zeros(size), np.zeros(size), []
    for x in inputs:
        gates = gates_of(cell, weights, {"W": x}, hidden)
        if gates is None:
            return None
        hidden, memory = new_state(cell, gates, hidden, memory)
        states.append(hidden)
    return np.array(states), hidden, memory


# ---------------------------------------------------------------------------------------------- start


def _start(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    """s_0 of every layer, and an LSTM's cell beside it."""
    layers, found = parts["decoder_layers"], {}
    for layer in range(1, layers + 1):
        end = _layer(layer, layers)
        for kind, name in (("hidden", "previous state"), ("cell", "previous cell")):
            if name + end in values:
                found[name + end] = _start_of(parts, layer, kind, values, weights, len(values[name + end]))
    if "previous attentional state" in values:
        found["previous attentional state"] = np.zeros(len(values["previous attentional state"]))  # h~_0 = 0
    return {name: value for name, value in found.items() if value is not None}


def _start_of(parts: Parts, layer: int, kind: str, values: Values, weights: Values, size: int) -> Array | None:
    part = {"hidden": "s", "cell": "m"}[kind]
    W_s, b_s = (weights.get(f"start.{layer}.{letter}_{part}") for letter in ("W", "b"))
    start, mean = parts["start"], values["source states"].mean(0)
    if start == "zero":
        return np.zeros(size)
    if start == "mean":
        return mean
    if start == "last":
        return values[f"last {kind}" + _layer(layer, parts["encoder_layers"])]
    if W_s is None or b_s is None:
        return None
    if start == "learned_last":
        return np.tanh(W_s @ values[f"last {kind}" + _layer(parts["encoder_layers"], parts["encoder_layers"])] + b_s)
    if start == "learned_mean":
        return np.tanh(W_s @ mean + b_s)
    if start == "backward_first":  # s_0 = tanh(W_s h<-_1 + b_s)
        backward = values["backward states" + _layer(parts["encoder_layers"], parts["encoder_layers"])]
        return np.tanh(W_s @ backward[0] + b_s)
    return None


def _carried(parts: Parts, before: Values) -> dict[str, Array]:
    """What the step before left behind."""
    left = {"previous state": "new state", "previous cell": "new cell"}
    found = {}
    for layer in range(1, parts["decoder_layers"] + 1):
        end = _layer(layer, parts["decoder_layers"])
        found |= {now + end: before[then + end] for now, then in left.items() if then + end in before}
    if "attentional state" in before:
        found["previous attentional state"] = before["attentional state"]
    return found


# ---------------------------------------------------------------------------------------------- attention


def _attention(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    """From the query to c_t: s_{t-1} asks in early fusion, h_t in late."""
    if parts["heads"] > 1:
        return weights_of_heads(parts, values)
    end = _layer(parts["decoder_layers"], parts["decoder_layers"])
    asks = {"early": f"previous state{end}", "transformer": "asking state"}
    s = values[asks.get(parts["fusion"], f"new state{end}")]
    h, places = values["source states"], values["places"]
    found = score_of(parts, s, h, values, weights) | scope_of(parts, s, places, values, weights)
    open_ = values["window"] > 0 if "window" in values else np.ones(len(h), bool)
    name = "weights before the prior" if "prior" in values else "weights"
    normalise = NORMALISERS.get(parts["normaliser"])
    if "segments" in values:
        found |= segments_of(parts, s, h, values, weights, open_)
    elif parts["normaliser"] == "monotonic":
        found[name] = monotonic(parts, values, weights, open_)
    elif normalise is not None:
        found[name] = np.zeros(len(h))
        found[name][open_] = normalise(values["scores"][open_] / parts["temperature"]) if open_.any() else 0
    if "prior" in values:
        found["weights"] = values["weights before the prior"] * values["prior"]
    found["context"] = sum(
        (alpha_j * h_j for alpha_j, h_j in zip(values["weights"], h, strict=True)), np.zeros(h[0].shape)
    )
    return found


# ---------------------------------------------------------------------------------------------- decoder, readout


def _decoder(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    """The gates of each layer from its input, and its new state from the traced gates."""
    if "start" not in parts:
        return {}
    layers, found = parts["decoder_layers"], {}
    inputs = {"W": values["target embedding"]}
    if parts["fusion"] in ("early", "none") and "context" in values:
        inputs["C"] = values["context"]
    if "previous attentional state" in values:
        inputs["C"] = values["previous attentional state"]  # input feeding: [E y_{t-1}; h~_{t-1}]
    for layer in range(1, layers + 1):
        end = _layer(layer, layers)
        own, s = under(weights, f"decoder.{layer}."), values[f"previous state{end}"]
        known = {name.removesuffix(end): value for name, value in values.items() if name.endswith(end)}
        gates = gates_of(parts["cell"], own, inputs, s, known)
        if gates is not None:
            m = values.get(f"previous cell{end}", s)
            hidden, memory = new_state(parts["cell"], known, s, m)
            found |= {f"{name}{end}": value for name, value in gates.items()} | {f"new state{end}": hidden}
            found[f"new cell{end}"] = memory
        inputs = {"W": values[f"new state{end}"]}
    return found


def _late(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    """h~_t of c_t and h_t."""
    if "attentional state" not in values:
        return {}
    c, h = values["context"], values["new state" + _layer(parts["decoder_layers"], parts["decoder_layers"])]
    W_c, W_g = weights["W_c"], weights.get("W_g")
    if W_g is None:
        return {"attentional state": np.tanh(W_c @ np.concatenate([c, h]))}
    g = values["fusion gate"]
    return {
        "fusion gate": sigmoid(W_g @ np.concatenate([c, h])),
        "attentional state": g * np.tanh(W_c @ c) + (1 - g) * h,
    }


def _readout(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    end = _layer(parts["decoder_layers"], parts["decoder_layers"])
    c = values.get("context", np.zeros(0))
    if parts["readout"] == "state_context":
        return {"readout": np.concatenate([values[f"new state{end}"], c])}
    if parts["readout"] == "state":
        return {"readout": values[f"new state{end}"]}
    if parts["readout"] == "maxout":
        U_o, V_o, C_o, b_o = (weights[name] for name in ("U_o", "V_o", "C_o", "b_o"))
        t_ = U_o @ values[f"previous state{end}"] + V_o @ values["target embedding"] + C_o @ c + b_o
        pairs = values["readout before maxout"]
        return {"readout before maxout": t_, "readout": np.maximum(pairs[0::2], pairs[1::2])}
    return {}


def _output(parts: Parts, values: Values, weights: Values) -> dict[str, Array]:
    t, found = values["readout"] if "readout" in values else values["attentional state"], {}
    if "P_o" in weights:
        found["projected readout"] = weights["P_o"] @ t
        t = values["projected readout"]
    W_o = weights["W_s"] if "W_s" in weights else weights["W_o"]
    found["logits"] = W_o @ t + weights.get("b_w", 0.0)
    return found | {"probabilities": softmax(values["logits"])}
