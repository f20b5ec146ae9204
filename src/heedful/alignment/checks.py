"""Whether the parts of an alignment fit together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from heedful.errors import SizeError

CONVENTIONS = ("predicted", "input")


def check_parts(
    source: Sequence[str], target: Sequence[str], weights: np.ndarray, convention: str, source_positions: Sequence[int]
) -> None:
    """Refuse what is no alignment, by name; see `heedful.alignment.Alignment`.

    Raises:
        SizeError: the parts do not fit together, or a weight is not finite.
    """
    expected = (len(target), len(source))
    if weights.shape != expected:
        raise SizeError(f"alignment weights: expected shape (target, source) = {expected}, got {weights.shape}")
    if not np.isfinite(weights).all():
        row, column = np.argwhere(~np.isfinite(weights))[0].tolist()
        raise SizeError(
            f"alignment weights: expected finite numbers, got {weights[row, column]} at row {row}, column {column}"
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
