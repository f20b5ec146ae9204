"""What can be measured on one alignment: how flat, how straight, how much of the source is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from heedful.alignment.alignment import Alignment

MEASURES: Mapping[str, str] = MappingProxyType(
    {
        "entropy": "how spread a row is: its entropy over the most it can be (0 one position, 1 all alike)",
        "focus": "the largest weight of a row",
        "one_position": "what the one most attended position takes of all rows",
        "row_difference": "how far rows are from their mean (0 the same row at every step)",
        "from_uniform": "how far rows are from weights that are all alike (0 exactly uniform)",
        "diagonality": "share of the weight near the diagonal",
        "monotonicity": "share of steps at which the most attended word is not before the last one",
        "unattended": "share of source words that get less than a tenth of a fair share",
        "overattended": "share of source words that get more than three fair shares",
        "on_end": "share of the weight on the source's end symbol",
        "on_first": "share of the weight on the source's first word",
        "empty_rows": "share of rows without any weight",
    }
)
"""Each name that `measure` gives, and what it is, in a line."""

BAND = 0.1
"""Half the width of the diagonal, as a share of the source's length; at least one word to each side."""
UNATTENDED, OVERATTENDED = 0.1, 3.0
"""In fair shares: what a source word gets where all words get the same."""
TIE = 1e-5
"""Weights that differ by less, as a share of the larger one, are equal but for rounding in single precision."""


class _Weights(NamedTuple):
    """The rows that are about target words, each divided by its sum; those without weight left out."""

    rows: np.ndarray  # (T, S), of all columns
    words: np.ndarray  # (T', S'), of the source words alone, again divided by their sums
    first: int | None  # the column of word 1
    end: int | None  # the column of the end symbol
    empty: float  # share of rows without weight
    places: np.ndarray  # (T') where in the target each row of `words` stands, from 0
    length: int  # of the target, in words


def measure(alignment: Alignment) -> dict[str, float]:
    """The measures of one alignment, under the names of `MEASURES`; NaN where one is not defined.

    Only rows about target words count, not the one about the end symbol: that row is right to look at an end. A row is
    divided by its sum first, so that local scopes, whose rows sum to less than 1, can be compared.

    Of whole rows a_t over S columns (words, tags, end symbol):

    - ``entropy``: the mean of -sum_s a_ts log a_ts, over log S. 1 = uniform, 0 = one position. NaN for one column.
    - ``focus``: the mean of max_s a_ts: the focus rate of FastSpeech (Ren et al. 2019, section 3.3).
    - ``one_position``: max_s of the mean row. 1 = one position takes all at every step. NaN for fewer than two rows: a
      label's single row is right to look at one word.
    - ``row_difference``: the mean total variation distance, sum_s |a_ts - mean_s| / 2, between a row and the mean row;
      0 = the same row at every step, whatever the query. NaN for fewer than two rows.
    - ``from_uniform``: the mean total variation distance between a row and 1 / S. NaN for one column.
    - ``on_end``, ``on_first``: the mean weight on the end symbol (the last column, where that is no word), on word 1.
    - ``empty_rows``: rows without any weight, as a local window leaves them that is off the sentence's end.

    Of words alone, each row divided by its sum over words:

    - ``diagonality``: the mean weight with |s - (t + 1/2) S / T + 1/2| <= max(1, S / 10), s and t from 0: the attention
      diagonal ratio of LRSpeech (Xu et al. 2020) in a band that follows the length ratio. Low is no fault
      where the task has another order. NaN with fewer than 4 source words (nearly all is band) or 2 target words.
    - ``monotonicity``: the share of steps from one row to the next at which the arg-max does not go back (after Rios
      et al. 2021). A row without a single largest weight (the second is less than `TIE` below it, which is rounding)
      has no arg-max, and is passed over: else uniform rows would all point at word 1, and be monotonic. NaN where
      fewer than two rows are left.
    - ``unattended``, ``overattended``: the share of source words whose weights sum over the rows to less than a tenth
      of T / S, to more than three times T / S, T / S being what each gets where all get the same: coverage as in
      Tu et al. 2016. NaN for fewer than two source words.
    """
    weights = _weights(alignment)
    return {**_of_rows(weights), **_of_words(weights)}


def _weights(alignment: Alignment) -> _Weights:
    about = alignment.rows_about_words()
    rows = alignment.weights[about.start : about.stop]
    positions = np.array(alignment.source_positions, dtype=np.int64)
    words = rows[:, positions > 0]
    kept, kept_words = (part.sum(axis=1) > 0 for part in (rows, words))
    return _Weights(
        rows=_divided(rows[kept]),
        words=_divided(words[kept_words]),
        first=int(np.argmax(positions > 0)) if positions.any() else None,
        end=len(positions) - 1 if len(positions) and not positions[-1] else None,
        empty=float(1 - kept.mean()) if len(rows) else np.nan,
        places=np.flatnonzero(kept_words),
        length=len(rows),
    )


def _divided(rows: np.ndarray) -> np.ndarray:
    return rows / rows.sum(axis=1, keepdims=True)


def _of_rows(weights: _Weights) -> dict[str, float]:
    rows = weights.rows
    count, columns = rows.shape
    if not count:
        nothing = ("entropy", "focus", "one_position", "row_difference", "from_uniform", "on_end", "on_first")
        return {**dict.fromkeys(nothing, np.nan), "empty_rows": weights.empty}
    mean = rows.mean(axis=0)
    several = columns > 1
    return {
        "entropy": float(row_entropies(rows).mean()) if several else np.nan,
        "focus": float(rows.max(axis=1).mean()),
        "one_position": float(mean.max()) if count > 1 else np.nan,
        "row_difference": float(_distance(rows, mean)) if count > 1 else np.nan,
        "from_uniform": float(_distance(rows, 1 / columns)) if several else np.nan,
        "on_end": np.nan if weights.end is None else float(mean[weights.end]),
        "on_first": np.nan if weights.first is None else float(mean[weights.first]),
        "empty_rows": weights.empty,
    }


def row_entropies(rows: np.ndarray) -> np.ndarray:
    """(T) of rows (T, S) that sum to 1, or to 0: -sum_s a_ts log a_ts, over log S; 0 of a single column."""
    nats = -(rows * np.log(rows, out=np.zeros_like(rows), where=rows > 0)).sum(axis=1)
    return nats / np.log(max(rows.shape[1], 2))


def _distance(rows: np.ndarray, other: np.ndarray | float) -> float:
    """The mean total variation distance."""
    return np.abs(rows - other).sum(axis=1).mean() / 2


def _of_words(weights: _Weights) -> dict[str, float]:
    words = weights.words
    count, columns = words.shape
    received = words.sum(axis=0) * columns / count if count and columns > 1 else None
    return {
        "diagonality": _diagonality(weights) if count and columns >= 4 and weights.length > 1 else np.nan,
        "monotonicity": _monotonicity(words) if columns > 1 else np.nan,
        "unattended": np.nan if received is None else float((received < UNATTENDED).mean()),
        "overattended": np.nan if received is None else float((received > OVERATTENDED).mean()),
    }


def _monotonicity(words: np.ndarray) -> float:
    second, largest = np.partition(words, -2, axis=1)[:, -2:].T
    peaks = words[second < largest * (1 - TIE)].argmax(axis=1)
    return float((np.diff(peaks) >= 0).mean()) if len(peaks) > 1 else np.nan


def _diagonality(weights: _Weights) -> float:
    words = weights.words
    columns = words.shape[1]
    centres = (weights.places + 0.5) * columns / weights.length - 0.5
    band = np.abs(np.arange(columns) - centres[:, None]) <= max(1.0, BAND * columns)
    return float((words * band).sum(axis=1).mean())
