"""What the values of a comparison are called, and the order that its report shows designs in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from heedful.comparison.recommend import NAMES as METRIC_NAMES
from heedful.comparison.recommend import listed
from heedful.comparison.report.figures import known
from heedful.comparison.results import Comparison, Difference, Interval
from heedful.comparison.values import HIGHER_IS_BETTER, Answers, Design, Metric, Run

Value = TypeVar("Value")

BOUNDED: tuple[Metric, ...] = ("sequence_error", "bleu")
"""Those that are 100 at most."""
PART_NAMES = {"dev": "development data", "test": "test data"}


def metric_name(metric: Metric, *, capital: bool = False) -> str:
    """With its unit: ``"sequence error, %"``."""
    name = METRIC_NAMES[metric] + ("" if metric == "bleu" else ", %")
    return name[0].upper() + name[1:] if capital else name


def meaning(metric: Metric, tokens: str) -> str:
    """A metric in a sentence."""
    return {
        "sequence_error": "sources whose answer is none of their references, in percent (what is called the word error "
        "rate where words are pronounced)",
        "token_error": f"edits to the nearest reference, in percent of its tokens ({tokens})",
        "word_error": "edits to the nearest reference, in percent of its words",
        "bleu": "that of sacreBLEU, 0 to 100, each line with its own reference",
    }[metric]


def sentence(metric: Metric, tokens: str) -> str:
    """Name and meaning."""
    name = METRIC_NAMES[metric]
    return f"{name[0].upper()}{name[1:]}: {meaning(metric, tokens)}"


def known_metrics(comparison: Comparison) -> list[Metric]:
    """Those that were judged, what decides first."""
    others: dict[Metric, None] = dict.fromkeys(
        judged.metric for judged in comparison.judged if judged.metric != comparison.metric
    )
    return [comparison.metric, *others]


def title(comparison: Comparison) -> str:
    """Of the report."""
    names = [design.name for design in comparison.designs]
    designs = listed(names) if len(names) <= 3 else f"{len(names)} designs"
    return f"{designs} on {comparison.data.pairs}"


def question(comparison: Comparison) -> str:
    """What the comparison asks."""
    data, budget = comparison.data, comparison.budget
    each = plural(budget.updates, "update") if budget.updates is not None else f"{budget.minutes:g} minutes"
    designs = (
        f"Which of these {len(comparison.designs)} designs is best"
        if comparison.designs[1:]
        else "How good is this design"
    )
    seeds = f" for each of {len(budget.seeds)} seeds" if len(budget.seeds) > 1 else ""
    return f"{designs} on {data.pairs} ({plural(data.train_pairs, 'pair')} to train on), given {each}{seeds}?"


def better_is(metric: Metric) -> str:
    return "higher is better" if metric in HIGHER_IS_BETTER else "lower is better"


def gain(metric: Metric, value: float) -> float:
    """How much better the first of a difference is than the second; below 0, worse."""
    return value if metric in HIGHER_IS_BETTER else -value


class Ranked(NamedTuple):
    """A design, with where it stands among the comparison's."""

    place: int
    design: Design

    @property
    def name(self) -> str:
        return self.design.name


def ranked(comparison: Comparison) -> list[Ranked]:
    """The designs, the best first; its place among `Comparison.designs` is its colour wherever it is shown."""
    errors = comparison.judgement().errors
    places = sorted(range(len(errors)), key=lambda place: -gain(comparison.metric, errors[place].value))
    return [Ranked(place, comparison.designs[place]) for place in places]


def answers_of(run: Run, part: str) -> Answers | None:
    return run.dev if part == "dev" else run.test


def each_seed(design: Design, part: str, metric: Metric) -> tuple[float, ...]:
    """Its runs' values, in the order of the runs."""
    found = (answers_of(run, part) for run in design.runs)
    return tuple(known(answers.scores.get(metric) for answers in found if answers is not None))


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known; None where none is."""
    numbers = known(values)
    return sum(numbers) / len(numbers) if numbers else None


def widths(errors: Iterable[Interval]) -> list[float]:
    return [error.high - error.low for error in errors]


def between(differences: Sequence[Difference], one: str, other: str) -> Difference | None:
    """`one` minus `other`, whichever way round it is kept."""
    for each in differences:
        if (each.first, each.second) == (one, other):
            return each
        if (each.second, each.first) == (one, other):
            turned = {"first": one, "second": other, "value": -each.value, "low": -each.high, "high": -each.low}
            return each.model_copy(update=turned)
    return None


def plural(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
