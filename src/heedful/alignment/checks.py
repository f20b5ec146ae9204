"""Whether the parts of an alignment are what they should be, and fit together."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from heedful.errors import DataError, SizeError, excerpt

CONVENTIONS = ("predicted", "input")

Side = Literal["both", "source", "target"]

VERSION = 1
"""Of what `Alignment.to_json` and `save_alignments` write."""


def as_matrix(weights: Any, source: Sequence[str], target: Sequence[str]) -> np.ndarray:
    """Any array of numbers as float64. An empty list is one without rows or columns, if that is what there should be.

    Raises:
        SizeError: NumPy makes no array of numbers of it.
    """
    try:
        matrix = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor of PyTorch that has a gradient
        raise SizeError(f"alignment weights: expected a matrix of numbers (target, source); {error}") from error
    if matrix.shape == (0,) and not (source and target):
        return matrix.reshape(len(target), len(source))
    return matrix


def as_spans(spans: Any) -> tuple[tuple[float, float], ...] | None:
    """Pairs of numbers, or None.

    Raises:
        SizeError: they are something else.
    """
    if spans is None:
        return None
    try:
        return tuple((float(start), float(end)) for start, end in spans)
    except (TypeError, ValueError) as error:
        raise SizeError(f"source spans: expected pairs of numbers, got {excerpt(spans, 40)}") from error


def check_side(side: str) -> None:
    """Refuse what is no `Side`."""
    if side not in get_args(Side):
        raise SizeError(f"side: expected 'both', 'source' or 'target', got {side!r}")


def check_parts(
    source: Sequence[str],
    target: Sequence[str],
    weights: np.ndarray,
    convention: str,
    source_positions: Sequence[int],
    source_spans: Sequence[tuple[float, float]] | None,
) -> None:
    """Refuse what is no alignment, by name; see `heedful.alignment.Alignment`.

    Raises:
        SizeError: the parts do not fit together, or a weight is not finite or below 0.
    """
    expected = (len(target), len(source))
    if weights.shape != expected:
        raise SizeError(f"alignment weights: expected shape (target, source) = {expected}, got {weights.shape}")
    if not np.isfinite(weights).all():
        row, column = np.argwhere(~np.isfinite(weights))[0].tolist()
        raise SizeError(
            f"alignment weights: expected finite numbers, got {weights[row, column]} at row {row}, column {column}"
        )
    if (weights < 0).any():
        row, column = np.argwhere(weights < 0)[0].tolist()
        raise SizeError(
            f"alignment weights: expected numbers from 0, got {weights[row, column]} at row {row}, column {column}"
        )
    if convention not in CONVENTIONS:
        raise SizeError(f"alignment convention: expected 'predicted' or 'input', got {convention!r}")
    if len(source_positions) != len(source):
        raise SizeError(
            f"source positions: expected one for each of the {len(source)} source labels, got {len(source_positions)}"
        )
    words = [position for position in source_positions if position]
    if words != list(range(1, len(words) + 1)):
        raise SizeError(f"source positions: expected 1..{len(words)} for the words, each once, got {words}")
    if source_spans is not None:
        _check_spans(source_spans, len(source))


def _check_spans(source_spans: Sequence[tuple[float, float]], count: int) -> None:
    if len(source_spans) != count:
        raise SizeError(f"source spans: expected one for each of the {count} source labels, got {len(source_spans)}")
    for start, end in source_spans:
        if not (np.isfinite((start, end)).all() and start <= end):
            raise SizeError(f"source spans: expected finite starts, each before its end, got {start} to {end}")


def json_parts(value: Any) -> dict[str, Any]:
    """The parts of an alignment, by name, of what `Alignment.to_json` gave, or of a text of that.

    Raises:
        DataError: it is no JSON object, a part is missing or is no matrix of numbers, or a newer version wrote it.
    """
    given = value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise DataError(f"expected an alignment as JSON: {error}") from None
    if not isinstance(value, Mapping):
        raise DataError(f"expected an alignment as a JSON object, got {excerpt(given, 40)}")
    version = value.get("version", VERSION)
    if not isinstance(version, int) or version != VERSION:
        newer = ", which a newer heedful wrote; upgrade" if isinstance(version, int) and version > VERSION else ""
        raise DataError(f"alignment as JSON: expected version {VERSION}, got {excerpt(version, 40)}{newer}")
    try:
        return {
            "source": tuple(value["source"]),
            "target": tuple(value["target"]),
            "weights": _numbers(value["weights"]),
            "convention": value["convention"],
            "source_positions": tuple(value["source_positions"]),
            "target_end": value["target_end"],
            "source_spans": as_spans(value.get("source_spans")),
            "source_segments": value.get("source_segments"),
        }
    except KeyError as error:
        raise DataError(f"alignment as JSON: expected the key {error.args[0]!r}, got {sorted(value)}") from error
    except (TypeError, ValueError) as error:
        raise DataError(f"alignment as JSON: expected lists of labels and a matrix of numbers; {error}") from error


def _numbers(rows: Any) -> np.ndarray:
    matrix = np.array(rows, dtype=np.float64)
    if np.isnan(matrix).any():  # NumPy makes that of null too
        for row, numbers in enumerate(rows if isinstance(rows, Sequence) else ()):
            if None in numbers:
                raise ValueError(f"got null at row {row}, column {list(numbers).index(None)}")
        if rows is None:
            raise ValueError("got null")
    return matrix
