"""The equations of attention in heads, and of a decoder without recurrence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.tracing.words import ATTENTION, STEP, VASWANI, Description, Letters, upper


def heads_step(
    parts: Mapping[str, Any], letters: Letters, *, score: str, normal: str, normal_source: str
) -> dict[str, Description]:
    """The scores of head n are of W_q^n q_t and W_k^n h_j, in a space of its own; a table has a row for each head.

    Args:
        score: the equation of a score, of the query and the state themselves.
        normal: that of the weights.
        normal_source: where it is printed.
    """
    e, a, where = letters.e, letters.a, f"{VASWANI}, section 3.2.2"
    bare = normal.partition(" = ")[2] or normal
    prior = parts["scope"] == "local_p"
    before = f"{a}^n before the prior" if prior else f"{a}^n"
    found = {
        "asking state": asking(),
        "scores of heads": (f"{e}^n", f"{e}^n = {score}, of what W_q^n and W_k^n make of the two", where),
        "window of heads": ("window^n", "1 where a position may answer", ""),
        "weights of heads before the prior": (before, f"{before} = {bare}, in each head", normal_source),
        "prior of heads": ("prior^n", "exp(-(distance from p_t)^2 / (2 sigma^2)), in each head", ""),
        "weights of heads": (
            f"{a}^n", f"{a}^n = {before} * prior^n" if prior else f"{a}^n = {bare}, in each head", normal_source
        ),
        "weights": (a, f"{a} = mean over n of {a}^n", ""),
        "context": ("c_t", f"c_t = W_o [sum {a}^1 W_v^1 {letters.h}; sum {a}^2 W_v^2 {letters.h}; ...]", where),
    }  # fmt: skip
    return {
        name: about if isinstance(about, Description) else Description(ATTENTION, *about)
        for name, about in found.items()
    }


def layers_step(parts: Mapping[str, Any]) -> dict[str, Description]:
    """A decoder whose words ask each other."""
    layers = parts["decoder_layers"]
    up, end = upper(layers, layers), f", layer {layers}" if layers > 1 else ""
    new = f"s{up}_t = norm(x + feed_forward(x)), x = what q_t was made of + W_c c_t"
    return {
        "asking state": asking(),
        "new state" + end: Description(STEP, f"s{up}_t", new, f"{VASWANI}, section 3.1"),
    }


def asking() -> Description:
    """The query of a decoder without recurrence."""
    equation = "q_t: what the words y_0 .. y_{t-1}, asked by the last of them in every layer, make of it"
    return Description(ATTENTION, "q_t", equation, f"{VASWANI}, section 3.1")
