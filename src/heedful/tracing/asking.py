"""The equations of attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.tracing.heads import heads_step
from heedful.tracing.words import (
    ATTENTION,
    BAHDANAU,
    BAHDANAUS,
    ENCODER,
    KATHAROPOULOS,
    LUONG,
    VASWANI,
    Description,
    Letters,
    upper,
)


def _score(parts: Mapping[str, Any], letters: Letters, q: str, h: str) -> tuple[str, str, str, str]:
    """What stands for query, key and score, and where it is printed."""
    additive = f"{BAHDANAU}, appendix A.1.2" if letters is BAHDANAUS or parts["score"] == "additive" else ""
    luong = f"{LUONG}, section 3.1"
    exponential = parts.get("feature_map") == "exp"
    products = {
        "general": ("", f"W_a {h}", f"{q} . W_a {h}", luong),
        "additive": (f"W_a {q}", f"U_a {h}", f"v_a . tanh(W_a {q} + U_a {h})", additive),
        "concat": (f"W_a [{q}; 0]", f"W_a [0; {h}]", f"v_a . tanh(W_a [{q}; {h}])", luong),
        "location": (f"W_a {q}", "", f"row {letters.j} of W_a {q}", luong),
        "linear": (
            f"W_q {q}",
            f"W_k {h}" if exponential else f"phi(W_k {h})",
            f"log(phi(W_q {q}) . phi(W_k {h})), phi(x) = {'exp(x)' if exponential else 'elu(x) + 1'}",
            f"{KATHAROPOULOS}; Zhang et al. 2024" if exponential else KATHAROPOULOS,
        ),
        "coverage": (
            f"W_a {q}",
            f"U_a {h}",
            f"v_a . tanh(W_a {q} + U_a {h} + b_a + w_c cov_t{letters.j})",
            "See et al. 2017, section 2.3",
        ),
        "location_sensitive": (
            f"W_a {q}",
            f"U_a {h}",
            f"v_a . tanh(W_a {q} + U_a {h} + b_a + U_f f_t{letters.j})",
            "Chorowski et al. 2015, section 2.1",
        ),
        "dot": ("", "", f"{q} . {h}", luong),
        "scaled_dot": ("", "", f"{q} . {h} / sqrt(their size)", f"{VASWANI}, section 3.2.1"),
    }
    query, keys, score, source = products.get(parts["score"], ("query", "key", f"score {parts['score']!r}", ""))
    if "b_a" in parts.get("weights", ()):
        keys, score = f"{keys} + b_a", score.replace(h + ")", f"{h} + b_a)")
    return query, keys, score, source


def attention_step(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    """From the query to the context."""
    h, j, e, a = f"{letters.h}_{letters.j}", letters.j, letters.e, letters.a
    top = upper(parts["decoder_layers"], parts["decoder_layers"])
    q = "q_t" if parts["fusion"] == "transformer" else f"s{top}_{{t-1}}" if letters is BAHDANAUS else f"h{top}_t"
    query, keys, score, source = _score(parts, letters, q, h)
    luong = f"{LUONG}, section 3.1"
    prior = parts["scope"] == "local_p"
    before = f"{a} before the prior" if prior else a
    normal, normal_source = normaliser_of(parts, letters)
    local = f"{LUONG}, section 3.2"
    if parts.get("heads", 1) > 1:
        return heads_step(parts, letters, score=score, normal=normal, normal_source=normal_source)
    return {
        "keys": Description(ENCODER, keys, f"{keys}, once a sentence", source),
        "query": Description(ATTENTION, query, query, source),
        **_remembered(parts, j, a),
        "centre": Description(ATTENTION, "p_t", _centre(parts, q), local),
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


def _remembered(parts: Mapping[str, Any], j: str, a: str) -> dict[str, Description]:
    what = {"last": "of step t - 1", "sum": "summed over all steps before", "both": "of step t - 1, and summed"}
    seen = what.get(parts.get("looks_at", ""), "")
    raffel = "Raffel et al. 2017, section 2"
    return {
        "coverage": Description(
            ATTENTION, f"cov_t{j}", f"cov_t{j} = the sum of {a} over all steps before", "See et al. 2017, section 2.3"
        ),
        "earlier weights": Description(ATTENTION, f"past_t{j}", f"{a} {seen}; 0 before the first step", ""),
        "location features": Description(
            ATTENTION, f"f_t{j}", "f_t = F * past_t, over the places of the text", "Chorowski et al. 2015, section 2.1"
        ),
        "last stop": Description(
            ATTENTION,
            "stop_{t-1}",
            "where the walk goes on, from 1, what has no place last; behind all, it ended",
            raffel,
        ),
        "stops before": Description(ATTENTION, "stops_{t-1}", "the probability that step t - 1 stopped there", raffel),
    }


def _centre(parts: Mapping[str, Any], q: str) -> str:
    if parts["scope"] == "local_p":
        return f"p_t = S sigmoid(v_p . tanh(W_p {q}))"
    if parts.get("around") == "last_peak":
        return f"p_t = the place of the largest weight of the step before, p_1 = w + 1 = {parts['width'] + 1}"
    slope = parts.get("slope", 1)
    return "p_t = t" if slope == 1 else f"p_t = {slope:g} t" + (" rounded" if parts["scope"] != "window" else "")


def _window(parts: Mapping[str, Any]) -> str:
    said = []
    if parts["scope"] == "causal":
        said.append("1 for words with place <= t")
    elif parts["scope"] == "block":
        near = f"floor((place - 1) / w) and floor((p_t - 1) / w) <= {parts['neighbours']} apart"
        said.append(f"1 for words with {near}, w = {parts['width']}")
    elif parts["scope"] == "strided":
        near = f"|place - p_t| <= w = {parts['width']} or place - p_t divisible by {parts['stride']}"
        said.append(f"1 for words with {near}")
    elif parts["scope"] not in ("global", "hierarchical"):
        letter, width = ("w", parts["width"]) if parts["scope"] == "window" else ("D", parts.get("window"))
        said.append(f"1 for words with |place - p_t| <= {letter} = {width}")
    if parts["score"] == "location":
        said.append("1 for words that W_a has a row for")
    return " and ".join(said) or "1 where a position may answer"


def normaliser_of(parts: Mapping[str, Any], letters: Letters) -> tuple[str, str]:
    """The equation of weights, and where it is printed."""
    a, e, name = letters.a, letters.e, parts["normaliser"]
    temperature = parts["temperature"]
    if temperature != 1.0:
        e = f"({e} / {temperature:g})"
    formulas = {
        "softmax": (f"exp {e} / sum exp {e}", f"{letters.paper}, section 3.1"),
        "sparsemax": (f"max(0, {e} - tau), tau such that they sum to 1", "Martins and Astudillo 2016"),
        "entmax15": (f"max(0, {e} / 2 - tau)^2, tau such that they sum to 1", "Peters et al. 2019"),
    }
    if name == "monotonic":
        return f"{a} = {_monotonic(parts, e)}", "Raffel et al. 2017, section 2"
    formula, source = formulas.get(name, (f"normaliser {name!r} of {e}", ""))
    where = (
        ""
        if parts["scope"] in ("global", "hierarchical") and parts["score"] != "location"
        else ", inside of the window, 0 outside"
    )
    return f"{a} = {formula}{where}" if parts["scope"] != "local_p" else f"{formula}{where}", source


def _monotonic(parts: Mapping[str, Any], e: str) -> str:
    walk = f"1 at the first place from stop_{{t-1}} on with {e} + r > 0"
    if parts["soft"]:
        walk = f"p q, p = sigmoid({e} + r), q = (1 - p) q of the place before + stops_{{t-1}}"
    return walk + (f"; spread by exp {e} over the {parts['chunk']} places that end there" if parts["chunk"] > 1 else "")
