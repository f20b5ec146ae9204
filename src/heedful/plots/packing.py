"""Weights as text: a byte for each, runs of zeros shortened, in base64. A report's script unpacks them.

A weight w is the byte round(255 w), so what is read back is off by at most 1/510. A byte other than 0 stands for
itself; 0 is followed by how many zeros there are, 1 to 255. Most weights of a model that has learned are 0.
"""

from __future__ import annotations

import base64
import binascii
import re

import numpy as np

from heedful.errors import DataError, SizeError

LEVELS = 255


def pack(weights: np.ndarray) -> str:
    """`weights` (any shape) in the order of their rows.

    Raises:
        SizeError: one is not from 0 to 1; what rounding errors add is forgiven.
    """
    bad = weights[(weights < -1e-6) | (weights > 1 + 1e-6)]
    if bad.size:
        raise SizeError(f"report: expected attention weights from 0 to 1, got {bad.flat[0]:g}")
    levels = np.rint(np.clip(weights, 0.0, 1.0) * LEVELS).astype(np.uint8).tobytes()
    packed = re.sub(rb"\0{1,255}", lambda zeros: bytes([0, len(zeros[0])]), levels)
    return base64.b64encode(packed).decode("ascii")


def unpack(text: str, shape: tuple[int, ...]) -> np.ndarray:
    """The weights of `shape` that `pack` wrote, as float64, to 1/510.

    Raises:
        DataError: it is no packed text, or of another size.
    """
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise DataError("report: expected weights in base64") from None
    levels = re.sub(rb"\0(.)", lambda zeros: bytes(zeros[1][0]), packed, flags=re.DOTALL)
    if len(levels) != np.prod(shape, dtype=int):
        raise DataError(f"report: expected {shape} weights, got {len(levels)}")
    return np.frombuffer(levels, dtype=np.uint8).reshape(shape) / LEVELS
