"""From numbers to words: which fault there is, why, how sure that is, and what to try."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from heedful.diagnosis import thresholds as at
from heedful.diagnosis.advice import ADVICE, DETAILS, SAYS

Numbers = Mapping[str, float]

STRONGEST = 100.0
"""What a strength is at most: a number that is next to 0 where it must not be is any number of times beyond."""


class Evidence(NamedTuple):
    """One number that spoke for a verdict.

    Attributes:
        measure: its name among the measures.
        value: what was measured.
        limit: where the fault begins, ``"<= 0.001"``.
        strength: how far beyond: 1 at the limit, 2 where it is twice as clear, at most `STRONGEST`; below 1 it is short
            of the limit.
    """

    measure: str
    value: float
    limit: str
    strength: float


@dataclass(frozen=True)
class Verdict:
    """What is wrong with attention, or that nothing is.

    Attributes:
        name: ``"healthy"``, ``"not_enough"`` or a fault: see `RULES`.
        sure: ``"high"``, ``"medium"`` or ``"low"``: see `judge`.
        says: the verdict in a sentence.
        evidence: the numbers that decided; of healthy attention what kept it from each fault, the nearest first.
        also: other faults that the numbers speak for, less grave or a consequence of the first.
        advice: what to try.
    """

    name: str
    sure: str
    says: str
    evidence: tuple[Evidence, ...]
    also: tuple[str, ...]
    advice: tuple[str, ...]


def _at_most(name: str, limit: float) -> Callable[[Numbers], Evidence]:
    def look(numbers: Numbers) -> Evidence:
        value = numbers.get(name, float("nan"))
        return Evidence(name, value, f"<= {limit:g}", _strength(limit / max(value, 1e-12)))

    return look


def _at_least(name: str, limit: float) -> Callable[[Numbers], Evidence]:
    def look(numbers: Numbers) -> Evidence:
        value = numbers.get(name, float("nan"))
        return Evidence(name, value, f">= {limit:g}", _strength(value / limit))

    return look


def _near_one(name: str, limit: float) -> Callable[[Numbers], Evidence]:
    """`_at_least` for what can be 1 at most: the distance to 1 is what counts."""

    def look(numbers: Numbers) -> Evidence:
        value = numbers.get(name, float("nan"))
        return Evidence(name, value, f">= {limit:g}", _strength((1 - limit) / max(1 - value, 1e-12)))

    return look


def _strength(ratio: float) -> float:
    """From 0, which NaN is too, to `STRONGEST`."""
    return min(max(ratio, 0.0), STRONGEST) if ratio == ratio else 0.0


class Rule(NamedTuple):
    """A fault is there where all of `every` are beyond their limits, or, where `any_of` is given, one of these."""

    name: str
    every: Sequence[Callable[[Numbers], Evidence]] = ()
    any_of: Sequence[Callable[[Numbers], Evidence]] = ()

    def look(self, numbers: Numbers) -> tuple[float, tuple[Evidence, ...]]:
        """How strongly the numbers speak for it (1 and more: it is so), and which."""
        seen = [look(numbers) for look in self.every]
        strengths = [one.strength for one in seen]
        if self.any_of:
            best = max((look(numbers) for look in self.any_of), key=lambda one: one.strength)
            strengths.append(best.strength)
            seen.append(best)
        return min(strengths), tuple(seen)


RULES = (
    Rule(
        "padding_leak",
        any_of=(_at_least("on_padding", at.PADDING_WEIGHT), _at_least("beside_others", at.BESIDE_OTHERS)),
    ),
    Rule("frozen", [_at_most("from_uniform_in_scope", at.FROZEN_DISTANCE)]),
    Rule("query_blind", [_at_most("query_effect", at.BLIND_EFFECT)]),
    Rule("lazy", [_near_one("one_position", at.LAZY_SHARE)]),
    Rule("ignored", [_at_most("gain_over_other_context", at.IGNORED_GAIN)]),
    Rule("diffuse", [_near_one("entropy_in_scope", at.FLAT_ENTROPY)]),
    Rule("query_blind", [_at_most("row_difference", at.BLIND_DIFFERENCE)]),
    Rule("shifted", [_at_least("best_other_fit", at.SHIFTED_FIT), _at_least("lead_of_other_fit", at.SHIFTED_LEAD)]),
    Rule(
        "late_collapse",
        [_at_least("late_error", at.LATE_ERROR)],
        any_of=[_at_least("late_excess", at.LATE_EXCESS), _at_least("late_loss_excess", at.LATE_LOSS_EXCESS)],
    ),
)
"""In the order in which they are looked for: what makes the later ones meaningless comes first.

Where padding has weight, every other number is of another model than the one that is meant. Frozen attention is also
flat, the same in every row, and of no use; query-blind attention may be flat or peaked, on one position too; lazy
attention is nearly the same in every row, and so may flat attention be: only where it is neither is a query that moves
next to nothing called blind. Attention that is not needed has had no reason to form, so that it is flat says nothing.
Whether rows belong to another word is a question only about attention that is none of these; and what happens late in
long answers, only where all else is well.
"""


def _something(numbers: Numbers) -> bool:
    """Whether any number is known that speaks of attention on real positions."""
    looks = (look for rule in RULES if rule.name != "padding_leak" for look in (*rule.every, *rule.any_of))
    return any(value == value for value in (look(numbers).value for look in looks))


def judge(numbers: Numbers, *, pairs: int) -> Verdict:
    """The first of `RULES` whose numbers are all beyond their limits.

    Sure is "high" where each of them is twice as far as its limit or farther, "medium" where a quarter farther, else
    "low". Of healthy attention it is "high" where no rule is farther than half of the way to its limits, "medium" where
    none is farther than four fifths. With fewer than `thresholds.FEW_PAIRS` pairs it is always "low".

    It is "not_enough" with fewer than `thresholds.FEWEST_ALIGNMENTS` pairs, and where nothing but padding could be
    measured.

    Args:
        numbers: the measures by their names; NaN is no evidence.
        pairs: how many pairs of three source words and more they were measured on.
    """
    looks = [(rule.name, *rule.look(numbers)) for rule in RULES]
    found = [(name, strength, seen) for name, strength, seen in looks if strength >= 1]
    if pairs < at.FEWEST_ALIGNMENTS or not (found or _something(numbers)):
        return Verdict("not_enough", "low", SAYS["not_enough"], (), (), ADVICE["not_enough"])
    if found:
        (name, strength, seen), *others = found
        sure = "high" if strength >= 2 else "medium" if strength >= 1.25 else "low"
        also = tuple(dict.fromkeys(other for other, *_ in others if other != name))
    else:
        name, also = "healthy", ()
        # What holds a rule back is the one of its numbers that is least beyond its limit.
        nearest = [(strength, min(seen, key=lambda one: one.strength)) for _, strength, seen in looks if strength > 0]
        nearest.sort(key=lambda look: -look[0])
        strength, seen = max((look[0] for look in nearest), default=0.0), tuple(one for _, one in nearest)
        sure = "high" if strength <= 0.5 else "medium" if strength <= 0.8 else "low"
    says = " ".join([SAYS[name], *DETAILS.get(name, lambda numbers: ())(numbers)])
    return Verdict(name, sure if pairs >= at.FEW_PAIRS else "low", says, seen, also, ADVICE[name])
