"""What a comparison found, and its file, ``comparison.json``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, ValidationError

from heedful.alignment import Alignment
from heedful.comparison.values import Budget, Data, Design, Machine, Metric, Part, PartName, Value
from heedful.errors import DataError, HeedfulError
from heedful.files import write_atomically

VERSION = 1
FILE = "comparison.json"


def _as_alignment(value: Any) -> Alignment:
    if isinstance(value, Alignment):
        return value
    try:
        return Alignment.from_json(value)
    except HeedfulError as error:
        raise ValueError(str(error)) from None


Weights = Annotated[Alignment, PlainValidator(_as_alignment), PlainSerializer(Alignment.to_json, return_type=dict)]


class Interval(Value):
    """A mean over seeds, and where it would lie in 95 of 100 such experiments."""

    value: float
    low: float
    high: float


class Difference(Value):
    """`first` minus `second`, in points of percent.

    Attributes:
        low, high: the 95 % interval, for this pair alone.
        p: how often such a difference would come by chance.
        adjusted: p, with it taken into account how many pairs are looked at (Holm 1979).
        real: adjusted < 0.05.
    """

    first: str
    second: str
    value: float
    low: float
    high: float
    p: float
    adjusted: float
    real: bool


class Judged(Value):
    """One metric on one part: each design's mean over its seeds, and all pairs of designs (first before second)."""

    part: PartName
    metric: Metric
    errors: tuple[Interval, ...]
    differences: tuple[Difference, ...]


class Group(Value):
    """Sources that are alike, from `low` to `high`; `differences` as in `Judged`, adjusted for those in all groups."""

    label: str
    low: int
    high: int
    sources: int
    errors: tuple[Interval, ...]
    differences: tuple[Difference, ...]


class Breakdown(Value):
    """One metric by source length, by how often the rarest source token was seen, or by unknown source tokens.

    There is none where all sources would be in one group.
    """

    by: Literal["length", "rarest", "unknown"]
    part: PartName
    metric: Metric
    groups: tuple[Group, ...]


class Answered(Value):
    """What one design (its first seed) says to an example, and where it looked while it said it."""

    text: str
    wrong: bool
    alignment: Weights | None


class Example(Value):
    """One source with every design's answer.

    Attributes:
        place: among the part's sources, from 0.
        why: for what it was chosen: "most different answers", "typical", "longest".
        answers: by design.
    """

    part: PartName
    place: int
    source: str
    references: tuple[str, ...]
    why: str
    answers: tuple[Answered, ...]


class Finding(Value):
    """A sentence of the recommendation, and the numbers that it follows from."""

    says: str
    because: str


class Comparison(Value):
    """All that a comparison found.

    Attributes:
        metric: what decides.
        parts: dev, and test where there is one.
        judged: every metric on every part.
        breakdowns: `metric` on the last part.
        recommendation: what to take, and why; the first sentence answers the question.
        notes: what must be known to read the numbers: one seed only, runs that stopped early, ...
        signature: one line that says how it was made.
        command: what a shell is told to make it again; empty where no command says it.
    """

    version: Literal[1] = VERSION
    data: Data
    budget: Budget
    machine: Machine
    metric: Metric
    designs: tuple[Design, ...]
    parts: tuple[Part, ...]
    judged: tuple[Judged, ...]
    breakdowns: tuple[Breakdown, ...]
    examples: tuple[Example, ...]
    recommendation: tuple[Finding, ...]
    notes: tuple[str, ...]
    signature: str
    command: str = ""

    @property
    def part(self) -> Part:
        """The part that decides: test, or dev where there is no test."""
        return self.parts[-1]

    def judgement(self, metric: Metric | None = None, part: PartName | None = None) -> Judged:
        """That of one metric (by default what decides) on one part (by default the part that decides)."""
        wanted = (metric or self.metric, part or self.part.name)
        (found,) = (each for each in self.judged if (each.metric, each.part) == wanted)
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it as JSON; the file is replaced in one step.

        Raises:
            RunError: the file cannot be written.
        """
        write_atomically(path, self.model_dump_json() + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Comparison:
        """What `save` wrote.

        Raises:
            DataError: there is no such file, or it is no comparison.
        """
        try:
            text = Path(path).read_bytes()
        except OSError as error:
            raise DataError(f"{os.fspath(path)}: cannot be read: {error.strerror or error}") from None
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise DataError(
                f"{os.fspath(path)}: expected a comparison, version {VERSION}; {where}: {first['msg']}"
            ) from None
