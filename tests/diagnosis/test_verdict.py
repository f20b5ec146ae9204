"""From numbers to verdicts: each rule by its limit, their order, and how sure."""

from __future__ import annotations

import pytest

from heedful.diagnosis import thresholds as at
from heedful.diagnosis.advice import ADVICE, SAYS
from heedful.diagnosis.verdict import RULES, STRONGEST, judge

GOOD = {
    "on_padding": 0.0,
    "beside_others": 1e-5,
    "from_uniform_in_scope": 0.7,
    "query_effect": 3.0,
    "one_position": 0.2,
    "gain_over_other_context": 2.0,
    "entropy_in_scope": 0.3,
    "row_difference": 0.6,
    "best_other_fit": 0.3,
    "lead_of_other_fit": -0.5,
    "late_error": 0.05,
    "late_excess": 0.01,
    "late_loss_excess": 0.05,
}

LIMITS = [
    ("padding_leak", {"on_padding": at.PADDING_WEIGHT}, 1.01),
    ("padding_leak", {"beside_others": at.BESIDE_OTHERS}, 1.01),
    ("frozen", {"from_uniform_in_scope": at.FROZEN_DISTANCE}, 0.99),
    ("query_blind", {"query_effect": at.BLIND_EFFECT}, 0.99),
    ("query_blind", {"row_difference": at.BLIND_DIFFERENCE}, 0.99),
    ("lazy", {"one_position": at.LAZY_SHARE}, 1.01),
    ("ignored", {"gain_over_other_context": at.IGNORED_GAIN}, 0.99),
    ("diffuse", {"entropy_in_scope": at.FLAT_ENTROPY}, 1.01),
    ("shifted", {"best_other_fit": at.SHIFTED_FIT, "lead_of_other_fit": at.SHIFTED_LEAD}, 1.01),
    ("late_collapse", {"late_error": at.LATE_ERROR, "late_excess": at.LATE_EXCESS}, 1.01),
    ("late_collapse", {"late_error": at.LATE_ERROR, "late_loss_excess": at.LATE_LOSS_EXCESS}, 1.01),
]


def test_good_numbers():
    verdict = judge(GOOD, pairs=100)
    assert (verdict.name, verdict.sure, verdict.also) == ("healthy", "high", ())
    assert [one.strength for one in verdict.evidence] == sorted(
        (one.strength for one in verdict.evidence), reverse=True
    )
    assert verdict.evidence[0].strength < 0.5


@pytest.mark.parametrize(("name", "limits", "beyond"), LIMITS)
def test_beyond_the_limit_and_short_of_it(name, limits, beyond):
    there = judge({**GOOD, **{key: limit * beyond for key, limit in limits.items()}}, pairs=100)
    assert there.name == name
    assert there.sure == "low"  # hardly beyond
    assert {one.measure for one in there.evidence} == set(limits)
    short = judge({**GOOD, **{key: limit / beyond for key, limit in limits.items()}}, pairs=100)
    assert (short.name, short.sure) == ("healthy", "low")


@pytest.mark.parametrize("limits", [limits for _, limits, _ in LIMITS if len(limits) > 1])
def test_one_of_two_is_not_enough(limits):
    for key, limit in limits.items():
        assert judge({**GOOD, key: 3 * limit}, pairs=100).name == "healthy"


@pytest.mark.parametrize(("strength", "sure"), [(1.1, "low"), (1.5, "medium"), (2.5, "high")])
def test_how_sure(strength, sure):
    assert judge({**GOOD, "from_uniform_in_scope": at.FROZEN_DISTANCE / strength}, pairs=100).sure == sure
    assert judge({**GOOD, "beside_others": at.BESIDE_OTHERS * strength}, pairs=100).sure == sure
    entropy = 1 - (1 - at.FLAT_ENTROPY) / strength
    assert judge({**GOOD, "entropy_in_scope": entropy}, pairs=100).sure == sure


def test_the_first_rule_is_the_verdict_and_the_others_are_told():
    bad = {**GOOD, "from_uniform_in_scope": 0.0, "query_effect": 0.0, "row_difference": 0.0, "entropy_in_scope": 1.0}
    verdict = judge(bad, pairs=100)
    assert (verdict.name, verdict.also) == ("frozen", ("query_blind", "diffuse"))


def test_blind_and_on_one_position_is_blind():
    assert (
        judge({**GOOD, "query_effect": 1e-9, "one_position": 1.0, "row_difference": 0.0}, pairs=99).name
        == "query_blind"
    )
    assert judge({**GOOD, "query_effect": 0.01, "one_position": 1.0, "row_difference": 0.0}, pairs=99).name == "lazy"


def test_flat_and_the_same_everywhere_is_diffuse():
    assert judge({**GOOD, "entropy_in_scope": 0.97, "row_difference": 0.01}, pairs=99).name == "diffuse"


NOTHING = dict.fromkeys(GOOD, float("nan"))


@pytest.mark.parametrize("numbers", [{}, NOTHING, {**NOTHING, "on_padding": 0.0, "beside_others": 1e-6}])
def test_nothing_known_is_not_enough(numbers):
    """That no padding has weight says nothing of the rest."""
    verdict = judge(numbers, pairs=100)
    assert (verdict.name, verdict.sure, verdict.evidence) == ("not_enough", "low", ())


@pytest.mark.parametrize(
    ("number", "name"), [({"one_position": 1.0}, "lazy"), ({"on_padding": 1.0}, "padding_leak"),
                         ({"one_position": 0.1}, "healthy"), ({"late_loss_excess": 0.1}, "healthy")]
)  # fmt: skip
def test_nan_is_no_evidence(number, name):
    verdict = judge({**NOTHING, **number}, pairs=100)
    assert verdict.name == name
    assert all(one.strength == 0.0 for one in verdict.evidence if one.value != one.value)


def test_not_enough_says_how_many_are_enough():
    advice = " ".join(judge(GOOD, pairs=3).advice)
    assert f"{at.FEWEST_ALIGNMENTS} are the fewest" in advice
    assert f"below {at.FEW_PAIRS}" in advice


@pytest.mark.parametrize(
    "number", [{"from_uniform_in_scope": 0.0}, {"on_padding": 1.0}, {"one_position": 1.0}, {"query_effect": 1e-9}]
)
def test_strengths_have_an_end(number):
    verdict = judge({**GOOD, **number}, pairs=100)
    assert verdict.sure == "high"
    assert [one.strength for one in verdict.evidence] == [STRONGEST]


def test_losing_by_another_context_is_ignored_too():
    """A context of another sentence may even help, where it is not needed: with noise."""
    assert judge({**GOOD, "gain_over_other_context": -0.3}, pairs=100).name == "ignored"


@pytest.mark.parametrize(
    ("pairs", "name", "sure"), [(19, "not_enough", "low"), (20, "lazy", "low"), (50, "lazy", "high")]
)
def test_how_much_there_is(pairs, name, sure):
    verdict = judge({**GOOD, "one_position": 0.99}, pairs=pairs)
    assert (verdict.name, verdict.sure) == (name, sure)


def test_diagonality_plays_no_part():
    """Reverse is no fault."""
    assert judge({**GOOD, "diagonality": 0.0, "monotonicity": 0.0}, pairs=100) == judge(GOOD, pairs=100)


def test_every_verdict_has_its_words():
    names = {rule.name for rule in RULES} | {"healthy", "not_enough"}
    assert set(SAYS) == set(ADVICE) == names
    assert all(ADVICE[name] for name in names - {"healthy"})
