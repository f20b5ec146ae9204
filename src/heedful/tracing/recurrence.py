"""The equations of the recurrent layers, in encoder and decoder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.tracing.words import BAHDANAU, LUONGS, PYTORCH, STEP, Description, Letters, layer_end, upper

_READ = {
    "paper_gru": "{h}_{j} = (1 - z_{j}) * {h}_p + z_{j} * {h}~_{j}; {h}~_{j} = tanh(W x + U (r_{j} * {h}_p) + b); "
    "z_{j} = sigmoid(W_z x + U_z {h}_p + b_z); r_{j} = sigmoid(W_r x + U_r {h}_p + b_r)",
    "gru": "{h}_{j} = (1 - z_{j}) * n_{j} + z_{j} * {h}_p; n_{j} = tanh(W_in x + b_in + r_{j} * (W_hn {h}_p + b_hn)); "
    "z_{j} = sigmoid(W_iz x + b_iz + W_hz {h}_p + b_hz); r_{j} = sigmoid(W_ir x + b_ir + W_hr {h}_p + b_hr)",
    "lstm": "{h}_{j} = o_{j} * tanh(m_{j}); m_{j} = f_{j} * m_p + i_{j} * g_{j}; "
    "i_{j} = sigmoid(W_ii x + b_ii + W_hi {h}_p + b_hi); f_{j} = sigmoid(W_if x + b_if + W_hf {h}_p + b_hf); "
    "g_{j} = tanh(W_ig x + b_ig + W_hg {h}_p + b_hg); o_{j} = sigmoid(W_io x + b_io + W_ho {h}_p + b_ho)",
}
CELL_SOURCE = {"paper_gru": f"{BAHDANAU}, appendix A", "gru": f"{PYTORCH} of GRU", "lstm": f"{PYTORCH} of LSTM"}


def reading(cell: str, h: str, j: str) -> str:
    """How a layer of the encoder, whose states are `h`, reads the source; empty for a cell without known equations."""
    return _READ.get(cell, "").format(h=h, j=j)


def recurrent_step(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    """Gates and new states of every layer of the decoder."""
    found, layers = {}, parts["decoder_layers"]
    for layer in range(1, layers + 1):
        up, s = upper(layer, layers), letters.s
        now, old = f"{s}{up}_t", f"{s}{up}_{{t-1}}"
        new = "n" if letters is LUONGS else f"{s}~"  # Luong's h~ is another thing
        x = "E y_{t-1}" if layer == 1 else f"{s}^{layer - 1}_t"
        second = _second(parts) if layer == 1 else ""
        gates = (
            _paper(up, new, x, second, old)
            if parts["cell"] == "paper_gru"
            else _library(parts["cell"], up, s, x, second)
        )
        source = CELL_SOURCE.get(parts["cell"], "").replace("appendix A", "appendix A.2.2")
        after = {
            "paper_gru": f"{now} = (1 - z{up}_t) * {old} + z{up}_t * {new}{up}_t",
            "gru": f"{now} = (1 - z{up}_t) * n{up}_t + z{up}_t * {old}",
            "lstm": f"{now} = o{up}_t * tanh(m{up}_t)",
        }.get(parts["cell"], f"{now}: cell {parts['cell']!r}")
        gates["new cell"] = (f"m{up}_t", f"m{up}_t = f{up}_t * m{up}_{{t-1}} + i{up}_t * g{up}_t")
        gates["new state"] = (now, after)
        for name, (letter, equation) in gates.items():
            found[name + layer_end(layer, layers)] = Description(STEP, letter, equation, source)
    return found


def _second(parts: Mapping[str, Any]) -> str:
    """What the first layer reads beside E y_{t-1}."""
    if parts["fusion"] == "late":
        return "h~_{t-1}" if parts.get("input_feeding") else ""
    return {"early": "c_t", "none": "c" if parts.get("every_step", True) else ""}.get(parts["fusion"], "")


def _paper(up: str, new: str, x: str, second: str, old: str) -> dict[str, tuple[str, str]]:
    """Bahdanau et al. 2015, appendix A.2.2, with the biases that the paper leaves out."""

    def linear(gate: str, state: str) -> str:
        context = f" + C{gate} {second}" if second else ""
        return f"W{gate} {x} + U{gate} {state}{context} + b{gate}"

    return {
        "update gate": (f"z{up}_t", f"z{up}_t = sigmoid({linear('_z', old)})"),
        "reset gate": (f"r{up}_t", f"r{up}_t = sigmoid({linear('_r', old)})"),
        "candidate state": (f"{new}{up}_t", f"{new}{up}_t = tanh({linear('', f'(r{up}_t * {old})')})"),
    }


def _library(cell: str, up: str, s: str, x: str, second: str) -> dict[str, tuple[str, str]]:
    """PyTorch's letters: W_i* for what is read, W_h* for the state before, a bias each."""
    read, old = f"[{x}; {second}]" if second else x, f"{s}{up}_{{t-1}}"

    def linear(gate: str) -> str:
        return f"W_i{gate} {read} + b_i{gate} + W_h{gate} {old} + b_h{gate}"

    if cell == "gru":
        new = f"n{up}_t = tanh(W_in {read} + b_in + r{up}_t * (W_hn {old} + b_hn))"
        return {
            "reset gate": (f"r{up}_t", f"r{up}_t = sigmoid({linear('r')})"),
            "update gate": (f"z{up}_t", f"z{up}_t = sigmoid({linear('z')})"),
            "candidate state": (f"n{up}_t", new),
        }
    names = {"input gate": "i", "forget gate": "f", "candidate cell": "g", "output gate": "o"}
    return {
        name: (f"{gate}{up}_t", f"{gate}{up}_t = {'tanh' if gate == 'g' else 'sigmoid'}({linear(gate)})")
        for name, gate in names.items()
    }
