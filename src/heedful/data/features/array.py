"""Arrays of NumPy as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from heedful.data.features.reader import Features, Reader, decoding, readers
from heedful.data.lines import BadLine

if TYPE_CHECKING:
    import numpy as np


@readers.register("array")
class Array(Reader):
    """An array (S, F) in a file ``.npy``, or of several in a file ``.npz``. Nothing in it is ever unpickled.

    Args:
        key: the name of the array in a ``.npz``; not needed where there is one alone.
    """

    name = "array"

    def __init__(self, *, key: str | None = None) -> None:
        self.key = key

    def load(self, path: str) -> np.ndarray:
        import numpy as np

        with decoding(path, "an array of NumPy (.npy or .npz)") as file:
            loaded = np.load(file, allow_pickle=False)
            if not isinstance(loaded, np.ndarray):
                with loaded:
                    loaded = loaded[self._key(loaded.files)]
            if not isinstance(loaded, np.ndarray):  # what else is in a .npz is given as bytes
                raise BadLine("expected arrays of NumPy in a .npz, got another file in it")
            return loaded

    def features(self, content: np.ndarray) -> Features:
        if content.dtype.kind not in "fiub":
            raise BadLine(f"expected an array of numbers, got one of type {content.dtype}")
        import numpy as np

        with np.errstate(over="ignore"):  # what is too large is told as infinite
            return Features(content.astype(np.float32))

    def _key(self, keys: list[str]) -> str:
        if self.key is None and len(keys) == 1:
            return keys[0]
        if self.key not in keys:
            wanted = "one array (or the option key)" if self.key is None else f"an array {self.key!r}"
            raise BadLine(f"expected {wanted}, got the arrays {', '.join(map(repr, keys)) or '(none)'}")
        return self.key
