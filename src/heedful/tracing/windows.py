"""Which positions may answer at a step, and how much each counts, as the scopes' formulas stand in print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from heedful.tracing.formulas import Array, Values, sigmoid

Parts = Mapping[str, Any]


def scope_of(parts: Parts, s: Array, places: Array, values: Values, weights: Values) -> dict[str, Array]:
    """The centre p_t, who may answer, and the Gaussian prior of local_p."""
    scope, found = parts["scope"], {}
    words = places > 0
    reach = words & (places <= len(weights["W_a"])) if parts["score"] == "location" else np.ones(len(places), bool)
    if scope in ("global", "hierarchical"):
        return {"window": reach.astype(float)}
    if scope == "causal":
        return {"window": (reach & words & (places <= parts["step"])).astype(float)}
    if scope in ("window", "block", "strided"):
        return _on_the_diagonal(parts, places, values, reach)
    if scope not in ("local_m", "local_p"):
        return found
    D, p_t = parts["window"], values["centre"]
    if scope == "local_m":
        found["centre"] = np.array(float(parts["step"]))  # p_t = t
    else:
        W_p, v_p = weights["W_p"], weights["v_p"]
        found["centre"] = words.sum() * sigmoid(v_p @ np.tanh(W_p @ s))  # p_t = S sigmoid(v_p . tanh(W_p s))
        sigma = D / 2
        found["prior"] = np.exp(-((places - p_t) ** 2) / (2 * sigma**2))
    return found | {"window": (reach & words & (abs(places - p_t) <= D)).astype(float)}


def _on_the_diagonal(parts: Parts, places: Array, values: Values, reach: Any) -> dict[str, Array]:
    """p_t = slope t, and who may answer there."""
    scope, w, p_t = parts["scope"], parts["width"], values["centre"]
    on = parts["slope"] * parts["step"]
    near = abs(places - p_t) <= w
    if scope == "block":
        near = abs((places - 1) // w - (p_t - 1) // w) <= parts["neighbours"]
    elif scope == "strided":
        near |= (places - p_t) % parts["stride"] == 0
    found = {"window": ((places > 0) & near & reach).astype(float)}
    if parts.get("around") != "last_peak":
        found["centre"] = np.array(float(on) if scope == "window" else np.floor(on + 0.5))
    return found
