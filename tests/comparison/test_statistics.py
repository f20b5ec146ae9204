"""Which differences are real: cases that can be checked by hand, known truths, and how often intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from heedful.comparison.statistics import _seeds, adjusted_together, bootstrap, holm, judge, ratio


def wrong(shares: list[float], *, sources: int, random: np.random.Generator) -> np.ndarray:
    """(seeds, sources, 2): right or wrong at each source, by the shares of single runs."""
    flags = random.random((len(shares), sources)) < np.array(shares)[:, None]
    return np.stack([flags, np.ones_like(flags)], axis=-1).astype(float)


def test_the_rate_is_a_ratio_of_sums_and_a_mean_over_seeds():
    edits = [[[1, 4], [0, 6]], [[3, 4], [0, 6]]]  # 1 of 10, 3 of 10
    values, draws = bootstrap([np.array(edits), np.array(edits[:1])], replicates=17)
    assert values == pytest.approx([20, 10])
    assert draws.shape == (17, 2)


def test_nothing_to_divide_by():
    assert ratio(np.array([[3.0, 0.0], [1.0, 4.0]])).tolist() == [0, 25]


def test_intervals_end_where_rates_do():
    all_wrong = wrong([1.0, 0.97], sources=47, random=np.random.default_rng(2))
    (usual,), _ = judge(["a"], [all_wrong])
    (ended,), _ = judge(["a"], [all_wrong], most=100)
    assert usual.high > 100 == ended.high
    (other,), _ = judge(["a"], [wrong([0.0, 0.03], sources=47, random=np.random.default_rng(2))])
    assert other.low == 0


def test_where_none_is_wrong_or_all_are_bounds_are_exact():
    """By hand: of 20 sources none is wrong with a chance of 2.5 % where 16.84 % are wrong: 0.8316^20 = 0.025."""
    # Three seeds: their mean of 100 may be 99.99999999999999.
    none, all_wrong = (np.stack([np.full((3, 20), flag), np.ones((3, 20))], axis=-1) for flag in (0.0, 1.0))
    (best, worst), (difference,) = judge(["a", "b"], [none, all_wrong], most=100)
    assert (best.value, best.low, best.high) == (0, 0, pytest.approx(16.84, abs=0.005))
    assert (worst.value, worst.low, worst.high) == pytest.approx((100, 83.16, 100), abs=0.005)
    assert difference.real
    edits = none * [1, 7]  # of 7 sounds each, which stand or fall together: no shares of sources
    (edited,), _ = judge(["a"], [edits])
    assert edited.high == 0


def test_sources_are_drawn_as_often_as_there_are_and_the_same_for_all():
    random = np.random.default_rng(3)
    first = wrong([0.4], sources=53, random=random)
    second = first.copy()
    second[..., 0] = 1 - first[..., 0]
    _, draws = bootstrap([first, second], replicates=301)
    assert draws.sum(axis=1) == pytest.approx(np.full(301, 100))  # where one is wrong the other is right, in each draw
    assert np.allclose(draws[:, 0] * 53 / 100, np.round(draws[:, 0] * 53 / 100))  # whole numbers of 53 sources
    rate = first[0, :, 0].mean()
    assert draws[:, 0].std() == pytest.approx(100 * np.sqrt(rate * (1 - rate) / 53), rel=0.15)  # binomial


def test_identical_designs_do_not_differ():
    same = wrong([0.3, 0.35], sources=101, random=np.random.default_rng(5))
    intervals, (difference,) = judge(["a", "b"], [same, same])
    assert intervals[0].value == intervals[1].value
    assert (difference.value, difference.real) == (0, False)
    assert difference.p > 0.8
    assert difference.low < 0 < difference.high


def test_a_known_difference_is_found_and_its_sign():
    random = np.random.default_rng(7)
    better, worse = (wrong([share] * 3, sources=503, random=random) for share in (0.2, 0.4))
    _, (difference,) = judge(["better", "worse"], [better, worse])
    assert (difference.first, difference.second) == ("better", "worse")
    assert difference.value == pytest.approx(100 * (better - worse)[..., 0].mean())
    assert difference.real
    assert difference.high < -10
    assert difference.low < difference.value < difference.high


def test_seeds_that_scatter_make_a_difference_uncertain():
    random = np.random.default_rng(11)
    calm = [wrong([share] * 3, sources=2003, random=random) for share in (0.30, 0.36)]
    wild = [wrong([share - 0.1, share, share + 0.1], sources=2003, random=random) for share in (0.30, 0.36)]
    assert judge(["a", "b"], calm)[1][0].real
    assert not judge(["a", "b"], wild)[1][0].real


def test_the_standard_error_over_seeds_by_hand():
    rates = [np.array([1.0, 3.0, 5.0]), np.array([2.0, 2.0, 8.0])]  # variances 4 and 12, typical 8
    scale, freedom = _seeds(rates)
    assert scale**2 == pytest.approx([(2 * 4 + 2 * 8) / 4 / 3, (2 * 12 + 2 * 8) / 4 / 3])
    assert freedom.tolist() == [4, 4]
    alone, free = _seeds(rates[:1])  # nobody to ask
    assert (alone[0] ** 2, free[0]) == (pytest.approx(4 / 3), 2)
    assert _seeds([np.array([1.0]), np.array([2.0])])[0].tolist() == [0, 0]  # nothing is known of seeds


def test_one_wild_design_does_not_count_for_all():
    calm = [np.array([1.0, 1.1, 1.2]) + place for place in range(4)]
    scale, _ = _seeds([*calm, np.array([0.0, 50.0, 100.0])])
    assert scale[:4].max() < 0.1
    assert scale[4] > 20


def test_the_same_seed_gives_the_same_numbers():
    data = [wrong([0.3, 0.4], sources=31, random=np.random.default_rng(13)) for _ in range(2)]
    assert judge(["a", "b"], data) == judge(["a", "b"], data)
    assert judge(["a", "b"], data) != judge(["a", "b"], data, seed=2)


def test_drawing_in_pieces_changes_nothing_but_the_draws(monkeypatch):
    data = [wrong([0.3, 0.4], sources=31, random=np.random.default_rng(13))]
    monkeypatch.setattr("heedful.comparison.statistics._CELLS", 62)  # two replicates at a time
    _, draws = bootstrap(data, replicates=501)
    assert draws.shape == (501, 1)
    assert draws.mean() == pytest.approx(bootstrap(data, replicates=501)[0][0], abs=2)


def test_with_many_designs_one_that_is_far_better_is_really_so():
    """P-values are small enough for 136 pairs."""
    random = np.random.default_rng(4)
    sums = [wrong([0.1], sources=211, random=random), *(wrong([0.6], sources=211, random=random) for _ in range(16))]
    _, differences = judge([str(number) for number in range(17)], sums)
    assert all(each.real for each in differences if each.first == "0")


def test_several_lists_are_adjusted_together():
    random = np.random.default_rng(5)
    lists = [
        judge(["a", "b", "c"], [wrong([share], sources=97, random=random) for share in shares], families=2)[1]
        for shares in ([0.2, 0.4, 0.3], [0.5, 0.3, 0.45])
    ]
    together = adjusted_together(lists)
    assert [len(each) for each in together] == [3, 3]
    found = [each for one in together for each in one]
    before = [each for one in lists for each in one]
    assert [each.adjusted for each in found] == holm([each.p for each in before])
    assert [each.real for each in found] == [each.adjusted < 0.05 for each in found]
    assert any(one.adjusted > other.adjusted for one, other in zip(found, before, strict=True))
    assert [each.p for each in found] == [each.p for each in before]


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def held(*, designs: int, seeds: int, spread: list[float], experiments: int = 250) -> tuple[float, float]:
    """(how often the interval of one difference holds the truth, how often any of all differences is called real) where
    all designs are alike, but for how far their seeds scatter, and sources are hard and easy."""
    random = np.random.default_rng(17)
    inside = false = 0
    for _ in range(experiments):
        hard = random.beta(1, 2, size=199)
        data = []
        for place in range(designs):
            shift = random.normal(0, spread[place], size=(seeds, 1))
            chance = 1 / (1 + np.exp(-(np.log(hard / (1 - hard)) + shift)))
            flags = random.random(chance.shape) < chance
            data.append(np.stack([flags, np.ones_like(flags)], axis=-1).astype(float))
        _, differences = judge([str(place) for place in range(designs)], data, replicates=600)
        inside += differences[0].low <= 0 <= differences[0].high
        false += any(each.real for each in differences)
    return inside / experiments, false / experiments


@pytest.mark.slow
@pytest.mark.parametrize(
    ("designs", "seeds", "spread"),
    [
        (2, 3, [0.2, 0.2]),
        (3, 2, [0.2, 0.2, 0.2]),
        (4, 3, [0.0, 0.0, 0.0, 0.0]),
        (5, 5, [0.3] * 5),
        (4, 3, [0.6, 0.2, 0.2, 0.2]),  # the first scatters three times as far
    ],
)
def test_intervals_hold_as_often_as_they_say_and_claims_are_seldom_false(designs, seeds, spread):
    inside, false = held(designs=designs, seeds=seeds, spread=spread)
    assert inside >= 0.91
    assert false <= 0.08
