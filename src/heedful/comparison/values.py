"""The values of a comparison, all of them immutable, and their file, ``comparison.json``.

A `Comparison` holds everything that its tables, its report and its recommendation are made from: each run's answer to
each source too, so that every number can be computed again. What is not known or not defined is None; nothing is NaN.
Rates and BLEU are in percent, memory in MiB, times in minutes. Tuples that run over designs have the order of
`Comparison.designs`, those that run over sources that of `Part.sources`.

The report is written by ``heedful.comparison.report.write_report(comparison: Comparison, folder: Path) -> None``, which
makes ``report.md`` and ``report.html`` in `folder`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, PlainSerializer, PlainValidator, ValidationError

from heedful.alignment import Alignment
from heedful.errors import DataError, HeedfulError
from heedful.files import write_atomically

VERSION = 1
FILE = "comparison.json"

Metric = Literal["sequence_error", "token_error", "word_error", "bleu"]
METRICS: tuple[Metric, ...] = ("sequence_error", "token_error", "word_error", "bleu")
HIGHER_IS_BETTER = ("bleu",)

PartName = Literal["dev", "test"]


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _as_alignment(value: Any) -> Alignment:
    if isinstance(value, Alignment):
        return value
    try:
        return Alignment.from_json(value)
    except HeedfulError as error:
        raise ValueError(str(error)) from None


Weights = Annotated[Alignment, PlainValidator(_as_alignment), PlainSerializer(Alignment.to_json, return_type=dict)]


class Data(_Value):
    """What was compared on.

    Attributes:
        pairs, dev, test, links: as they were given; None where they were not, and the data were split.
        train_pairs: how many were trained on.
        token_name: what token_error counts: the recipe's ``data.target_tokens``.
    """

    pairs: str
    dev: str | None
    test: str | None
    links: str | None
    train_pairs: int
    token_name: str


class Budget(_Value):
    """What each run was given: updates or minutes; and the seeds of each design."""

    updates: int | None
    minutes: float | None
    seeds: tuple[int, ...]


class Machine(_Value):
    """What it ran on.

    Attributes:
        processor: its name.
        cores: of the machine.
        jobs: trainings at once; speeds are timed alone all the same.
        threads: of each training, and of what was timed.
        versions: of heedful, torch, numpy and python.
    """

    processor: str
    cores: int
    jobs: int
    threads: int
    versions: dict[str, str]


class Part(_Value):
    """Development or test data, each distinct source once, in order of appearance.

    Attributes:
        lines: of the file.
        sources: the texts, with tags and second source where there are any, as one line.
        references: all targets of each source.
        lengths: source tokens (of the first design's tokeniser, as the next two; vectors where sources are features).
        rarest: how often the rarest of its tokens occurs in the training sources; 0 where one was never seen there.
        unknown: how many of its tokens were never seen there.
    """

    name: PartName
    lines: int
    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    lengths: tuple[int, ...]
    rarest: tuple[int, ...]
    unknown: tuple[int, ...]


class Answers(_Value):
    """One run's answers to the sources of a part, and how far each is from its nearest reference.

    Attributes:
        texts: the answers.
        wrong: whether it is none of the references.
        edits, lengths: tokens to change, and tokens of the nearest reference: token_error is the ratio of their sums.
        word_edits, word_lengths: the same of words, for word_error.
        scores: sequence_error, token_error, word_error, bleu, chrf, as `heedful.evaluate` gives them.
        signature: of these.
    """

    texts: tuple[str, ...]
    wrong: tuple[bool, ...]
    edits: tuple[int, ...]
    lengths: tuple[int, ...]
    word_edits: tuple[int, ...]
    word_lengths: tuple[int, ...]
    scores: dict[str, float]
    signature: str


class Attention(_Value):
    """The character of a run's attention, from `heedful.diagnose` on the part that is judged.

    Attributes:
        measures: by name, see docs/diagnose.md: entropy, focus, diagonality, monotonicity, unattended, overattended,
            gain_over_uniform, ..., and aer (percent) where gold links were given; None where not defined.
        verdict: "healthy", "not_enough" or the fault's name.
        sure: "high", "medium" or "low".
        says: the verdict in a sentence.
        pairs: how many were looked at.
    """

    measures: dict[str, float | None]
    verdict: str
    sure: str
    says: str
    pairs: int


class Run(_Value):
    """One training.

    Attributes:
        folder: of the run, from that of the comparison.
        updates, epochs, minutes: what it used.
        best_updates: after how many updates it had the weights that it answers with.
        stopped: "budget", "patience", or the error that ended it.
        dev, test: its answers; None where there is no such part.
        attention: None of a design without attention.
    """

    seed: int
    folder: str
    updates: int
    epochs: float
    minutes: float
    best_updates: int
    stopped: str
    dev: Answers
    test: Answers | None
    attention: Attention | None


class Dimensions(_Value):
    """A design in words: the order of computation (fusion), score, scope, normaliser, and where the context enters."""

    order: str
    score: str
    scope: str
    normaliser: str
    context: str


class Cost(_Value):
    """What a design costs; speeds and memory are measured with its first seed's run, nothing else running.

    Attributes:
        train_tokens_per_second: target tokens, end symbols counted, over whole updates.
        sentences_per_second: answered with the recipe's own search.
        train_memory, predict_memory: the peak of a process that does nothing else, libraries included; None where the
            system does not tell.
    """

    parameters: int
    train_tokens_per_second: float
    sentences_per_second: float
    train_memory: float | None
    predict_memory: float | None


class Design(_Value):
    """One of those that are compared.

    Attributes:
        name: as in `recipes`.
        title: in a few words.
        settings: of all keys in which the designs differ this one's values, as in a recipe; the same keys for all.
        recipe: all settings, as TOML; without the seed's.
    """

    name: str
    title: str
    settings: dict[str, str]
    recipe: str
    dimensions: Dimensions
    cost: Cost
    runs: tuple[Run, ...]


class Interval(_Value):
    """A mean over seeds, and where it would lie in 95 of 100 such experiments."""

    value: float
    low: float
    high: float


class Difference(_Value):
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


class Judged(_Value):
    """One metric on one part: each design's mean over its seeds, and all pairs of designs (first before second)."""

    part: PartName
    metric: Metric
    errors: tuple[Interval, ...]
    differences: tuple[Difference, ...]


class Group(_Value):
    """Sources that are alike, from `low` to `high`; `differences` as in `Judged`, adjusted within the group."""

    label: str
    low: int
    high: int
    sources: int
    errors: tuple[Interval, ...]
    differences: tuple[Difference, ...]


class Breakdown(_Value):
    """One metric by source length, by how often the rarest source token was seen, or by unknown source tokens.

    There is none where all sources would be in one group.
    """

    by: Literal["length", "rarest", "unknown"]
    part: PartName
    metric: Metric
    groups: tuple[Group, ...]


class Answered(_Value):
    """What one design (its first seed) says to an example, and where it looked while it said it."""

    text: str
    wrong: bool
    alignment: Weights | None


class Example(_Value):
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


class Finding(_Value):
    """A sentence of the recommendation, and the numbers that it follows from."""

    says: str
    because: str


class Comparison(_Value):
    """All that a comparison found.

    Attributes:
        metric: what decides.
        parts: dev, and test where there is one.
        judged: every metric on every part.
        breakdowns: `metric` on the last part.
        recommendation: what to take, and why; the first sentence answers the question.
        notes: what must be known to read the numbers: one seed only, runs that stopped early, ...
        signature: one line that says how it was made.
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
