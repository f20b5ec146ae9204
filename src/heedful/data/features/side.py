"""The source side of a run whose sources are features: the reader, and what its numbers are measured by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from heedful.data.features.reader import Features, Reader, readers
from heedful.data.tokens import Tokeniser
from heedful.errors import DataError

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class FeatureSide:
    """A reader with the mean and the deviation of each feature over all training frames."""

    reader: Reader
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    @property
    def size(self) -> int:
        """F."""
        return len(self.mean)

    @classmethod
    def of(cls, reader: Reader, sources: Sequence[tuple[Features | None, int]]) -> FeatureSide:
        """From the features of the training sources, each with its line for messages.

        Raises:
            DataError: they have not equally many features.
        """
        import numpy as np

        size, total, squares, count = None, np.zeros(1), np.zeros(1), 0
        for features, line in sources:
            assert features is not None
            size = features.values.shape[1] if size is None else size
            check_size(features, size, f"line {line}")
            values = features.values.astype(np.float64)
            total, squares, count = total + values.sum(0), squares + (values**2).sum(0), count + len(values)
        mean = total / count
        deviation = np.sqrt((squares / count - mean**2).clip(min=0))
        # A feature that never changes says nothing, and may be left as it is.
        deviation = np.where(deviation > 1e-6 * (1 + np.abs(mean)), deviation, 1.0)
        return cls(reader, tuple(mean.tolist()), tuple(deviation.tolist()))

    def normalised(self, features: Features, place: str) -> np.ndarray:
        """(S, F) float32: less the mean, over the deviation.

        Raises:
            DataError: another number of features than in training; `place` is what it calls the source.
        """
        import numpy as np

        check_size(features, self.size, place)
        return ((features.values - np.array(self.mean)) / np.array(self.deviation)).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """All of it; the numbers to the last bit."""
        return {"reader": self.reader.to_json(), "mean": list(self.mean), "deviation": list(self.deviation)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FeatureSide:
        """The inverse of `to_json`."""
        numbers = [tuple(map(float, values[key])) for key in ("mean", "deviation")]
        if not numbers[0] or len(numbers[0]) != len(numbers[1]) or min(numbers[1]) <= 0:
            raise DataError("features: expected a mean and a deviation above 0 for each feature")
        return cls(make_reader(values["reader"]), *numbers)


def check_size(features: Features, size: int, place: str) -> None:
    """Refuse another number of features."""
    if features.values.shape[1] != size:
        raise DataError(f"{place}: expected {size} features in each vector, got {features.values.shape[1]}")


def make_reader(spec: Mapping[str, Any]) -> Reader:
    """A reader by its registered `name` and, beside it, its options.

    Raises:
        RecipeError: unknown name or option, or an option that does not fit.
    """
    options = dict(spec)
    return readers.build(options.pop("name"), options, {})


class NoText(Tokeniser):
    """Stands where a source has no text: whoever asks for its tokens is told so."""

    name = "none"

    def split(self, text: str) -> list[str]:
        raise DataError("the sources of this run are features (data.source_features), and have no tokens")

    def join(self, tokens: Sequence[str]) -> str:
        return self.split("")[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NoText)

    def __hash__(self) -> int:
        return 0
