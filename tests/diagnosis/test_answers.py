"""Errors by length and by half, agreement with others, temperatures: by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diagnosis import planted
from heedful.alignment import Alignment
from heedful.answers import Prediction
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.diagnosis import Others, examine, temperatures_of
from heedful.diagnosis.agreement import Units, agreement, check, needed_tokens, parts_of_speech, with_aligner, with_gold
from heedful.diagnosis.late import _repeated, by_length, errors, halves, losses_by_half
from heedful.diagnosis.sweep import TEMPERATURES, sweep
from heedful.errors import DataError, RecipeError

LONG = list("abcdefgh")


def test_errors():
    assert errors([list("abc"), list("de")], [list("abd"), list("de")]) == (50.0, pytest.approx(20.0))


def test_by_length_has_four_parts_or_fewer():
    lengths = [1, 2, 3, 4, 5, 6, 7, 8]
    targets = [["x"] * length for length in lengths]
    answers = [["x"] * (length - (length > 6)) for length in lengths]
    found = by_length(lengths, targets, answers)
    assert [(one.shortest, one.longest, one.pairs) for one in found] == [(1, 2, 2), (3, 4, 2), (5, 6, 2), (7, 8, 2)]
    assert [one.sequence_error for one in found] == [0, 0, 0, 100]
    assert found[3].token_error == pytest.approx(100 * 2 / 15)
    assert [one.pairs for one in by_length([5, 5, 5], targets[:3], targets[:3])] == [3]


@pytest.mark.parametrize(
    ("answer", "early", "late", "skips"),
    [
        ("abcdefgh", 0, 0, 0),
        ("abcdefXX", 0, 2, 0),
        ("XXcdefgh", 2, 0, 0),
        ("abcd", 0, 4, 4),
        ("efgh", 4, 0, 0),
        ("abcdefghhhhhhhhhhhhh", 0, 4, 0),  # no more than there is of the half
        ("abcdeffgh", 0, 1, 0),
    ],
)
def test_errors_by_half(answer, early, late, skips):
    found = halves([LONG], [list(answer)], [True])
    assert (found["early_error"], found["late_error"], found["skips"]) == (early / 4, late / 4, skips / 4)
    assert found["late_excess"] == (late - early) / 4


def test_how_long_answers_go_wrong():
    targets = [LONG, LONG, LONG, list("abcabcab")]
    answers = [list("abcd"), list("abcdefghijk"), LONG, list("abcabcab")]
    found = halves(targets, answers, [True, True, False, True])
    assert found["early_stops"] == 1 / 4
    assert found["overruns"] == 2 / 4  # one too long, one cut
    assert found["repeats"] == 0.0  # what the target repeats is no repeat
    # Of the last four threes, abc, bca and cab stood before.
    assert halves([LONG], [list("abcabcab")], [True])["repeats"] == pytest.approx(1.0)


def test_repeats_are_found_without_comparing_all_with_all():
    """Of 1000 threes that are all different, hardly any two are compared."""
    compared = 0

    class Token(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    assert _repeated([Token(number) for number in range(1000)]) == 0.0
    assert compared < 1000
    assert _repeated([Token(number % 100) for number in range(1000)]) == 1.0
    assert _repeated(list("abcdeabc")) == pytest.approx(1 / 3)  # of dea, eab, abc
    assert _repeated(list("abcxyzxyz")) == pytest.approx(1 / 4)  # what is repeated within the second half counts


def test_only_the_longer_half_counts_and_short_targets_never():
    assert math.isnan(halves([list("abcde")], [list("abcde")], [True])["late_error"])
    targets = [list("abcdef"), list("abcdefgh"), list("abcdefgh")]
    assert halves(targets, [list("xxxxxx"), LONG, LONG], [True] * 3)["early_error"] == 0.0


def test_losses_by_half():
    def scored(*scores: float) -> Prediction:
        return Prediction("", (), 0.0, 0.0, scores, None, True)

    found = losses_by_half([scored(-1, -1, -1, -1, -3, -3, -3, -99), scored(-50, -50, -50)])  # 7 tokens and an end
    assert found == {"early_loss": 1.0, "late_loss": 3.0, "late_loss_excess": 2.0}
    assert math.isnan(losses_by_half([scored(-1, -1)])["late_loss"])


# --- Agreement with others --------------------------------------------------------------------------------------------

LINKS = [(0, 0), (1, 1), (2, 2)]
UNITS = Units([[0], [1], [2]], [[0], [1], [2]])


def alignment(rows=(0.8, 0.9, 0.7), convention: str = "predicted") -> Alignment:
    """Word t at t, with the rest on the next word."""
    weights = np.zeros((4, 4))
    for word, weight in enumerate(rows):
        weights[word, word], weights[word, (word + 1) % 3] = weight, 1 - weight
    weights[3, 3] = 1.0
    return Alignment.of(
        ["a", "b", "c", "#"], ["A", "B", "C", "#"], weights, convention=convention, source_positions=[1, 2, 3, 0],
        target_end=True,
    )  # fmt: skip


def test_gold_in_both_conventions():
    gold = [frozenset(LINKS)]
    found = with_gold([alignment()], [UNITS], gold, None)
    assert found["aer"] == found["aer_predicted"] == 0.0
    assert found["aer_input"] == pytest.approx(100.0)
    wrong = with_gold([alignment(convention="input")], [UNITS], gold, None)
    assert (wrong["aer"], wrong["aer_predicted"]) == (wrong["aer_input"], 0.0)
    assert found["link_precision"] == found["link_recall"] == found["link_f1"] == 100.0
    half = with_gold([alignment()], [UNITS], [frozenset(LINKS[:1])], [frozenset(LINKS[:2])])
    assert half["aer"] == pytest.approx(100 * (1 - (1 + 2) / (3 + 1)))


def test_an_aligner_s_links():
    found = with_aligner([alignment()], [frozenset([(0, 0), (0, 1), (1, 1)])])
    assert found["aligner_agreement"] == pytest.approx(100 * 2 * 2 / (3 + 3))
    assert found["aligner_mass"] == pytest.approx(100 * (0.8 + 0.9) / 2)  # row 1 has nothing on word 0, 0.9 on word 1
    several = with_aligner([alignment()], [frozenset([(0, 0), (1, 0)])])
    assert several["aligner_mass"] == pytest.approx(100 * (0.8 + 0.2))
    assert math.isnan(with_aligner([alignment()], [frozenset()])["aligner_mass"])


def test_parts_of_speech():
    found = parts_of_speech([alignment()], [["N", "V", "N"]], [["N", "N", "N"]])
    assert found["same_part_of_speech"] == pytest.approx(100 * 2 / 3)
    assert found["same_by_chance"] == pytest.approx(100 * 2 / 3)
    assert parts_of_speech([alignment()], [["N", "V", "D"]], [["N", "V", "D"]])["same_by_chance"] == pytest.approx(
        100 / 3
    )


def test_pieces_are_words():
    """Links and tags count words; the pieces of a source word add up."""
    units = Units([[0, 1], [2]], [[0], [1, 2]])
    assert needed_tokens(units, [(0, 1), (1, 0)]) == {0: {2}, 1: {0, 1}, 2: {0, 1}}
    found = agreement([alignment()], [units], Others(links=[[(0, 0), (1, 1)]]))
    assert found["aligner_mass"] == pytest.approx(100 * (1.0 + (0.1 + 0.7) / 2) / 2)


def test_units_of_a_codec():
    pair = Pair("ab ba abba", "x y", (), 1)
    codec = Codec.build(
        [pair],
        source_tokens=("bpe", {"vocabulary_size": 260}),
        target_tokens=("whitespace", {}),
    )
    assert len(Units.of(codec, pair).source) == 3
    assert Units.of(codec, pair).target == [[0], [1]]


@pytest.mark.parametrize(
    ("others", "says"),
    [
        (
            Others(sure=[[(3, 0)]]),
            "sure, line 7: expected links of at most 3 source and 3 target words (from 0), got 3-0",
        ),
        (Others(sure=[[]], possible=[[(0, 3)]]), "possible, line 7"),
        (Others(links=[[(0, 3)]]), "links, line 7"),
        (Others(source_tags=[["N", "V"]], target_tags=[["N"] * 3]), "source_tags, line 7: expected 3 tags"),
        (Others(source_tags=[["N"] * 3], target_tags=[["N"] * 4]), "target_tags, line 7: expected 3 tags"),
    ],
)
def test_links_and_tags_of_words_that_are_not_there(others, says):
    with pytest.raises(DataError) as error:
        check([UNITS], [7], others)
    assert says in str(error.value)


def test_gold_is_believed_about_shifts():
    """Gold that says each word is about the one before: the rows of the right model are then shifted."""
    pairs = planted.pairs()[:25]
    gold = [frozenset((word, word + 1) for word in range(len(pair.source) - 1)) for pair in pairs]
    found = examine(planted.subject(of=pairs), Others(links=gold))
    assert found.verdict.name == "shifted"
    assert found.measures["fit_ahead"] == 1.0
    assert found.measures["aligner_agreement"] < 1


# --- Temperatures -----------------------------------------------------------------------------------------------------


def test_sweep():
    """The colder, the sharper; at 1 as it is."""
    from heedful.attention import Softmax

    pairs = planted.pairs()[:13]
    subject = planted.subject(planted.model(Softmax(), scope="global"), of=pairs)
    units = [Units.of(subject.codec, pair) for pair in pairs]
    gold = Others(sure=[[(word, word) for word in range(len(pair.source))] for pair in pairs])
    found = sweep(subject, (0.5, 1.0, 4.0), units=units, others=gold)
    assert [one.temperature for one in found] == [0.5, 1.0, 4.0]
    assert found[0].entropy < found[1].entropy < found[2].entropy
    own = examine(subject, gold)
    assert found[1].loss == pytest.approx(own.measures["loss"])
    assert found[1].aer == pytest.approx(own.measures["aer"])
    assert found[1].entropy == pytest.approx(own.measures["entropy"], rel=1e-6)
    assert {one.aer for one in found} == {found[0].aer}  # the largest stays the largest
    assert math.isnan(sweep(subject, (1.0,), units=units, others=Others())[0].aer)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (None, ()),
        ("attention_temperature", TEMPERATURES),
        ("attention-temperature", TEMPERATURES),
        ("attention-temperature=0.5,2", (0.5, 2.0)),
    ],
)
def test_what_is_swept(text, wanted):
    assert temperatures_of(text) == wanted


@pytest.mark.parametrize(
    "text", ["", "temperature", "attention_temperature=", "attention_temperature=0", "attention_temperature=1,x",
             "attention_temperature=nan", "attention_temperature=inf"]
)  # fmt: skip
def test_what_cannot_be_swept(text):
    with pytest.raises(RecipeError, match="sweep: expected"):
        temperatures_of(text)
