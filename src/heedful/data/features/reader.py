"""What a reader of features is, and the registry of them."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from heedful.data.lines import BadLine
from heedful.registry import Registry

if TYPE_CHECKING:
    import numpy as np


class Features(NamedTuple):
    """A source as a sequence of S vectors of F numbers.

    Vector j, counted from 0, is about the places from ``step * j`` to ``step * j + width`` of the source: seconds of
    sound, pixel columns of a picture. Neighbours may overlap.
    """

    values: np.ndarray  # (S, F) float32
    step: float = 1.0
    width: float = 1.0


class Reader(ABC):
    """Makes features of a file. Each option is kept under its own name, so that `options` can tell them."""

    name: str
    unit = ""
    """Of places: "s", "px", or nothing where they are just counted."""

    @abstractmethod
    def load(self, path: str) -> Any:
        """What the file holds, before it is features: samples, pixels, an array.

        Raises:
            BadLine: it holds something else. What the operating system refuses is told by `read`.
        """

    @abstractmethod
    def features(self, content: Any) -> Features:
        """The features of what `load` gave.

        Raises:
            BadLine: there are none, or it is not of the kind that the options say.
        """

    def read(self, path: str) -> Features:
        """The features of a file: (S, F) finite numbers, S and F at least 1.

        Raises:
            BadLine: the file cannot be read, or holds something else; says what was expected and got.
        """
        try:
            content = self.load(path)
        except FileNotFoundError:
            raise BadLine("expected a file, got none of this name") from None
        except IsADirectoryError:
            raise BadLine("expected a file, got a folder") from None
        except OSError as error:
            raise BadLine(f"cannot be read: {error.strerror or error}") from None
        except ValueError as error:  # a name that no file can have
            raise BadLine(f"cannot be read: {error}") from None
        return self.checked(content)

    def checked(self, content: Any) -> Features:
        """`features`, which must be finite, and at least one.

        Raises:
            BadLine: they are not.
        """
        import numpy as np

        features = self.features(content)
        values = features.values
        if values.ndim != 2 or not values.size:
            raise BadLine(f"expected an array (S, F), S vectors of F numbers, got the shape {values.shape}")
        if not np.isfinite(values).all():
            row, column = np.argwhere(~np.isfinite(values))[0].tolist()
            raise BadLine(f"expected finite numbers, got {values[row, column]} at vector {row}, feature {column}")
        return features

    def options(self) -> dict[str, Any]:
        """What it was made with, all defaults too."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def to_json(self) -> dict[str, Any]:
        """Name and options."""
        return {"name": self.name, **self.options()}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reader) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash(tuple(self.to_json().items()))


@contextmanager
def decoding(path: str, expected: str) -> Iterator[BinaryIO]:
    """The file, open. What a library says of content that it cannot decode becomes a `BadLine`.

    There is no list of what it may say: errors of any class, many without a text.
    """
    with open(path, "rb") as file:  # what the system says of the file is told by `Reader.read`
        try:
            yield file
        except BadLine:
            raise
        except Exception as error:
            reason = str(error).partition("\n")[0].partition(" If you trust")[0]  # NumPy's advice is to unpickle it
            reason = reason or "it is damaged or cut"
            raise BadLine(f"expected {expected}, got something else: {reason}") from None


readers: Registry[Reader] = Registry("reader of features")
