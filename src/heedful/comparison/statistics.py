"""Which differences are real: a bootstrap over sources and over seeds, and many pairs taken into account.

Two things were drawn by chance: the sources that designs are judged on, and the seeds that they were trained with.

- Sources (paired): each replicate draws as many sources as there are, with replacement, the same for all designs; so a
  difference profits from what is hard being hard for all (Koehn 2004; Efron and Tibshirani 1993).
- Seeds: a handful is too few to be drawn from (three seeds have ten samples, and their spread would come out too small
  by a third). So each replicate adds to a design's mean a draw from Student's t, with the standard error of its mean
  over seeds. The variance of two or three numbers is hardly known, so the typical variance of all designs is given a
  say, as so many degrees of freedom as the design's own, or as there are missing to `FEWEST_FREEDOM` (Smyth 2004 does
  so with thousands of genes, and estimates how many; here there is too little to estimate it from).

What is chance of both together (this model on this source) is counted in both, so that intervals err by being a little
wide (Owen 2007 has the same of any resampling of rows and columns).

With a single seed for each design only sources are drawn: intervals then are about these models, not about designs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import numpy as np

from heedful.comparison.results import Difference, Interval

REPLICATES = 5000
SEED = 1
LEVEL = 0.05
FEWEST_FREEDOM = 4

_FOR_EACH = 100  # replicates for each difference, so that Holm's smallest p can be 0.02
_CELLS = 1 << 22  # numbers drawn at once

Rate = Callable[[np.ndarray], np.ndarray]
"""Sums over sources (..., K) -> a rate in percent (...)."""


def ratio(sums: np.ndarray) -> np.ndarray:
    """100 x the first sum over the second; where that is 0, 0."""
    return 100 * np.divide(sums[..., 0], sums[..., 1], out=np.zeros(sums.shape[:-1]), where=sums[..., 1] > 0)


def judge(
    names: Sequence[str],
    sums: Sequence[np.ndarray],
    rate: Rate = ratio,
    *,
    most: float = np.inf,
    families: int = 1,
    replicates: int | None = None,
    seed: int = SEED,
) -> tuple[tuple[Interval, ...], tuple[Difference, ...]]:
    """Each design's mean rate over its seeds, and the differences of all pairs, with 95 % intervals.


    Args:
        names: of D designs.
        sums: for each design (seeds, sources, K): what `rate` adds up, the same sources for all.
        rate: of such sums; a mean of rates of single sources would be another thing for token errors.
        most: what a rate can be; intervals end there, and at 0.
        families: how many such lists of pairs will be adjusted together (`adjusted_together`).
        replicates: by default so many that a p-value can be small enough to count, once it is adjusted.
    """
    if replicates is None:
        replicates = max(REPLICATES, _FOR_EACH * families * len(names) * (len(names) - 1) // 2)
    values, draws = bootstrap(sums, rate, replicates=replicates, seed=seed)
    intervals = [
        _widened(Interval(value=float(value), low=max(low, 0.0), high=min(high, most)), each)
        for value, (low, high), each in zip(values, map(_limits, draws.T), sums, strict=True)
    ]
    pairs = list(combinations(range(len(names)), 2))
    differences = [draws[:, one] - draws[:, other] for one, other in pairs]
    chances = [_chance(each) for each in differences]
    adjusted = holm(chances)
    return tuple(intervals), tuple(
        Difference(
            first=names[one],
            second=names[other],
            value=float(values[one] - values[other]),
            low=low,
            high=high,
            p=chance,
            adjusted=fair,
            real=fair < LEVEL,
        )
        for (one, other), (low, high), chance, fair in zip(
            pairs, map(_limits, differences), chances, adjusted, strict=True
        )
    )


def adjusted_together(families: Sequence[Sequence[Difference]]) -> list[tuple[Difference, ...]]:
    """The differences of several lists, adjusted for the number of all of them."""
    adjusted = iter(holm([each.p for family in families for each in family]))
    return [
        tuple(
            each.model_copy(update={"adjusted": fair, "real": fair < LEVEL})
            for each, fair in zip(family, adjusted, strict=False)
        )
        for family in families
    ]


def bootstrap(
    sums: Sequence[np.ndarray], rate: Rate = ratio, *, replicates: int = REPLICATES, seed: int = SEED
) -> tuple[np.ndarray, np.ndarray]:
    """(D) rates as they are, the mean over seeds; and (replicates, D) as they might have been. See the module."""
    random = np.random.default_rng(seed)
    runs = np.concatenate([np.asarray(each, dtype=np.float64) for each in sums])  # (runs, sources, K)
    owner = np.repeat(np.arange(len(sums)), [len(each) for each in sums])
    counts = np.bincount(owner)
    mean = np.eye(len(sums))[owner] / counts[owner, None]  # (runs, D): the mean over each design's seeds
    own = rate(runs.sum(axis=1))  # (runs)
    draws = np.concatenate([rate(each) @ mean for each in _resampled(runs, replicates, random)])
    scale, freedom = _seeds([own[owner == design] for design in range(len(sums))])
    for design in np.flatnonzero(scale > 0):
        draws[:, design] += scale[design] * random.standard_t(freedom[design], size=replicates)
    return own @ mean, draws


def _resampled(runs: np.ndarray, replicates: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    """Sums (replicates, runs, K) over sources drawn with replacement, some replicates at a time."""
    count, sources, width = runs.shape
    columns = runs.transpose(1, 0, 2).reshape(sources, count * width)
    size = max(1, _CELLS // sources)
    for start in range(0, replicates, size):
        rows = min(size, replicates - start)
        places = random.integers(sources, size=(rows, sources)) + sources * np.arange(rows)[:, None]
        times = np.bincount(places.ravel(), minlength=rows * sources).reshape(rows, sources)  # each source was drawn
        yield (times.astype(np.float64) @ columns).reshape(rows, count, width)


def _seeds(rates: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """For each design the standard error of its mean over seeds, and its degrees of freedom; 0 where none is known."""
    known = [each for each in rates if len(each) > 1]
    if not known:
        return np.zeros(len(rates)), np.ones(len(rates))
    variances, free = np.array([each.var(ddof=1) for each in known]), np.array([len(each) - 1 for each in known])
    typical = float(variances.mean())
    if len(known) > 2:  # one design whose seeds scatter widely should not make all others uncertain
        typical = float(np.median(variances / (1 - 2 / (9 * free)) ** 3))  # over the median of chi^2 / freedom
    variance, freedom = [], []
    for each in rates:
        own = len(each) - 1
        others = min(max(own, FEWEST_FREEDOM - own), int(free.sum()) - own)
        freedom.append(own + others)
        variance.append(((own * each.var(ddof=1) if own else 0) + others * typical) / (own + others))
    return np.sqrt(np.array(variance) / [len(each) for each in rates]), np.array(freedom)


def _widened(interval: Interval, sums: np.ndarray) -> Interval:
    """Where each source counts as wrong or not, and none is or all are, all draws are alike, which proves little: then
    the bounds are exact (Clopper and Pearson 1934). With none of n wrong, more are that would let n pass by chance."""
    wrong = sums[..., 0]
    if sums.shape[-1] != 2 or (sums[..., 1] != 1).any() or ((wrong != wrong.flat[0]) | (wrong > 1)).any():
        return interval
    room = 100 * (1 - (LEVEL / 2) ** (1 / sums.shape[1]))
    end = {"low": min(interval.low, 100 - room)} if wrong.any() else {"high": max(interval.high, room)}
    return interval.model_copy(update=end)


def _limits(draws: np.ndarray) -> tuple[float, float]:
    low, high = np.quantile(draws, (LEVEL / 2, 1 - LEVEL / 2))
    return float(low), float(high)


def _chance(draws: np.ndarray) -> float:
    """Twice the share of draws on the other side of 0; at least as much as so many replicates can tell."""
    smaller = min(int((draws <= 0).sum()), int((draws >= 0).sum()))
    return min(1.0, 2 * (smaller + 1) / (len(draws) + 1))


def holm(chances: Sequence[float]) -> list[float]:
    """p-values adjusted for their number, so that one false claim among all of them stays as rare as LEVEL.

    Holm 1979: of m in ascending order the k-th (from 0) counts m - k times, and never less than the one before.
    """
    adjusted, least = [0.0] * len(chances), 0.0
    for rank, place in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min(1.0, (len(chances) - rank) * chances[place]))
        adjusted[place] = least
    return adjusted
