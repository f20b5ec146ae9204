"""A few cheap numbers on some hundred alignments: for curves while a model is trained, and a first word on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from heedful.alignment import Alignment, measure
from heedful.diagnosis import thresholds as at

HEALTH = ("entropy", "focus", "one_position", "row_difference", "monotonicity", "on_end")
"""The measures that are worth a curve: see `heedful.alignment.MEASURES`."""


def attention_health(alignments: Iterable[Alignment]) -> dict[str, float]:
    """The mean of each of `HEALTH` over the alignments in which it is defined, each alignment counted once.

    Only alignments of three source words or more, and two target words, count: a shorter one has no choice. All are NaN
    where there are fewer than `thresholds.FEWEST_ALIGNMENTS` of these: a mean over so few would say nothing.
    """
    found = [measure(alignment) for alignment in alignments if _has_a_choice(alignment)]
    if len(found) < at.FEWEST_ALIGNMENTS:
        return dict.fromkeys(HEALTH, float("nan"))
    return {name: mean([measures[name] for measures in found])[0] for name in HEALTH}


def not_formed(health: Mapping[str, float]) -> str | None:
    """A sentence where what `attention_health` gave shows plainly that attention has not formed, else None.

    What it cannot tell from a good attention it is silent about: `heedful.diagnose` looks closer. NaN is no evidence.
    """
    entropy, blind = health["entropy"], health["row_difference"]
    if entropy >= at.FROZEN_ENTROPY:
        return "attention has never left uniform weights: every source position gets the same"
    if entropy >= at.FLAT_ENTROPY:
        return f"attention is nearly flat: the entropy of a row is {100 * entropy:.0f} % of the most it can be"
    if health["one_position"] >= at.LAZY_SHARE:
        where = " (mostly the end symbol)" if health["on_end"] >= 0.5 else ""
        return f"one source position takes {100 * health['one_position']:.0f} % of the attention at every step{where}"
    if blind <= at.BLIND_DIFFERENCE:
        return "attention is the same at every step of a sentence, whatever is being written"
    return None


def _has_a_choice(alignment: Alignment) -> bool:
    words = sum(position > 0 for position in alignment.source_positions)
    return words >= at.FEWEST_SOURCE_WORDS and len(alignment.target) - alignment.target_end >= 2


def mean(values: Iterable[float]) -> tuple[float, int]:
    """The mean of those that are numbers, NaN where none is; and how many."""
    known = [value for value in values if not np.isnan(value)]
    return (float(np.mean(known)) if known else float("nan")), len(known)
