"""Models in which every part occurs, for tests of search and decoding."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from grid import unused
from heedful.model import encoders, fusions
from model.cases import ATTENTIONS, CELLS, FUSIONS, name_of

ASKING: dict[str, Any] = {"encoder": {"name": "self_attention", "heads": 2}, "encoder_size": 14}
TRANSFORMER: dict[str, Any] = {"fusion": {"name": "transformer", "heads": 7}, "decoder_size": 14}
CONFIGURATIONS: list[dict[str, Any]] = [
    {**FUSIONS["none"], "cell": "gru", "start": "mean", "decoder_size": 14},
    {**FUSIONS["none"], "cell": "lstm", "decoder_layers": 3, "bidirectional": False},
    {**FUSIONS["none_start_only"], "cell": "paper_gru", "decoder_layers": 2, "encoder_layers": 2},
    {**FUSIONS["early"], "cell": "paper_gru", "start": "backward_first", "readout": "maxout"},
    {**FUSIONS["early"], "cell": "lstm", "decoder_layers": 2, "score": "general", "scope": "local_m"},
    {**FUSIONS["early"], "cell": "gru", "decoder_layers": 3, "score": "location", "normaliser": "entmax15"},
    {**FUSIONS["early"], "cell": "lstm", "decoder_layers": 3, "score": "concat", "scope": "local_p", "start": "zero"},
    {**FUSIONS["late"], "cell": "gru", "decoder_layers": 2, "score": "additive", "normaliser": "sparsemax"},
    {**FUSIONS["late"], "cell": "paper_gru", "score": {"name": "location", "max_positions": 5}},
    {**FUSIONS["late_feeding"], "cell": "lstm", "decoder_layers": 3, "score": "general", "scope": "local_p"},
    {**FUSIONS["late_feeding"], "cell": "gru", "decoder_layers": 2, "score": "concat", "scope": "local_m"},
    {**FUSIONS["late_gate"], "cell": "lstm", "decoder_layers": 2, "score": "scaled_dot", "decoder_size": 14},
    {**FUSIONS["late_gate_feeding"], "cell": "paper_gru", "score": "dot", "decoder_size": 14, "tied_embeddings": True},
    {**FUSIONS["late_wide"], "cell": "lstm", "decoder_layers": 3, "start": "learned_mean", "zero_start": True},
    {**FUSIONS["early"], "cell": "gru", "heads": 11, "scope": "causal", "readout": "state", **ASKING},
    {**FUSIONS["late_feeding"], "cell": "lstm", "heads": 2, "decoder_size": 14, "scope": "local_p", "score": "general"},
    {
        "fusion": {"name": "transformer", "heads": 7, "norm": "after", "positions": "learned"},
        "decoder_size": 14,
        "decoder_layers": 2,
        "cell": "lstm",
        "scope": "local_p",
    },
    {**TRANSFORMER, "cell": "gru", "heads": 2, "score": "scaled_dot"},
    {
        **FUSIONS["late"],
        "cell": "gru",
        "start": "last",
        "decoder_size": 14,
        "scope": "local_p",
        "normaliser": "entmax15",
    },
]
"""A selection for every day: each registered part is in one of them at least."""


def _rest() -> Iterator[dict[str, Any]]:
    """Registered parts that are in none of them."""
    for name in unused(fusions.names(), [options["fusion"] for options in CONFIGURATIONS]):
        yield {"fusion": name, "cell": "gru"}
    for name in unused(encoders.names(), ["recurrent"]):
        yield {**FUSIONS["early"], "cell": "gru", "start": "learned_mean", "encoder": name}
    for kind in ("score", "scope", "normaliser"):
        for name in unused([name_of({kind: options[kind]}) for options in ATTENTIONS], _used(kind)):
            attention = next(options for options in ATTENTIONS if name_of({kind: options[kind]}) == name)
            yield {**FUSIONS["early"], "cell": "gru", **attention}


def _used(kind: str) -> list[Any]:
    return [options.get(kind, usual) for options in CONFIGURATIONS for usual in ("additive", "global", "softmax")]


CONFIGURATIONS += _rest()
NAMES = [f"{n}-{options['cell']}-{options.get('decoder_layers', 1)}" for n, options in enumerate(CONFIGURATIONS)]
every = pytest.mark.parametrize("number", range(len(CONFIGURATIONS)), ids=NAMES)

PRODUCT: list[dict[str, Any]] = [
    {**fusion, **attention, "cell": cell, "decoder_layers": 1 + number % 3}
    for number, (fusion, attention, cell) in enumerate(
        (fusion, attention, cell)
        for name, fusion in FUSIONS.items()
        if name != "transformer"  # it has no cell, and random parameters seldom make its answers differ
        for attention in (ATTENTIONS if not name.startswith("none") else [{}])
        for cell in CELLS
    )
]
"""Every cell in every fusion with every attention; 1 to 3 decoder layers in turn."""

product = pytest.mark.parametrize("number", range(len(PRODUCT)), ids=map(name_of, PRODUCT))
