"""Sources that are alike: by length, by how often their rarest token was seen in training, by unknown tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from heedful.comparison.counts import most_of
from heedful.comparison.results import Breakdown, Group
from heedful.comparison.statistics import Rate, adjusted_together, judge
from heedful.comparison.values import Metric, Part

MOST_GROUPS = 5
FEWEST_SOURCES = 10
"""In a group: an interval around a rate over fewer would say nothing."""
_UNKNOWN_CUTS = (0, 1)

By = Literal["length", "rarest", "unknown"]


def breakdowns(
    names: Sequence[str], sums: Sequence[np.ndarray], rate: Rate, *, part: Part, metric: Metric
) -> tuple[Breakdown, ...]:
    """`metric` on groups of the part's sources; ways to group that put all in one group are left out.

    Args:
        names, sums, rate: as in `heedful.comparison.statistics.judge`.
    """
    features: dict[By, tuple[int, ...]] = {"length": part.lengths, "rarest": part.rarest, "unknown": part.unknown}
    found = []
    for by, given in features.items():
        values = np.array(given)
        cuts = cut(values, at=_UNKNOWN_CUTS if by == "unknown" else None)
        if len(cuts) == 1:
            continue
        groups = [
            _group(values[places], places, names, sums, rate, most_of(metric), families=len(cuts)) for places in cuts
        ]
        adjusted = adjusted_together([group.differences for group in groups])
        groups = [
            group.model_copy(update={"differences": differences})
            for group, differences in zip(groups, adjusted, strict=True)
        ]
        found.append(Breakdown(by=by, part=part.name, metric=metric, groups=tuple(groups)))
    return tuple(found)


def cut(values: np.ndarray, *, at: Sequence[int] | None = None) -> list[np.ndarray]:
    """Places of alike values, in ascending order: cut at quantiles, or after each of the values `at`.

    A group of fewer than `FEWEST_SOURCES` is put to the one below it (the first to the one above).
    """
    if at is None:
        count = max(1, min(MOST_GROUPS, len(values) // FEWEST_SOURCES))
        shares = np.arange(1, count) / count
        at = sorted({int(value) for value in np.quantile(values, shares, method="inverted_cdf")})
    numbers = np.searchsorted(np.array(at), values)
    groups: list[np.ndarray] = []
    for number in range(len(at) + 1):
        places = np.flatnonzero(numbers == number)
        if groups and min(len(places), len(groups[-1])) < FEWEST_SOURCES:
            groups[-1] = np.sort(np.concatenate([groups[-1], places]))
        elif len(places):
            groups.append(places)
    return groups


def _group(
    values: np.ndarray,
    places: np.ndarray,
    names: Sequence[str],
    sums: Sequence[np.ndarray],
    rate: Rate,
    most: float,
    *,
    families: int,
) -> Group:
    low, high = int(values.min()), int(values.max())
    errors, differences = judge(names, [each[:, places] for each in sums], rate, most=most, families=families)
    return Group(
        label=str(low) if low == high else f"{low}–{high}",
        low=low,
        high=high,
        sources=len(places),
        errors=errors,
        differences=differences,
    )
