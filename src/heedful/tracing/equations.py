"""What each traced quantity is: its letter, its equation, and where that is printed.

Models that ask before the step (and those that do not ask) have the letters of Bahdanau et al. 2015, models that ask
after it those of Luong et al. 2015. The step is t, where the first paper has i.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.tracing.heads import heads_step, layers_step
from heedful.tracing.recurrence import CELL_SOURCE, reading, recurrent_step
from heedful.tracing.segments import encoder_of_segments, segments_step
from heedful.tracing.words import (
    ATTENTION,
    BAHDANAU,
    BAHDANAUS,
    BEFORE,
    ENCODER,
    LUONG,
    LUONGS,
    OUTPUT,
    SOURCE,
    VASWANI,
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
        **(_attention(parts, letters) if "score" in parts else _fixed()),
        **(segments_step(parts, letters, *_normaliser(parts, letters)) if "segment_score" in parts else {}),
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
    """An encoder that there are no equations for."""
    if parts["encoder"] == "hierarchical":
        return encoder_of_segments(parts, letters)
    what = {"self_attention": "layers of self-attention and feed-forward over E x and positions"}
    equation, h = what.get(parts["encoder"], f"encoder {parts['encoder']!r}"), f"{letters.h}_{letters.j}"
    source = f"{VASWANI}, section 3.1" if parts["encoder"] in what else ""
    return {"source states": Description(ENCODER, h, f"{h}: {equation}", source)}


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


# ---------------------------------------------------------------------------------------------- attention


def _attention(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    h, j, e, a = f"{letters.h}_{letters.j}", letters.j, letters.e, letters.a
    top = upper(parts["decoder_layers"], parts["decoder_layers"])
    q = "q_t" if parts["fusion"] == "transformer" else f"s{top}_{{t-1}}" if letters is BAHDANAUS else f"h{top}_t"
    additive = f"{BAHDANAU}, appendix A.1.2" if letters is BAHDANAUS or parts["score"] == "additive" else ""
    luong = f"{LUONG}, section 3.1"
    products = {
        "general": ("", f"W_a {h}", f"{q} . W_a {h}", luong),
        "additive": (f"W_a {q}", f"U_a {h}", f"v_a . tanh(W_a {q} + U_a {h})", additive),
        "concat": (f"W_a [{q}; 0]", f"W_a [0; {h}]", f"v_a . tanh(W_a [{q}; {h}])", luong),
        "location": (f"W_a {q}", "", f"row {j} of W_a {q}", luong),
        "dot": ("", "", f"{q} . {h}", luong),
        "scaled_dot": ("", "", f"{q} . {h} / sqrt(their size)", f"{VASWANI}, section 3.2.1"),
    }
    query, keys, score, source = products.get(parts["score"], ("query", "key", f"score {parts['score']!r}", ""))
    if "b_a" in parts.get("weights", ()):
        keys, score = f"{keys} + b_a", score.replace(h + ")", f"{h} + b_a)")
    prior = parts["scope"] == "local_p"
    before = f"{a} before the prior" if prior else a
    normal, normal_source = _normaliser(parts, letters)
    local = f"{LUONG}, section 3.2"
    if parts.get("heads", 1) > 1:
        return heads_step(parts, letters, score=score, normal=normal, normal_source=normal_source)
    return {
        "keys": Description(ENCODER, keys, f"{keys}, once a sentence", source),
        "query": Description(ATTENTION, query, query, source),
        "centre": Description(ATTENTION, "p_t", f"p_t = S sigmoid(v_p . tanh(W_p {q}))" if prior else "p_t = t", local),
        "scores": Description(ATTENTION, e, f"{e} = {score}", source),
        "window": Description(ATTENTION, "window", _window(parts), local if parts["scope"] != "global" else luong),
        "weights before the prior": Description(ATTENTION, before, normal, normal_source),
        "prior": Description(
            ATTENTION, "prior", f"exp(-({j} - p_t)^2 / (2 sigma^2)), sigma = D / 2, for the place {j}", local
        ),
        "weights": Description(
            ATTENTION, a, f"{a} = {before} * prior" if prior else normal, local if prior else normal_source
        ),
        "context": Description(
            ATTENTION, "c_t", f"c_t = sum_{j} {a} {h}", f"{BAHDANAU}, section 3.1" if letters is BAHDANAUS else luong
        ),
    }


def _window(parts: Mapping[str, Any]) -> str:
    said = []
    if parts["scope"] == "causal":
        said.append("1 for words with place <= t")
    elif parts["scope"] not in ("global", "hierarchical"):
        said.append(f"1 for words with |place - p_t| <= D = {parts.get('window')}")
    if parts["score"] == "location":
        said.append("1 for words that W_a has a row for")
    return " and ".join(said) or "1 where a position may answer"


def _normaliser(parts: Mapping[str, Any], letters: Letters) -> tuple[str, str]:
    a, e, name = letters.a, letters.e, parts["normaliser"]
    temperature = parts["temperature"]
    if temperature != 1.0:
        e = f"({e} / {temperature:g})"
    formulas = {
        "softmax": (f"exp {e} / sum exp {e}", f"{letters.paper}, section 3.1"),
        "sparsemax": (f"max(0, {e} - tau), tau such that they sum to 1", "Martins and Astudillo 2016"),
        "entmax15": (f"max(0, {e} / 2 - tau)^2, tau such that they sum to 1", "Peters et al. 2019"),
    }
    formula, source = formulas.get(name, (f"normaliser {name!r} of {e}", ""))
    where = (
        ""
        if parts["scope"] in ("global", "hierarchical") and parts["score"] != "location"
        else ", inside of the window, 0 outside"
    )
    return f"{a} = {formula}{where}" if parts["scope"] != "local_p" else f"{formula}{where}", source


def _fixed() -> dict[str, Description]:
    return {
        "context": Description(BEFORE, "c", "c = the encoder's last state, at every step", f"{BAHDANAU}, section 2.1")
    }


# ---------------------------------------------------------------------------------------------- output


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
