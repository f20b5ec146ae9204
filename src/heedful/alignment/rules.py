"""From a matrix of weights to links: which cells count."""

from __future__ import annotations

from typing import get_args

import numpy as np

from heedful.errors import DataError, nearest
from heedful.options import LinkRule


def chosen(weights: np.ndarray, rule: LinkRule = "argmax", threshold: float | None = None) -> list[tuple[int, int]]:
    """The cells (row, column) of `weights` (T, S) that are links by `rule`, row by row; a weight of 0 never is.

    The rules are described at `heedful.options.LinkRule`; of equal weights the first in the first row wins.

    ``"one_to_one"`` is competitive linking (Melamed 2000, "Models of translational equivalence among words"): best
    first, so the sum of the weights is not always the largest that a matching can have.

    Args:
        threshold: the least weight of a link; for ``"relative"`` as a share of the largest of its row. The two rules
            named after it need it; with the others it drops what is less.

    Raises:
        DataError: no such rule, a threshold that is not from 0 to 1, or none where one is needed.
    """
    check_rule(rule, threshold)
    least = 0.0 if threshold is None else threshold
    if not weights.size:
        return []
    if rule in ("threshold", "relative"):
        bound = least * weights.max(axis=1, keepdims=True) if rule == "relative" else least
        return [(row, column) for row, column in np.argwhere((weights >= bound) & (weights > 0)).tolist()]
    cells = _one_to_one(weights) if rule == "one_to_one" else list(enumerate(weights.argmax(axis=1).tolist()))
    return [cell for cell in cells if weights[cell] > 0 and weights[cell] >= least]


def check_rule(rule: str, threshold: float | None) -> None:
    """Refuse what makes no sense, before anything is computed; see `chosen`."""
    if rule not in get_args(LinkRule):
        raise DataError(f"links: unknown rule {rule!r}{nearest(rule, get_args(LinkRule))}")
    if threshold is None and rule in ("threshold", "relative"):
        raise DataError(f"links by {rule!r} need a threshold from 0 to 1, got none")
    if threshold is not None and not 0 <= threshold <= 1:
        raise DataError(f"threshold: expected a number from 0 to 1, got {threshold!r}")


def _one_to_one(weights: np.ndarray) -> list[tuple[int, int]]:
    """Best first, in one pass over the sorted cells; of equal ones the first in the first row."""
    rows, columns = weights.shape
    row_left, column_left = [True] * rows, [True] * columns
    cells: list[tuple[int, int]] = []
    for place in np.argsort(-weights.astype(np.float64), axis=None, kind="stable").tolist():
        row, column = divmod(place, columns)
        if row_left[row] and column_left[column]:
            row_left[row] = column_left[column] = False
            cells.append((row, column))
            if len(cells) == min(rows, columns):
                break
    return sorted(cells)
