"""A few cheap numbers on some hundred alignments: for curves while a model is trained, and a first word on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from heedful.alignment import MEASURES, Alignment, measure
from heedful.diagnosis import thresholds as at

HEALTH = ("entropy", "focus", "one_position", "row_difference", "monotonicity", "on_end")
"""The measures that are worth a curve: see `heedful.alignment.MEASURES`."""


def attention_health(alignments: Iterable[Alignment]) -> dict[str, float]:
    """The mean of each of `HEALTH` over the alignments in which it is defined, each alignment counted once.

    Only alignments of three source words or more, and two target words, count: a shorter one has no choice. All are NaN
    where there are fewer than `thresholds.FEWEST_ALIGNMENTS` of these: a mean over so few would say nothing.
    """
    found = [one for one in alignments if has_a_choice(one) and len(one.target) - one.target_end >= 2]
    if len(found) < at.FEWEST_ALIGNMENTS:
        return dict.fromkeys(HEALTH, float("nan"))
    means = means_of(found)
    return {name: means[name][0] for name in HEALTH}


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


def has_a_choice(alignment: Alignment) -> bool:
    """Whether the source is long enough for attention to be judged."""
    return max(alignment.source_positions, default=0) >= at.FEWEST_SOURCE_WORDS


def means_of(alignments: Iterable[Alignment]) -> dict[str, tuple[float, int]]:
    """For each of `heedful.alignment.MEASURES` its mean over the alignments in which it is defined, and how many."""
    found = [measure(alignment) for alignment in alignments if has_a_choice(alignment)]
    return {name: _mean([measures[name] for measures in found]) for name in MEASURES}


def _mean(values: Iterable[float]) -> tuple[float, int]:
    """NaN of none."""
    known = [value for value in values if not np.isnan(value)]
    return (float(np.mean(known)) if known else float("nan")), len(known)
