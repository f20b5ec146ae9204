"""The equations of attention to segments and to the words in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from heedful.tracing.words import ATTENTION, ENCODER, SOURCE, Description, Letters, layer_end, upper

YANG = "Yang et al. 2016"


def encoder_of_segments(parts: Mapping[str, Any], letters: Letters) -> dict[str, Description]:
    """The source states of the encoder `hierarchical`, and what it leaves to the decoder's start."""
    h, j, layers = letters.h, letters.j, parts["encoder_layers"]
    equation = f"{h}_{j} = w_{j} + the state of the segment that {j} is in; w_{j} is read within the segment"
    found = {"source states": Description(ENCODER, f"{h}_{j}", equation, f"{YANG}, section 2.2")}
    what = "the state after the last segment that is read" + ", of each direction" * parts["bidirectional"]
    for layer in range(1, layers + 1):
        end, up = layer_end(layer, layers), upper(layer, layers)
        for kind, letter in (("hidden", h), ("cell", "m")):
            found[f"last {kind}{end}"] = Description(ENCODER, f"{letter}{up}_last", what, "")
    return found


def segments_step(
    parts: Mapping[str, Any], letters: Letters, normal: str, normal_source: str
) -> dict[str, Description]:
    """From the states of segments to the words' weights.

    Args:
        normal: the equation of weights without segments.
        normal_source: where it is printed.
    """
    h, j, a, score = letters.h, letters.j, letters.a, parts["segment_score"]
    formula = normal.partition(" = ")[2]
    where = f"{YANG}, section 2.2"
    found = {
        "segments": (SOURCE, f"g({j})", "the number of the segment that a position is in, as they are read", ""),
        "segment states": (ENCODER, "u_g", f"u_g = mean of {h}_{j} over the {j} in g", ""),
        "segment keys": (ENCODER, "key of u_g", f"what score {score!r} needs of u_g, once a sentence", ""),
        "segment query": (ATTENTION, "query of segments", f"what score {score!r} of segments needs of the query", ""),
        "segment scores": (ATTENTION, "e_tg", f"e_tg = score {score!r} of the query and u_g", ""),
        "segment weights": (ATTENTION, "beta_tg", f"beta_tg = {formula}, of the e_tg", normal_source),
        "weights": (ATTENTION, a, f"{a} = beta_tg times {formula}, within the segment g of {j}", where),
    }
    return {name: Description(*about) for name, about in found.items()}
