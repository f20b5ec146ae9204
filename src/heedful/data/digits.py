"""The built-in corpus ``digits``: pictures of handwritten digits in a row, where each stands being known."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, NamedTuple

from heedful.errors import DataError

if TYPE_CHECKING:
    import numpy as np

_SIZES = {"train": 8_000, "dev": 300, "test": 500}
_SHARES = {"train": (0.0, 0.7), "dev": (0.7, 0.8), "test": (0.8, 1.0)}  # of the pictures, in the order of their writers
_GAP = 8


class Strip(NamedTuple):
    """One source of the corpus."""

    name: str
    picture: np.ndarray  # (8, width) float32, 0 is paper and 1 ink
    digits: str  # "40712"
    spans: tuple[tuple[int, int], ...]  # for each digit its first column, and the one behind its last


def strips(part: str) -> list[Strip]:
    """All strips of a part, the same in every run.

    Each is 3 to 7 pictures of scikit-learn's ``load_digits`` (8 x 8; Alpaydin and Kaynak 1998) with 0 to 8 empty
    columns before, between and after them. The pictures of one part are in no other: the first 70 % of the data set,
    which is in the order of its writers, are for training, the next 10 % for development, the last 20 % for the test.

    Raises:
        DataError: scikit-learn is not installed.
    """
    import numpy as np

    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise DataError(
            "the built-in corpus 'digits' needs the package scikit-learn: pip install 'heedful[demo]'"
        ) from None
    images, labels = load_digits(return_X_y=True)
    first, last = (round(share * len(images)) for share in _SHARES[part])
    rng = random.Random(f"heedful digits {part}")
    made = []
    for number in range(1, _SIZES[part] + 1):
        chosen = [rng.randrange(first, last) for _ in range(rng.randint(3, 7))]
        pieces, spans, width = [], [], 0
        for place in chosen:
            start = width + rng.randint(0, _GAP)
            pieces += [np.zeros((8, start - width)), images[place].reshape(8, 8) / 16]
            spans.append((start, start + 8))
            width = start + 8
        pieces.append(np.zeros((8, rng.randint(0, _GAP))))
        picture = np.concatenate(pieces, axis=1).astype(np.float32)
        made.append(Strip(f"{part}-{number}", picture, "".join(str(labels[place]) for place in chosen), tuple(spans)))
    return made
