"""Groups of sources that are alike, and what is counted at each source."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from comparison.sample import sample_comparison
from heedful.comparison import Part
from heedful.comparison.counts import answers_of, rate_of, sums_of
from heedful.comparison.groups import FEWEST_SOURCES, breakdowns, cut
from heedful.comparison.statistics import holm


def part_with(**columns: tuple[int, ...]) -> Part:
    size = len(next(iter(columns.values())))
    usual = {"lengths": (1,) * size, "rarest": (9,) * size, "unknown": (0,) * size}
    sources = tuple(map(str, range(size)))
    return Part(
        name="test", lines=size, sources=sources, references=tuple((one,) for one in sources), **usual | columns
    )


def test_each_source_is_in_one_group_and_groups_ascend():
    values = np.random.default_rng(3).integers(1, 30, size=211)
    groups = cut(values)
    assert sorted(np.concatenate(groups).tolist()) == list(range(211))
    assert len(groups) == 5
    assert all(values[one].max() < values[other].min() for one, other in pairwise(groups))
    assert min(map(len, groups)) > 211 / 10


def test_few_sources_are_put_to_their_neighbours():
    values = np.array([0] * 40 + [1] * 30 + [2] * 3)
    assert [len(group) for group in cut(values, at=(0, 1))] == [40, 33]
    assert [len(group) for group in cut(np.array([0] * 3 + [1] * 30 + [2] * 12), at=(0, 1))] == [33, 12]
    assert len(cut(np.arange(FEWEST_SOURCES - 1))) == 1


def test_rates_are_those_of_the_groups_own_sources():
    part = part_with(lengths=(2,) * 15 + (7,) * 25, unknown=(0,) * 40)
    flags = np.array([[1] * 3 + [0] * 12 + [1] * 20 + [0] * 5])
    sums = [np.stack([flags, np.ones_like(flags)], axis=-1).astype(float)]
    (by_length,) = breakdowns(["only"], sums, rate_of("sequence_error"), part=part, metric="sequence_error")
    assert by_length.by == "length"
    assert [(group.label, group.sources, group.errors[0].value) for group in by_length.groups] == [
        ("2", 15, pytest.approx(20)),
        ("7", 25, pytest.approx(80)),
    ]


def test_each_way_to_group_is_there_where_sources_differ_in_it():
    part = part_with(lengths=tuple(range(40)), rarest=(0, 5) * 20, unknown=(1, 0) * 20)
    sums = [np.ones((2, 40, 2))]
    found = breakdowns(["only"], sums, rate_of("sequence_error"), part=part, metric="sequence_error")
    assert [each.by for each in found] == ["length", "rarest", "unknown"]
    assert [group.label for group in found[1].groups] == ["0", "5"]


def test_differences_are_adjusted_for_those_in_all_groups():
    part = part_with(lengths=(2,) * 60 + (7,) * 60, unknown=(0,) * 120)
    flags = np.array([[1] * 14 + [0] * 46 + [1] * 14 + [0] * 46, [1] * 26 + [0] * 34 + [1] * 26 + [0] * 34])
    sums = [np.stack([each[None], np.ones_like(each[None])], axis=-1).astype(float) for each in flags]
    (found,) = breakdowns(["a", "b"], sums, rate_of("sequence_error"), part=part, metric="sequence_error")
    chances = [difference.p for group in found.groups for difference in group.differences]
    assert [difference.adjusted for group in found.groups for difference in group.differences] == holm(chances)
    assert holm(chances) != chances


def test_what_is_counted_by_hand():
    answers = answers_of(
        ["a b", "x y z", "q"],
        [["a b"], ["x z", "x y"], ["r s t"]],
        target_split=str.split,
        scores={},
        signature="",
    )
    assert answers.wrong == (False, True, True)
    assert answers.edits == (0, 1, 3)
    assert answers.lengths == (2, 2, 3)
    part = part_with(lengths=(1, 1, 1))
    totals = sums_of([answers], part, "token_error").sum(axis=1)
    assert rate_of("token_error")(totals).tolist() == pytest.approx([400 / 7])
    assert sums_of([answers], part, "sequence_error")[0, :, 0].tolist() == [0, 1, 1]


@pytest.mark.parametrize(("spoil", "more"), [(0, ""), (1, " a b"), (3, "")])
def test_bleu_is_sacrebleus(spoil, more):
    random = np.random.default_rng(spoil)
    references = [" ".join(random.choice(list("abcdefg"), size=random.integers(4, 12))) for _ in range(23)]
    texts = [
        " ".join("x" if random.random() < 0.3 * spoil else word for word in text.split()[: 12 - spoil]) + more
        for text in references
    ]
    part = part_with(lengths=(1,) * 23).model_copy(update={"references": tuple((one,) for one in references)})
    answers = answers_of(texts, part.references, target_split=str.split, scores={}, signature="")
    sums = sums_of([answers], part, "bleu", bleu_tokenizer="none").sum(axis=1)
    expected = BLEU(tokenize="none", force=True).corpus_score(texts, [references]).score
    assert rate_of("bleu")(sums).tolist() == pytest.approx([expected])


def test_bleu_where_nothing_matches():
    assert rate_of("bleu")(np.zeros((2, 10))).tolist() == [0, 0]
    only_words = np.array([5.0, 5.0, 3, 0, 0, 0, 5, 4, 3, 2])  # smoothed: 1/2, 1/4, 1/8 of an n-gram
    expected = 100 * (3 / 5 * (1 / 2) / 4 * (1 / 4) / 3 * (1 / 8) / 2) ** 0.25
    assert rate_of("bleu")(only_words) == pytest.approx(expected)
    assert BLEU.compute_bleu([3, 0, 0, 0], [5, 4, 3, 2], 5, 5, "exp").score == pytest.approx(expected)


def test_the_samples_numbers_follow_from_its_answers():
    comparison = sample_comparison(sources=30)
    for judged in comparison.judged:
        for design, error in zip(comparison.designs, judged.errors, strict=True):
            own = [getattr(run, judged.part).scores[judged.metric] for run in design.runs]
            assert error.value == pytest.approx(sum(own) / len(own))
