"""One decoding step in numbers: what `heedful.trace` returns."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

VERSION = 1
"""Of the JSON form."""


@dataclass(frozen=True)
class Quantity:
    """One quantity of a step.

    Attributes:
        name: what it is, in words; the same in every model: "weights".
        letter: the paper's: "alpha_tj".
        equation: how it comes about, in the paper's letters, as text.
        source: where that is printed; empty where heedful follows nobody.
        section: which stage of the model it belongs to: "Attention".
        value: the model's own numbers; without a batch axis.
        axes: for each axis of the value its labels (source tokens, target symbols), or None.
        recomputed: the same from its equation, by NumPy alone; None where there is no formula for it.
    """

    name: str
    letter: str
    equation: str
    source: str
    section: str
    value: Array
    axes: tuple[tuple[str, ...] | None, ...]
    recomputed: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of each axis; () for a single number."""
        return self.value.shape

    @property
    def difference(self) -> float | None:
        """The largest absolute difference between `value` and `recomputed`; None where that is None."""
        if self.recomputed is None:
            return None
        if self.recomputed.shape != self.value.shape:
            return math.inf
        return float(np.abs(self.value.astype(np.float64) - self.recomputed).max(initial=0.0))

    def agrees(self, tolerance: float) -> bool:
        """Whether the difference is at most `tolerance` (times the largest number, where that is above 1)."""
        largest = float(np.abs(self.value.astype(np.float64)).max(initial=1.0))
        return self.difference is None or self.difference <= tolerance * largest


@dataclass(frozen=True, repr=False)
class Trace:
    """All quantities of one decoding step, in the order in which they come to be: ``trace["alpha"].value``. To print it
    shows what the command ``heedful trace`` does.

    Attributes:
        source: the source tokens as they are shown, in the order in which the model reads them.
        target: what is written, the end symbol last if it is reached.
        forced: whether the target was given; else it is the model's own greedy answer.
        step: which symbol of the target this step writes, from 1.
        dtype: the precision of the traced numbers.
        tolerance: how far a number may be from its recomputation.
        parts: which part does what, by registered names, with the settings that formulas need.
        quantities: the quantities.
        weights: the model's parameters by letter: ``W_a``, ``decoder.1.W_z``, ``encoder.1.backward.U``.
        forced_difference: the largest difference between the log-probabilities of all steps up to this one and those
            that the model's forced decoding gives for the same words, in nats.
        notes: what a person should know: words that are unknown.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    forced: bool
    step: int
    dtype: str
    tolerance: float
    parts: Mapping[str, Any]
    quantities: tuple[Quantity, ...]
    weights: Mapping[str, Array]
    forced_difference: float
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        said = "agrees" if self.agrees else "DISAGREES"
        return f"Trace(step {self.step} of {len(self.target)}, {len(self.quantities)} quantities, {said})"

    def __str__(self) -> str:
        from heedful.tracing.show import as_text

        return as_text(self)

    def __getitem__(self, key: str) -> Quantity:
        """A quantity by its name ("weights"), its letter ("alpha_tj"), or its letter without its indices ("alpha").

        Raises:
            KeyError: there is none, or there are several; all letters are named.
        """
        for form in (lambda q: q.name, lambda q: q.letter, lambda q: _bare(q.letter)):
            found = [quantity for quantity in self.quantities if form(quantity) == key]
            if len(found) == 1:
                return found[0]
            if found:
                raise KeyError(f"{key!r} may be {' or '.join(quantity.letter for quantity in found)}")
        raise KeyError(f"no quantity {key!r}; there are: {', '.join(quantity.letter for quantity in self.quantities)}")

    @property
    def disagreeing(self) -> tuple[Quantity, ...]:
        """The quantities that are not what their equations say."""
        return tuple(quantity for quantity in self.quantities if not quantity.agrees(self.tolerance))

    @property
    def agrees(self) -> bool:
        """Whether all that was recomputed is what the model has, and the model's forced decoding says the same."""
        return not self.disagreeing and self.forced_difference <= self.tolerance

    @property
    def difference(self) -> float:
        """The largest difference of all."""
        return float(np.max([quantity.difference or 0.0 for quantity in self.quantities], initial=0.0))

    def as_json(self, *, with_weights: bool = False) -> dict[str, Any]:
        """JSON values: all numbers of the step; of the weights their letters and shapes, or their numbers too."""
        return {
            "version": VERSION,
            "source": list(self.source),
            "target": list(self.target),
            "forced": self.forced,
            "step": self.step,
            "steps": len(self.target),
            "dtype": self.dtype,
            "parts": {name: value for name, value in self.parts.items() if name not in ("step", "weights")},
            "agrees": self.agrees,
            "tolerance": self.tolerance,
            "largest_difference": _number(self.difference),
            "forced_difference": _number(self.forced_difference),
            "notes": list(self.notes),
            "quantities": [_quantity(quantity, self.tolerance) for quantity in self.quantities],
            "weights": [
                {"letter": letter, "shape": list(value.shape)} | ({"value": _listed(value)} if with_weights else {})
                for letter, value in self.weights.items()
            ],
        }


def _bare(letter: str) -> str:
    """``alpha_tj``, ``s_{t-1}``, ``a_t(s)`` -> ``alpha``, ``s``, ``a``."""
    return re.sub(r"_(\{[^}]*\}|\w+)(\(s\))?$", "", letter)


def _quantity(quantity: Quantity, tolerance: float) -> dict[str, Any]:
    return {
        "name": quantity.name,
        "letter": quantity.letter,
        "equation": quantity.equation,
        "source": quantity.source,
        "section": quantity.section,
        "shape": list(quantity.shape),
        "axes": [None if labels is None else list(labels) for labels in quantity.axes],
        "value": _listed(quantity.value),
        "recomputed": None if quantity.recomputed is None else _listed(quantity.recomputed),
        "difference": None if quantity.difference is None else _number(quantity.difference),
        "agrees": None if quantity.recomputed is None else quantity.agrees(tolerance),
    }


def _listed(value: Array) -> Any:
    """Nested lists; what is no finite number, which JSON has no word for, is null."""
    if value.ndim and not np.isfinite(value).all():
        return [_listed(part) for part in value]
    return value.tolist() if np.isfinite(value).all() else None


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
