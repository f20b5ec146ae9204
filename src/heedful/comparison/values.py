"""The values of a comparison: what was compared, and what each run answered. `results` has what follows from them.

A `Comparison` holds everything that its tables, its report and its recommendation are made from: each run's answer to
each source too, so that every number can be computed again. What is not known or not defined is None; nothing is NaN.
Rates and BLEU are in percent, memory in MiB, times in minutes. Tuples that run over designs have the order of
`Comparison.designs`, those that run over sources that of `Part.sources`.

The report is written by ``heedful.comparison.report.write_report(comparison: Comparison, folder: Path) -> None``, which
makes ``report.md`` and ``report.html`` in `folder`.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

Metric = Literal["sequence_error", "token_error", "word_error", "bleu"]
METRICS: tuple[Metric, ...] = ("sequence_error", "token_error", "word_error", "bleu")
HIGHER_IS_BETTER = ("bleu",)

PartName = Literal["dev", "test"]


class Value(BaseModel):
    """Immutable, and strict about what it is made of."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Data(Value):
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


class Budget(Value):
    """What each run was given: updates or minutes; and the seeds of each design."""

    updates: int | None
    minutes: float | None
    seeds: tuple[int, ...]


class Machine(Value):
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


class Part(Value):
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


class Answers(Value):
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


class Attention(Value):
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


class Validation(Value):
    """How good a training was on the development data on its way, its answers found by greedy search.

    Attributes:
        updates, minutes: since it began.
        scores: sequence_error, token_error, word_error, bleu, chrf.
    """

    updates: int
    minutes: float
    scores: dict[str, float]


class Run(Value):
    """One training.

    Attributes:
        folder: of the run, from that of the comparison.
        updates, epochs, minutes: what it used.
        best_updates: after how many updates it had the weights that it answers with.
        stopped: "budget", "patience", or the error that ended it.
        dev, test: its answers; None where there is no such part.
        attention: None of a design without attention.
        curve: its validations, in order.
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
    curve: tuple[Validation, ...] = ()


class Dimensions(Value):
    """A design in words: the order of computation (fusion), score, scope, normaliser, and where the context enters."""

    order: str
    score: str
    scope: str
    normaliser: str
    context: str


class Cost(Value):
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


class Design(Value):
    """One of those that are compared.

    Attributes:
        name: as in `recipes`.
        title: in a few words.
        settings: of all keys in which the designs differ this one's values, as in a recipe; the same keys for all.
        recipe: all settings, as TOML, with the first seed.
    """

    name: str
    title: str
    settings: dict[str, str]
    recipe: str
    dimensions: Dimensions
    cost: Cost
    runs: tuple[Run, ...]
