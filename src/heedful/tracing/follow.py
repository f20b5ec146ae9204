"""From a model, a source and the words to write to a `Trace`."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import torch

from heedful.data.codec import Encoded
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model
from heedful.tracing.collect import collect, parts_of
from heedful.tracing.equations import descriptions
from heedful.tracing.recompute import recompute
from heedful.tracing.trace import Array, Quantity, Trace
from heedful.tracing.weights import letters_of
from heedful.tracing.words import OUTPUT, Description

Precision = Literal["float64", "float32"]
TOLERANCES: dict[Precision, float] = {"float64": 1e-9, "float32": 1e-4}
"""How far a number may be from what float64 arithmetic makes of the others."""


def in_precision(model: Model, dtype: Precision) -> Model:
    """A copy of `model` in another precision, on the CPU, in evaluation mode; `model` is left as it is."""
    return copy.deepcopy(model).to(device="cpu", dtype=getattr(torch, dtype)).eval()


def follow(
    model: Model,
    source: Encoded,
    symbols: Sequence[int],
    *,
    step: int,
    target: Sequence[str],
    vocabulary: Sequence[str],
    forced: bool = True,
    notes: Sequence[str] = (),
    dtype: Precision = "float64",
) -> Trace:
    """Trace step `step` of writing `symbols`, and recompute it.

    Args:
        model: from `in_precision`.
        source: a sentence.
        symbols: the ids of y_1 .. y_T.
        step: from 1 to T.
        target: what to show for each of `symbols`.
        vocabulary: what to show for each target symbol.
        forced: whether the symbols were given.
        notes: what a person should know.
        dtype: the precision of `model`.
    """
    traced, difference = _last_two(model, source, symbols[:step])
    weights = {letter: tensor.detach().numpy() for letter, tensor in letters_of(model).items()}
    parts: dict[str, Any] = {**parts_of(model), "step": step, "weights": tuple(weights)}
    again = recompute(parts, traced[-1], weights, before=traced[-2] if step > 1 else None)
    known = descriptions(parts)
    read = "(start)" if step == 1 else target[step - 2]
    known["previous symbol"] = known["previous symbol"]._replace(equation=f"{read}, the symbol before")
    traced[-1]["written symbol"] = np.array(symbols[step - 1])
    known["written symbol"] = _written(target[step - 1], symbols[step - 1], traced[-1]["probabilities"])
    quantities = []
    for name, value in traced[-1].items():
        description = known.get(name) or Description("Other", name, name, "")
        quantities.append(
            Quantity(
                name=name,
                letter=description.letter,
                equation=description.equation,
                source=description.source,
                section=description.section,
                value=value,
                axes=_axes(name, value, source.labels, vocabulary),
                recomputed=None if name not in again else np.asarray(again[name], np.float64),
            )
        )
    return Trace(
        source=tuple(source.labels),
        target=tuple(target),
        forced=forced,
        step=step,
        dtype=dtype,
        tolerance=TOLERANCES[dtype],
        parts=parts,
        quantities=tuple(quantities),
        weights=weights,
        forced_difference=difference,
        notes=tuple(notes),
    )


def _last_two(model: Model, source: Encoded, symbols: Sequence[int]) -> tuple[list[dict[str, Array]], float]:
    """Of `collect`, this step and the one before as arrays; the others are let go."""
    steps, difference = collect(model, source, symbols)
    return [{name: tensor.numpy() for name, tensor in values.items()} for values in steps[-2:]], difference


def _written(word: str, symbol: int, probabilities: Array) -> Description:
    whose = " (unknown: the unknown symbol's)" if symbol == Vocabulary.UNKNOWN else ""
    return Description(OUTPUT, "y_t", f"{word}, whose probability is {float(probabilities[symbol]):.3g}{whose}", "")


_OVER_SOURCE = {
    "source symbols", "places", "source embeddings", "placed embeddings", "source states", "keys", "scores", "window",
    "weights", "prior", "weights before the prior", "coverage", "earlier weights", "location features", "stops before",
    "segments",
}  # fmt: skip
_STATES = ("forward states", "backward states", "heard states", "layer states")


def _axes(
    name: str, value: Array, source: Sequence[str], vocabulary: Sequence[str]
) -> tuple[tuple[str, ...] | None, ...]:
    first: tuple[str, ...] | None = None
    if name in _OVER_SOURCE or name.startswith(_STATES):
        first = tuple(source)
    elif name.startswith("self-attention"):
        return (tuple(source), tuple(source))
    elif "of heads" in name:
        return (None, tuple(source))
    elif name in ("logits", "probabilities"):
        first = tuple(vocabulary)
    return (first, *(None,) * value.ndim)[: value.ndim]
