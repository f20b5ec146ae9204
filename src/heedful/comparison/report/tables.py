"""The tables of a report, as texts: the page and the Markdown show the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from heedful.comparison.recommend import NAMES as METRIC_NAMES
from heedful.comparison.report.figures import NONE, count, digits_for, figure, probability, rounded, signed
from heedful.comparison.report.terms import PART_NAMES, Ranked, between, gain, mean, metric_name, plural, ranked, widths
from heedful.comparison.results import Breakdown, Comparison, Difference, Interval, Judged
from heedful.comparison.values import Design, PartName, Run


class Table(NamedTuple):
    """A row for each design, or for each of something else.

    Attributes:
        head: of all columns, the first is that of the rows' names.
        rows: texts; the first of each is its name.
        designs: whose row it is, where it is a design's.
    """

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    designs: tuple[Ranked, ...] = ()


def of_designs(comparison: Comparison, columns: dict[str, Callable[[Design], str]]) -> Table:
    """A row for each design, the best first; columns in which no design has anything are left out."""
    designs = tuple(ranked(comparison))
    cells = {head: [_or_none(read(one.design)) for one in designs] for head, read in columns.items()}
    kept = {head: texts for head, texts in cells.items() if set(texts) != {NONE}}
    rows = zip([one.name for one in designs], *kept.values(), strict=True)
    return Table(("design", *kept), tuple(rows), designs)


def _or_none(text: str) -> str:
    return NONE if text in ("", "-") else text


def interval(value: Interval, digits: int) -> str:
    """``"29.8 (29.1 to 30.5)"``."""
    return f"{figure(value.value, digits)} ({figure(value.low, digits)} to {figure(value.high, digits)})"


def quality(comparison: Comparison) -> Table:
    """Every metric on every part with its interval; what decides first."""
    judged = sorted(comparison.judged, key=lambda one: one.metric != comparison.metric)
    places = {design.name: place for place, design in enumerate(comparison.designs)}

    def reader(one: Judged) -> Callable[[Design], str]:
        digits = digits_for(widths(one.errors))
        return lambda design: interval(one.errors[places[design.name]], digits)

    return of_designs(comparison, {f"{metric_name(one.metric)}, {one.part}": reader(one) for one in judged})


def make_up(comparison: Comparison) -> Table:
    """What each design is."""
    columns: dict[str, Callable[[Design], str]] = {
        "in words": lambda design: design.title if design.title != design.name else "",
        "order of computation": lambda design: design.dimensions.order,
        "score": lambda design: design.dimensions.score,
        "scope": lambda design: design.dimensions.scope,
        "normaliser": lambda design: design.dimensions.normaliser,
        "where the context enters": lambda design: design.dimensions.context,
    }
    return of_designs(comparison, columns)


def cost(comparison: Comparison) -> Table:
    """What each design costs."""
    columns: dict[str, Callable[[Design], str]] = {
        "parameters": lambda design: count(design.cost.parameters),
        "training, target tokens/s": lambda design: rounded(design.cost.train_tokens_per_second),
        "predicting, sentences/s": lambda design: rounded(design.cost.sentences_per_second),
        "peak memory training, MiB": lambda design: figure(design.cost.train_memory, 0),
        "peak memory predicting, MiB": lambda design: figure(design.cost.predict_memory, 0),
        "minutes a run": lambda design: rounded(mean(run.minutes for run in design.runs), 2),
    }
    return of_designs(comparison, columns)


def character(comparison: Comparison) -> Table:
    """How each design's attention looks: means over its runs, and their verdicts."""
    columns: dict[str, Callable[[Design], str]] = {
        "entropy": lambda design: _measured(design, "entropy"),
        "diagonality": lambda design: _measured(design, "diagonality"),
        "AER, %": lambda design: _measured(design, "aer", 1),
        "health": health,
    }
    return of_designs(comparison, columns)


def _measured(design: Design, name: str, digits: int = 2) -> str:
    return figure(mean(run.attention.measures.get(name) for run in design.runs if run.attention), digits)


def health(design: Design) -> str:
    """The verdicts of a design's runs: ``"healthy"``, ``"healthy 2 of 3, diffuse 1 of 3"``; for one without, `NONE`."""
    found = Counter(run.attention.verdict.replace("_", " ") for run in design.runs if run.attention)
    runs = sum(found.values())
    if len(found) < 2:
        return next(iter(found), NONE)
    return ", ".join(f"{name} {times} of {runs}" for name, times in found.most_common())


def differences(comparison: Comparison) -> Table:
    """Row minus column, and the adjusted p; what is real has a star."""
    judged, designs = comparison.judgement(), tuple(ranked(comparison))
    digits = digits_for(widths(judged.errors))

    def cell(one: Ranked, other: Ranked) -> str:
        found = between(judged.differences, one.name, other.name)
        return NONE if found is None else difference(found, digits)

    rows = ((one.name, *(cell(one, other) for other in designs)) for one in designs)
    return Table(("row minus column", *(one.name for one in designs)), tuple(rows), designs)


def difference(found: Difference, digits: int) -> str:
    """``"−1.2*, p = 0.004"``."""
    return f"{signed(found.value, digits)}{'*' if found.real else ''}, {probability(found.adjusted)}"


def pairs(comparison: Comparison) -> Table:
    """Every pair of designs with the interval of its difference."""
    judged = comparison.judgement()
    digits = digits_for(widths(judged.errors))
    rows = (
        (
            f"{each.first} minus {each.second}",
            signed(each.value, digits) + ("*" if each.real else ""),
            f"{signed(each.low, digits)} to {signed(each.high, digits)}",
            probability(each.p),
            probability(each.adjusted),
        )
        for each in judged.differences
    )
    return Table(("pair", "difference", "95 % interval", "for this pair alone", "adjusted"), tuple(rows))


def beaten(comparison: Comparison, one: Ranked) -> list[str]:
    """The designs that `one` is better than, and that is real."""
    found = comparison.judgement().differences
    pairs = ((other, between(found, one.name, other.name)) for other in ranked(comparison))
    return [other.name for other, each in pairs if each and each.real and gain(comparison.metric, each.value) > 0]


def wins(comparison: Comparison, found: Sequence[Difference]) -> list[str]:
    """The differences that are real, in words, the largest first."""
    digits = digits_for(each.high - each.low for each in found)
    real = sorted((each for each in found if each.real), key=lambda each: -abs(each.value))
    said = []
    for each in real:
        names = (each.first, each.second) if gain(comparison.metric, each.value) > 0 else (each.second, each.first)
        said.append(
            f"{names[0]} better than {names[1]} by {figure(abs(each.value), digits)} ({probability(each.adjusted)})"
        )
    return said


def groups(comparison: Comparison, breakdown: Breakdown) -> Table:
    """A breakdown: a row for each design, a column for each group."""
    places = {design.name: place for place, design in enumerate(comparison.designs)}
    digits = digits_for(width for group in breakdown.groups for width in widths(group.errors))

    def reader(place: int) -> Callable[[Design], str]:
        group = breakdown.groups[place]
        return lambda design: interval(group.errors[places[design.name]], digits)

    heads = [f"{group.label}, {plural(group.sources, 'source')}" for group in breakdown.groups]
    return of_designs(comparison, {head: reader(place) for place, head in enumerate(heads)})


def runs(comparison: Comparison) -> Table:
    """Every run, what it used and how good it was."""
    metric = comparison.metric
    parts: list[PartName] = [part.name for part in comparison.parts]
    head = ("design", "seed", "updates", "epochs", "minutes", "best after", "ended by", *parts, "health", "folder")
    designs = [(one, run) for one in ranked(comparison) for run in one.design.runs]

    def row(one: Ranked, run: Run) -> tuple[str, ...]:
        digits = [digits_for(widths(comparison.judgement(metric, part).errors)) for part in parts]
        scores = [run.dev.scores, run.test.scores if run.test else {}]
        values = [figure(score.get(metric), most) for score, most in zip(scores, digits, strict=False)]
        verdict = run.attention.verdict.replace("_", " ") if run.attention else NONE
        used = (count(run.updates), figure(run.epochs, 1), figure(run.minutes, 1), count(run.best_updates))
        return (one.name, str(run.seed), *used, run.stopped, *values, verdict, run.folder)

    return Table(head, tuple(row(one, run) for one, run in designs), tuple(one for one, _ in designs))


def settings(comparison: Comparison) -> Table:
    """The settings in which designs differ."""
    keys = dict.fromkeys(name for design in comparison.designs for name in design.settings)
    columns = {name: _setting(name) for name in keys}
    return of_designs(comparison, columns)


def _setting(name: str) -> Callable[[Design], str]:
    return lambda design: design.settings.get(name, NONE)


def facts(comparison: Comparison) -> list[tuple[str, str]]:
    """Name and value of what was compared on, for how long, and on what machine."""
    data, budget, machine = comparison.data, comparison.budget, comparison.machine
    given = [
        f"{PART_NAMES[part.name]}: {getattr(data, part.name) or 'split off'}, {plural(part.lines, 'line')}, "
        f"{plural(len(part.sources), 'distinct source')}"
        for part in comparison.parts
    ]
    spent = plural(budget.updates, "update") if budget.updates is not None else f"{figure(budget.minutes, 1)} minutes"
    found = [
        ("data", f"{data.pairs}, {plural(data.train_pairs, 'pair')} to train on"),
        *(tuple(one.split(": ", 1)) for one in given),
        *([("gold links", data.links)] if data.links else []),
        ("budget of a run", spent),
        ("seeds", ", ".join(map(str, budget.seeds))),
        ("what decides", f"{METRIC_NAMES[comparison.metric]} on {PART_NAMES[comparison.part.name]}"),
        ("machine", f"{machine.processor}, {plural(machine.cores, 'core')}"),
        (
            "trainings at once",
            f"{machine.jobs}, each with {plural(machine.threads, 'thread')}; speeds were timed alone",
        ),
        ("versions", ", ".join(f"{name} {version}" for name, version in machine.versions.items())),
        ("signature", comparison.signature),
    ]
    return [(one, other) for one, other in found]
