"""What each traced quantity is: its letter, its equation, and where that is printed.

Letters are those of Bahdanau et al. 2015, but of Luong et al. 2015 for models that ask after the step. The step is t.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.tracing.asking import attention_step, normaliser_of
from heedful.tracing.heads import layers_step
from heedful.tracing.layers import encoder_of_layers
from heedful.tracing.recurrence import CELL_SOURCE, reading, recurrent_step
from heedful.tracing.segments import encoder_of_segments, segments_step
from heedful.tracing.words import (
    BAHDANAU,
    BAHDANAUS,
    BEFORE,
    ENCODER,
    LUONG,
    LUONGS,
    OUTPUT,
    SOURCE,
    Description,
    Letters,
    layer_end,
    upper,
)


def descriptions(parts: Mapping[str, Any]) -> dict[str, Description]:
    """All quantities that a model of these parts may have, by name."""
    letters = LUONGS if parts["fusion"] == "late" else BAHDANAUS
    return {
        **_source(parts, letters),
        **_before(parts, letters),
        **(attention_step(parts, letters) if "score" in parts else _fixed()),
        **(segments_step(parts, letters, *normaliser_of(parts, letters)) if "segment_score" in parts else {}),
        **(recurrent_step(parts, letters) if "start" in parts else layers_step(parts)),
        **_output(parts, letters),
    }


# ---------------------------------------------------------------------------------------------- encoder


def _source(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    j, found = letters.j, {}
    where = f"{BAHDANAU}, appendix A.2.1" if letters is BAHDANAUS else f"{LUONG}, section 3"
    found["source symbols"] = Description(
        SOURCE, f"x_{j}", "the ids of tags, tokens and end symbol, as they are read", ""
    )
    found["places"] = Description(
        SOURCE, "place", "a word's place in the text as written, from 1, or 0 for what has none", ""
    )
    found["source embeddings"] = Description(ENCODER, f"E x_{j}", f"row x_{j} of E_x", where)
    return found | (_recurrent if parts["encoder"] == "recurrent" else _other)(parts, letters)


def _other(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    """An encoder that is not recurrent at one level."""
    if parts["encoder"] == "hierarchical":
        return encoder_of_segments(parts, letters)
    if parts["encoder"] == "self_attention":
        return encoder_of_layers(parts, letters)
    what = {"pointwise": "layers tanh(W x + b) over E x, of each symbol alone"}
    equation, h = what.get(parts["encoder"], f"encoder {parts['encoder']!r}"), f"{letters.h}_{letters.j}"
    return {"source states": Description(ENCODER, h, f"{h}: {equation}", "")}


def _recurrent(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    h, j, found = letters.h, letters.j, {}
    layers, cell = parts["encoder_layers"], parts["cell"]
    for layer in range(1, layers + 1):
        end, up = layer_end(layer, layers), upper(layer, layers)
        read = f"x = E x_{j}" if layer == 1 else f"x = the states of layer {layer - 1}"
        for way, arrow, side in (("forward", "→", "left"), ("backward", "←", "right")):
            own = f"{h}{arrow if parts['bidirectional'] else ''}{up}"
            text = reading(cell, own, j)
            equation = "; ".join(
                filter(
                    None,
                    [
                        text,
                        read,
                        f"{own}_p{' and m_p' if cell == 'lstm' else ''}: the {side} neighbour's, 0 where there is none",
                    ],
                )
            )
            found[f"{way} states{end}"] = Description(ENCODER, f"{own}_{j}", equation, CELL_SOURCE.get(cell, ""))
        for kind, letter in (("hidden", h), ("cell", "m")):
            what = "the state after the last word that is read" + ", of each direction" * parts["bidirectional"]
            found[f"last {kind}{end}"] = Description(ENCODER, f"{letter}{up}_last", what, "")
    if parts["bidirectional"]:
        up = upper(layers, layers)
        joined = f"{h}_{j} = [{h}→{up}_{j}; {h}←{up}_{j}]"
        found["source states"] = Description(ENCODER, f"{h}_{j}", joined, f"{BAHDANAU}, section 3.2")
    else:
        top = found[f"forward states{layer_end(layers, layers)}"]
        found["source states"] = top._replace(letter=f"{h}_{j}")
    return found


# ---------------------------------------------------------------------------------------------- before the step


def _before(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    s, layers = letters.s, parts["decoder_layers"]
    where = f"{BAHDANAU}, appendix A.2.2" if letters is BAHDANAUS else f"{LUONG}, section 3"
    found = {
        "previous symbol": Description(BEFORE, "y_{t-1}", "the symbol before, or the start symbol", ""),
        "target embedding": Description(BEFORE, "E y_{t-1}", "row y_{t-1} of E_y", where),
    }
    for layer in range(1, layers + 1) if "start" in parts else ():
        end, up = layer_end(layer, layers), upper(layer, layers)
        for name, letter, part in (("previous state", s, "s"), ("previous cell", "m", "m")):
            if parts.get("step", 1) == 1:
                equation, source = _start(parts, letters, f"{letter}{up}_0", part, layer)
            else:
                equation, source = f"{letter}{up}_t of the step before", ""
            found[name + end] = Description(BEFORE, f"{letter}{up}_{{t-1}}", equation, source)
    fed = "h~_0 = 0" if parts.get("step", 1) == 1 else "h~_t of the step before"
    found["previous attentional state"] = Description(BEFORE, "h~_{t-1}", fed, f"{LUONG}, section 3.3")
    return found


def _start(parts: Mapping[str, Any], letters: Letters, own: str, part: str, layer: int) -> tuple[str, str]:
    h, j, last = letters.h, letters.j, letters.h if part == "s" else "m"
    top = upper(parts["encoder_layers"], parts["encoder_layers"])
    formulas = {
        "zero": ("0", ""),
        "last": (f"{last}{upper(layer, parts['encoder_layers'])}_last", f"{LUONG}, section 3"),
        "mean": (f"mean over {j} of {h}_{j}", ""),
        "learned_last": (f"tanh(W_{part} {last}{top}_last + b_{part})", ""),
        "learned_mean": (f"tanh(W_{part} mean_{j}({h}_{j}) + b_{part})", ""),
        "backward_first": (f"tanh(W_{part} {h}←{top}_1 + b_{part})", f"{BAHDANAU}, appendix A.2.2"),
    }
    formula, source = formulas.get(parts["start"], (f"start {parts['start']!r}", ""))
    return f"{own} = {formula}", source


# ---------------------------------------------------------------------------------------------- output


def _fixed() -> dict[str, Description]:
    return {
        "context": Description(BEFORE, "c", "c = the encoder's last state, at every step", f"{BAHDANAU}, section 2.1")
    }


def _output(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    top = upper(parts["decoder_layers"], parts["decoder_layers"])
    state, old = f"{letters.s}{top}_t", f"{letters.s}{top}_{{t-1}}"
    c = (
        ""
        if parts["fusion"] == "none" and not parts.get("every_step", True)
        else "c"
        if parts["fusion"] == "none"
        else "c_t"
    )
    gated = parts.get("combine") == "gate"
    combine = f"h~_t = g_t * tanh(W_c c_t) + (1 - g_t) * {state}" if gated else f"h~_t = tanh(W_c [c_t; {state}])"
    readout, equation, source = {
        "maxout": ("t_t", "t_t = [max(t~_{t,2j-1}, t~_{t,2j})]_j", f"{BAHDANAU}, appendix A.2.2"),
        "state_context": ("readout", f"[{state}; {c}]" if c else state, ""),
        "state": ("readout", state, ""),
    }.get(parts["readout"], ("readout", f"readout {parts['readout']!r}", ""))
    features = {"maxout": "t_t", "attentional": "h~_t"}.get(parts["readout"], "readout")
    W = "W_s" if letters is LUONGS else "W_o"
    names, bias = parts.get("weights", ()), " + b_w" if "b_w" in parts.get("weights", ()) else ""
    read = f"P_o {features}" if "P_o" in names else features
    raw = f"t~_t = U_o {old} + V_o E y_{{t-1}}" + (f" + C_o {c}" if c else "") + " + b_o"
    where = f"{LUONG}, section 3" if letters is LUONGS else f"{BAHDANAU}, appendix A.2.2"
    return {
        "fusion gate": Description(OUTPUT, "g_t", f"g_t = sigmoid(W_g [c_t; {state}])", "heedful's own"),
        "attentional state": Description(OUTPUT, "h~_t", combine, "heedful's own" if gated else f"{LUONG}, section 3"),
        "readout before maxout": Description(OUTPUT, "t~_t", raw, f"{BAHDANAU}, appendix A.2.2"),
        "readout": Description(OUTPUT, readout, equation, source),
        "projected readout": Description(OUTPUT, "P_o t", f"P_o {features}", ""),
        "logits": Description(OUTPUT, f"{W} {read}{bias}", f"{W} {read}{bias}", where),
        "probabilities": Description(OUTPUT, "p(y_t)", f"p(y_t) = softmax({W} {read}{bias})", where),
    }
