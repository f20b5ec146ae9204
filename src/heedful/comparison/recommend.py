"""From numbers to words: which design to take, and why. Every sentence has the numbers that it follows from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from heedful.comparison.results import Breakdown, Difference, Finding, Group, Interval, Judged
from heedful.comparison.values import HIGHER_IS_BETTER, Budget, Design, Machine, Part

NOTICEABLE = 1.1
"""Times as quick: below that nobody would choose another design for it."""
FEW_SOURCES = 200
NOTHING_LEARNED = 1.0
"""Percent: a task of which even the best gets no more right cannot tell designs apart."""
SOUND = ("healthy", "not_enough")

NAMES = {
    "sequence_error": "sequence error",
    "token_error": "token error",
    "word_error": "word error",
    "bleu": "BLEU",
}


class Judgement:
    """A `Judged` with its designs: who is best, and who is really worse."""

    def __init__(self, designs: Sequence[Design], judged: Judged) -> None:
        self.designs, self.judged = list(designs), judged
        self.name, self.unit = NAMES[judged.metric], "" if judged.metric == "bleu" else " %"
        self._sign = -1 if judged.metric in HIGHER_IS_BETTER else 1
        places = range(len(self.designs))
        self.ranked = sorted(places, key=lambda place: self._sign * judged.errors[place].value)

    @property
    def best(self) -> Design:
        """Of the lowest error, or the highest BLEU."""
        return self.designs[self.ranked[0]]

    def difference(self, one: Design, other: Design) -> Difference:
        """`one` minus `other`, in such a way that above 0 is worse."""
        for each in self.judged.differences:
            if {each.first, each.second} == {one.name, other.name}:
                turned = self._sign * (1 if each.first == one.name else -1)
                low, high = sorted((turned * each.low, turned * each.high))
                value = turned * each.value
                return each.model_copy(
                    update={"first": one.name, "second": other.name, "value": value, "low": low, "high": high}
                )
        raise KeyError((one.name, other.name))

    def within(self, group: Group) -> Judgement:
        """The same of some of the sources."""
        update = {"errors": group.errors, "differences": group.differences}
        return Judgement(self.designs, self.judged.model_copy(update=update))

    def tied(self) -> list[Design]:
        """Those that are not really worse than the best, the best among them, in its order."""
        others = [self.designs[place] for place in self.ranked[1:]]
        return [self.best, *(each for each in others if not self.difference(each, self.best).real)]

    def right(self, design: Design) -> float:
        """Percent that is right, or the BLEU."""
        value = self.judged.errors[self.designs.index(design)].value
        return value if self._sign < 0 else 100 - value

    def says(self, design: Design) -> str:
        """``24.1 % (21.0 to 27.3)``."""
        return interval(self.judged.errors[self.designs.index(design)], self.unit)


def interval(value: Interval, unit: str = "") -> str:
    """``24.1 % (21.0 to 27.3)``."""
    return f"{value.value:.1f}{unit} ({value.low:.1f} to {value.high:.1f})"


def worse(difference: Difference) -> str:
    """``1.2 points worse (0.3 to 2.1; p = 0.01)``, p adjusted for the number of pairs; or so many better."""
    low, high, what = difference.low, difference.high, "worse"
    if difference.value < 0:
        low, high, what = -high, -low, "better"
    return f"{abs(difference.value):.1f} points {what} ({low:z.1f} to {high:z.1f}; p = {difference.adjusted:.2g})"


def listed(names: Sequence[str]) -> str:
    """``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def recommend(designs: Sequence[Design], judged: Judged, breakdowns: Sequence[Breakdown]) -> tuple[Finding, ...]:
    """What to take, and why; the first sentence answers the question.

    The best is that with the lowest error (the highest BLEU). Then: the quickest of those that are not really worse, if
    one is noticeably quicker; whether attention is worth it; lengths at which another design is really better; and
    attention that is not healthy.

    Args:
        judged: what decides.
        breakdowns: of the same metric and part.
    """
    judgement = Judgement(designs, judged)
    if len(designs) == 1:
        return (Finding(says=f"There is nothing to choose from but {designs[0].name}.", because=_only(judgement)),)
    if judgement.right(judgement.best) <= NOTHING_LEARNED:
        return (_nothing(judgement),)
    return (
        _best(judgement),
        *_quickest(judgement),
        *_worth(judgement),
        *_by_length(judgement, breakdowns),
        *_health(judgement),
    )


def _nothing(judgement: Judgement) -> Finding:
    best = judgement.best
    return Finding(
        says="No design has learned the task yet: give a larger budget.",
        because=f"Even the best, {best.name}, has a {judgement.name} of {judgement.says(best)}.",
    )


def _only(judgement: Judgement) -> str:
    return f"Its {judgement.name} is {judgement.says(judgement.best)}."


def _best(judgement: Judgement) -> Finding:
    best, tied = judgement.best, judgement.tied()
    lowest = "highest" if judgement.judged.metric in HIGHER_IS_BETTER else "lowest"
    value = f"Its {judgement.name}, {judgement.says(best)}, is the {lowest} of {len(judgement.designs)}"
    second = judgement.designs[judgement.ranked[1]]
    difference = judgement.difference(second, best)
    if len(tied) == 1:
        return Finding(
            says=f"Take {best.name}.",
            because=f"{value}; the next, {second.name}, is {worse(difference)}. Every other is really worse.",
        )
    others = [each.name for each in tied[1:]]
    return Finding(
        says=f"Take {best.name}; it cannot be told apart from {listed(others)}.",
        because=f"{value}, but {tied[1].name} is only {worse(judgement.difference(tied[1], best))}: that may be "
        "chance. More seeds, or more test data, may tell.",
    )


def _quickest(judgement: Judgement) -> Iterator[Finding]:
    best, tied = judgement.best, judgement.tied()
    quick = max(tied, key=lambda each: each.cost.sentences_per_second)
    times = quick.cost.sentences_per_second / best.cost.sentences_per_second
    if quick is not best and times >= NOTICEABLE:
        yield Finding(
            says=f"If speed counts, take {quick.name}.",
            because=f"It answers {quick.cost.sentences_per_second:,.0f} sentences a second, {times:.2g} times as many "
            f"as {best.name}, trains on {quick.cost.train_tokens_per_second:,.0f} target tokens a second "
            f"({best.name}: {best.cost.train_tokens_per_second:,.0f}), and is not really worse: "
            f"{worse(judgement.difference(quick, best))}.",
        )


def _worth(judgement: Judgement) -> Iterator[Finding]:
    """Attention against none."""
    without = [each for each in judgement.designs if not _has_attention(each)]
    having = [place for place in judgement.ranked if _has_attention(judgement.designs[place])]
    if not without or not having:
        return
    fixed, attentive = without[0], judgement.designs[having[0]]
    difference = judgement.difference(fixed, attentive)
    if not difference.real:
        yield Finding(
            says="Here attention is not shown to help.",
            because=f"{fixed.name}, which has none, is {worse(difference)} than {attentive.name}: that may be chance.",
        )
    elif difference.value > 0:
        yield Finding(
            says="Attention is worth it.",
            because=f"{fixed.name}, which has none, is {worse(difference)} than {attentive.name}.",
        )
    else:
        yield Finding(
            says="Attention does harm here, or has not been learned yet.",
            because=f"{attentive.name} is {worse(judgement.difference(attentive, fixed))} than {fixed.name}, which has "
            "none.",
        )


def _has_attention(design: Design) -> bool:
    return any(run.attention is not None for run in design.runs)


def _by_length(judgement: Judgement, breakdowns: Sequence[Breakdown]) -> Iterator[Finding]:
    for groups in (each.groups for each in breakdowns if each.by == "length"):
        best = judgement.best
        for group in groups:
            within = judgement.within(group)
            if within.best is not best and within.difference(best, within.best).real:
                yield Finding(
                    says=f"For sources of {group.label} tokens, {within.best.name} is better.",
                    because=f"There {best.name} is {worse(within.difference(best, within.best))} than "
                    f"{within.best.name}, on {group.sources} sources.",
                )
        yield from _falls_behind(judgement, groups[0], groups[-1])


def _falls_behind(judgement: Judgement, short: Group, long: Group) -> Iterator[Finding]:
    """Who is much further behind on long sources than on short ones: the bottleneck of a fixed vector."""
    best = judgement.best
    for design in judgement.designs:
        if design is best:
            continue
        near, far = (judgement.within(group).difference(design, best) for group in (short, long))
        if far.real and far.value > 0 and far.low > max(near.high, 0):
            yield Finding(
                says=f"{design.name} falls behind with length.",
                because=f"On sources of {short.label} tokens it is {near.value:z.1f} points worse than {best.name} "
                f"({near.low:z.1f} to {near.high:z.1f}), on those of {long.label} {far.value:.1f} "
                f"({far.low:.1f} to {far.high:.1f}).",
            )


def _health(judgement: Judgement) -> Iterator[Finding]:
    for place in judgement.ranked:
        design = judgement.designs[place]
        looked = [run.attention for run in design.runs if run.attention is not None]
        faulty = [attention for attention in looked if attention.verdict not in SOUND]
        if faulty:
            first = faulty[0]
            yield Finding(
                says=f"Look at the attention of {design.name} before you trust it.",
                because=f"In {len(faulty)} of {len(looked)} runs it is {first.verdict.replace('_', ' ')}: {first.says}",
            )


def notes(designs: Sequence[Design], part: Part, budget: Budget, machine: Machine) -> tuple[str, ...]:
    """What must be known to read the numbers."""
    runs = [(design, run) for design in designs for run in design.runs]
    found = []
    if len(budget.seeds) == 1:
        found.append("One seed: intervals hold for these trained models. Another seed may put them in another order.")
    elif len(budget.seeds) == 2:
        found.append("Two seeds: how much seeds matter is known roughly, so intervals are wide. Take three or more.")
    if len(part.sources) < FEW_SOURCES:
        found.append(f"{len(part.sources)} sources in {part.name} are few: only large differences can be seen.")
    for design, run in runs:
        if run.stopped not in ("budget", "patience"):
            found.append(f"{design.name}, seed {run.seed}, did not end well: {run.stopped}")
    rising = sum(run.best_updates == run.updates and run.stopped == "budget" for _, run in runs)
    if 2 * rising > len(runs):
        found.append(
            f"{rising} of {len(runs)} runs were at their best at the end of their budget: with more of it they may "
            "become better, and the order another."
        )
    if budget.minutes is not None and machine.jobs > 1:
        found.append(f"The minutes were counted while {machine.jobs} trained at once, and a run had one thread.")
    return tuple(found)
