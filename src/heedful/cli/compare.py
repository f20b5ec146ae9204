"""A comparison while it runs, and as a screen of text."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from heedful.cli.show import above

if TYPE_CHECKING:
    from heedful.comparison import Breakdown, Comparison, Difference, Interval
    from heedful.series import Finished, Trial
    from heedful.training import Update, Validated

_WIDTH = 100


class SeriesProgress:
    """A watcher for people: a bar for each training that runs, a line for each that ended."""

    def __init__(self, screen: Any) -> None:
        self._bar = screen
        self._tasks: dict[tuple[str, int], int] = {}

    def remark(self, text: str) -> None:
        above(self._bar, text)

    def began(self, trial: Trial, *, resumed: bool) -> None:
        self._tasks[trial.name, trial.seed] = self._bar.add_task(str(trial), total=1.0, state="")
        if resumed:
            self.remark(f"{trial}: goes on")

    def message(self, trial: Trial, text: str) -> None:
        if text.startswith("warning"):  # sizes and the like are the same for all
            self.remark(f"{trial}: {text}")

    def update(self, trial: Trial, update: Update) -> None:
        state = f"epoch {update.epoch}  loss {update.loss:.3f}  {update.tokens_per_second:,.0f} tokens/s"
        self._bar.update(self._tasks[trial.name, trial.seed], completed=update.share, state=state)

    def validated(self, trial: Trial, validated: Validated) -> None:
        pass

    def ended(self, trial: Trial, finished: Finished) -> None:
        if (task := self._tasks.pop((trial.name, trial.seed), None)) is not None:
            self._bar.remove_task(task)
        how = "" if finished.stopped in ("budget", "patience") else f"; {finished.stopped}"
        state = "was finished" if finished.already else "finished"
        self.remark(f"{trial}: {state}, {finished.updates:,} updates in {finished.minutes:.1f} min{how}")


def comparison_text(found: Comparison) -> str:
    """Quality and cost of each design, the differences, quality by length, the recommendation."""
    blocks = [
        _quality(found),
        _differences(found),
        *(_by(found, each) for each in found.breakdowns),
        _cost(found),
        _words(found),
        [found.signature],
    ]
    return "\n\n".join("\n".join(block) for block in blocks)


def _quality(found: Comparison) -> list[str]:
    judged = [each for each in found.judged if each.part == found.part.name]
    tokens = found.judgement("token_error").errors  # where tokens are what stands between spaces, words are the same
    judged = [each for each in judged if each.metric != "word_error" or each.errors != tokens]
    names = [each.metric.replace("_", " ") for each in judged]
    header = ["", *("BLEU" if name == "bleu" else f"{name} %" for name in names)]
    rows = [
        [design.name, *(_interval(each.errors[place]) for each in judged)] for place, design in enumerate(found.designs)
    ]
    seeds = "1 seed" if len(found.budget.seeds) == 1 else f"mean of {len(found.budget.seeds)} seeds"
    return [
        f"On {len(found.part.sources):,} sources of {found.part.name}, {seeds}, with 95 % intervals:",
        *_table([header, *rows]),
    ]


def _interval(value: Interval) -> str:
    return f"{value.value:.2f} ({value.low:z.2f} to {value.high:z.2f})"


def _differences(found: Comparison) -> list[str]:
    judged = found.judgement()
    if not judged.differences:
        return ["One design: no differences."]
    real = [each for each in judged.differences if each.real]
    rows = [[f"{each.first} - {each.second}", *_difference(each)] for each in real]
    rest = len(judged.differences) - len(real)
    name = judged.metric.replace("_", " ")
    return [
        f"Differences in {name} that are real (p < 0.05, adjusted for {len(judged.differences)}):"
        + ("" if real else " none"),
        *_table(rows),
        *([f"The other {rest} may be chance."] if real and rest else []),
    ]


def _difference(each: Difference) -> list[str]:
    return [f"{each.value:+.2f} ({each.low:+.2f} to {each.high:+.2f})", f"p = {each.adjusted:.2g}"]


_BY = {
    "length": "source length",
    "rarest": "how often the rarest source token was seen in training",
    "unknown": "source tokens never seen in training",
}


def _by(found: Comparison, breakdown: Breakdown) -> list[str]:
    header = ["", *(group.label for group in breakdown.groups)]
    sources = ["sources", *(f"{group.sources:,}" for group in breakdown.groups)]
    rows = [
        [design.name, *(f"{group.errors[place].value:.1f}" for group in breakdown.groups)]
        for place, design in enumerate(found.designs)
    ]
    return [f"{breakdown.metric.replace('_', ' ')} by {_BY[breakdown.by]}:", *_table([header, sources, *rows])]


def _cost(found: Comparison) -> list[str]:
    header = ["", "parameters", "train tokens/s", "sentences/s", "train MiB", "predict MiB", "entropy", "diagonality"]
    aligned = any(_mean(found, place, "aer") != "-" for place in range(len(found.designs)))
    rows = []
    for place, design in enumerate(found.designs):
        cost = design.cost
        numbers = (cost.parameters, cost.train_tokens_per_second, cost.sentences_per_second)
        memory = (cost.train_memory, cost.predict_memory)
        rows.append(
            [
                design.name,
                *(f"{number:,.0f}" for number in numbers),
                *("-" if each is None else f"{each:,.0f}" for each in memory),
                *(_mean(found, place, name) for name in ("entropy", "diagonality", *(["aer"] if aligned else []))),
                _verdict(found, place),
            ]
        )
    header += ["AER %"] if aligned else []
    return ["Cost and attention:", *_table([[*header, "verdict"], *rows])]


def _mean(found: Comparison, place: int, measure: str) -> str:
    """Over the runs in which it is defined."""
    runs = [run.attention.measures.get(measure) for run in found.designs[place].runs if run.attention is not None]
    known = [value for value in runs if value is not None]
    return f"{sum(known) / len(known):.2f}" if known else "-"


def _verdict(found: Comparison, place: int) -> str:
    """The verdicts over the runs, the most frequent first."""
    verdicts = [run.attention.verdict for run in found.designs[place].runs if run.attention is not None]
    names = sorted(dict.fromkeys(verdicts), key=lambda name: -verdicts.count(name))
    return ", ".join(f"{name.replace('_', ' ')} {verdicts.count(name)}/{len(verdicts)}" for name in names) or "-"


def _words(found: Comparison) -> list[str]:
    lines = []
    for finding in found.recommendation:
        lines += textwrap.wrap(f"{finding.says} {finding.because}", _WIDTH, subsequent_indent="  ")
    for note in found.notes:
        lines += textwrap.wrap(f"Note: {note}", _WIDTH, subsequent_indent="  ")
    return lines


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    """The first column to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
