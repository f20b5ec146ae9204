"""The recommendation follows from the numbers: each rule with numbers for it and against it."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest

from comparison.sample import sample_comparison
from heedful.comparison import Breakdown, Budget, Design, Difference, Finding, Group, Interval, Judged
from heedful.comparison.recommend import notes, recommend

SAMPLE = sample_comparison(sources=30)
FIXED, EARLY, DOT, LOCAL = SAMPLE.designs


def judged(values: dict[str, float], *, real: float = 5, metric: Any = "sequence_error") -> dict[str, Any]:
    """Intervals of one point to each side; differences are real from `real` points on."""
    errors = tuple(Interval(value=value, low=value - 1, high=value + 1) for value in values.values())
    differences = tuple(
        Difference(
            first=one,
            second=other,
            value=values[one] - values[other],
            low=values[one] - values[other] - 2,
            high=values[one] - values[other] + 2,
            p=0.01,
            adjusted=0.02 if abs(values[one] - values[other]) >= real else 0.4,
            real=abs(values[one] - values[other]) >= real,
        )
        for one, other in combinations(values, 2)
    )
    return {"errors": errors, "differences": differences}


def findings(
    designs: tuple[Design, ...],
    values: list[float],
    *,
    metric: Any = "sequence_error",
    groups: dict[str, list[float]] | None = None,
) -> list[Finding]:
    names = [design.name for design in designs]

    def named(numbers: list[float]) -> dict[str, Any]:
        return judged(dict(zip(names, numbers, strict=True)))

    by = [Group(label=label, low=1, high=2, sources=50, **named(numbers)) for label, numbers in (groups or {}).items()]
    breakdowns = [Breakdown(by="length", part="test", metric=metric, groups=tuple(by))] if by else []
    return list(recommend(designs, Judged(part="test", metric=metric, **named(values)), breakdowns))


def says(found: list[Finding]) -> list[str]:
    return [finding.says for finding in found]


def test_the_best_where_all_others_are_really_worse():
    found = findings((EARLY, DOT), [20, 30])
    assert says(found) == ["Take early."]
    assert "sequence error, 20.0 % (19.0 to 21.0), is the lowest of 2" in found[0].because
    assert "late_dot, is 10.0 points worse (8.0 to 12.0; p = 0.02)" in found[0].because


def test_of_bleu_the_highest():
    found = findings((EARLY, DOT), [20, 30], metric="bleu")
    assert says(found)[0] == "Take late_dot."
    assert (
        "BLEU, 30.0 (29.0 to 31.0), is the highest of 2; the next, early, is 10.0 points worse (8.0" in found[0].because
    )


def test_a_tie_is_told_and_the_quicker_one():
    slow = EARLY.model_copy(update={"cost": EARLY.cost.model_copy(update={"sentences_per_second": 100.0})})
    found = findings((slow, DOT, LOCAL), [20, 22, 30])
    assert says(found) == [
        "Take early; it cannot be told apart from late_dot.",
        "If speed counts, take late_dot.",
    ]
    assert "350 sentences a second, 3.5 times as many as early" in found[1].because
    assert "2.0 points worse (0.0 to 4.0; p = 0.4)" in found[1].because


def test_what_is_hardly_quicker_or_really_worse_is_not_offered():
    slower = EARLY.model_copy(update={"cost": EARLY.cost.model_copy(update={"sentences_per_second": 349.0})})
    assert says(findings((slower, DOT), [20, 22])) == ["Take early; it cannot be told apart from late_dot."]
    quick = DOT.model_copy(update={"cost": DOT.cost.model_copy(update={"sentences_per_second": 9999.0})})
    assert says(findings((EARLY, quick), [20, 26])) == ["Take early."]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([40, 20], "Attention is worth it."),
        ([22, 20], "Here attention is not shown to help."),
        ([20, 40], "Attention does harm here, or has not been learned yet."),
    ],
)
def test_whether_attention_is_worth_it(values, said):
    assert said in says(findings((FIXED, EARLY), values))


def test_nothing_is_said_of_attention_where_all_have_it():
    assert not any("ttention" in said for said in says(findings((EARLY, DOT), [20, 40])))


def test_a_length_at_which_another_is_better():
    found = findings((EARLY, DOT), [20, 22], groups={"1–4": [15, 9], "5–9": [30, 32]})
    assert "For sources of 1–4 tokens, late_dot is better." in says(found)
    assert "There early is 6.0 points worse (4.0 to 8.0; p = 0.02) than late_dot, on 50 sources." in found[-1].because
    assert len(findings((EARLY, DOT), [20, 22], groups={"1–4": [12, 9], "5–9": [30, 32]})) == 1  # that may be chance


def test_what_falls_behind_with_length():
    found = findings((FIXED, EARLY), [40, 20], groups={"1–4": [15, 12], "5–9": [80, 30]})
    assert says(found)[-1] == "fixed falls behind with length."
    assert "On sources of 1–4 tokens it is 3.0 points worse than early (1.0 to 5.0), on those of 5–9 50.0" in (
        found[-1].because
    )
    assert len(findings((FIXED, EARLY), [40, 20], groups={"1–4": [32, 12], "5–9": [52, 30]})) == 2  # as far everywhere


def test_attention_that_is_not_healthy():
    run = DOT.runs[1]
    assert run.attention is not None
    ill = run.attention.model_copy(update={"verdict": "lazy_attention", "says": "It looks at one word."})
    design = DOT.model_copy(update={"runs": (DOT.runs[0], run.model_copy(update={"attention": ill}))})
    found = findings((EARLY, design), [20, 40])
    assert says(found)[1:] == ["Look at the attention of late_dot before you trust it."]
    assert found[1].because == "In 1 of 2 runs it is lazy attention: It looks at one word."


@pytest.mark.parametrize(("values", "metric"), [([99.2, 100], "sequence_error"), ([0.4, 0.9], "bleu")])
def test_where_nothing_was_learned_nothing_is_recommended(values, metric):
    found = findings((FIXED, EARLY), values, metric=metric)
    assert says(found) == ["No design has learned the task yet: give a larger budget."]
    assert "the best, fixed, has a sequence error of 99.2 %" in found[0].because or metric == "bleu"
    assert says(findings((FIXED, EARLY), [98, 99.5]))[0].startswith("Take fixed")


def test_one_design():
    (finding,) = findings((EARLY,), [20])
    assert finding.because == "Its sequence error is 20.0 % (19.0 to 21.0)."


def notes_of(**changes: Any) -> str:
    given = {"designs": SAMPLE.designs, "part": SAMPLE.part, "budget": SAMPLE.budget, "machine": SAMPLE.machine}
    return " ".join(notes(**{**given, **changes}))


def test_notes_tell_what_makes_numbers_doubtful():
    assert "Two seeds" in notes_of()
    assert "One seed" in notes_of(budget=Budget(updates=9, minutes=None, seeds=(1,)))
    assert "seed" not in notes_of(budget=Budget(updates=9, minutes=None, seeds=(1, 2, 3)))
    assert "sources in test are few" in notes_of()
    assert "The minutes were counted while 2 trained" in notes_of(budget=Budget(updates=None, minutes=1, seeds=(1,)))
    assert "at their best at the end" not in notes_of()


def test_notes_tell_of_runs_that_did_not_end_well_or_might_have_gone_on():
    def changed(**update: Any) -> tuple[Design, ...]:
        return tuple(
            each.model_copy(update={"runs": tuple(run.model_copy(update=update) for run in each.runs)})
            for each in SAMPLE.designs
        )

    assert "early, seed 2, did not end well: the loss is nan" in notes_of(designs=changed(stopped="the loss is nan"))
    assert "8 of 8 runs were at their best at the end of their budget" in notes_of(designs=changed(best_updates=2000))
    assert "at their best" not in notes_of(designs=changed(best_updates=2000, stopped="patience"))
