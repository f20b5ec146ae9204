"""Gains, gradients, padding and shifts, on models whose numbers are known."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from diagnosis import planted
from heedful.alignment import Alignment
from heedful.attention import Additive, Softmax
from heedful.attention.interventions import Shuffled, Uniform
from heedful.diagnosis.experiments import gain_over_other_context, gains, inside, loss_of, target_logs
from heedful.diagnosis.padding import padding
from heedful.diagnosis.shift import _clear, fits, needed
from heedful.diagnosis.subject import Subject
from heedful.model import Model
from model.cases import make, random_batch

ALL = {"scope": "global"}
SOME = planted.pairs()[:13]


def flat(**options) -> Model:
    return planted.model(Softmax(), **ALL, **options)


def test_gains_are_losses_of_other_models():
    """With uniform weights put in for good, uniform weights are no loss; without, what they cost is the same."""
    own, uniform = flat(), flat().with_normaliser(Uniform())
    found = gains(planted.subject(own, of=SOME), planted.subject(own, of=SOME).forced())
    changed = planted.subject(uniform, of=SOME)
    assert found["loss"] == pytest.approx(loss_of(planted.subject(own, of=SOME).forced()))
    assert found["gain_over_uniform"] == pytest.approx(loss_of(changed.forced()) - found["loss"], abs=1e-6)
    assert gains(changed, changed.forced())["gain_over_uniform"] == pytest.approx(0.0, abs=1e-6)


def test_the_loss_is_that_of_training():
    subject = planted.subject(flat(), of=SOME)
    ((batch, _),) = replace(subject, batch_size=99).batches(subject.examples())
    loss = subject.model(batch)
    assert loss_of(subject.forced()) == pytest.approx(float(loss.plain / loss.tokens), rel=1e-5)


def test_another_context_is_the_next_sentence_s():
    """Two sentences that are the same gain nothing from each other."""
    twice = [SOME[0], SOME[0]]
    assert gain_over_other_context(planted.subject(of=twice)) == pytest.approx(0.0, abs=1e-6)
    assert gain_over_other_context(planted.subject(of=SOME)) > 5
    assert gain_over_other_context(planted.subject(of=SOME, batch_size=1)) > 5


def test_one_pair_has_no_other():
    """Then nothing is known, rather than that nothing is lost."""
    alone = planted.subject(of=SOME[:1])
    assert math.isnan(gain_over_other_context(alone))
    found = gains(alone, alone.forced())
    assert math.isnan(found["gain_over_shuffled"])
    assert found["gain_over_uniform"] > 1


def test_shuffled_weights_are_what_the_intervention_gives():
    """All in one batch: the loss of a model that has it."""
    subject = planted.subject(flat(), of=SOME, batch_size=99)
    changed = flat().with_normaliser(Shuffled(Softmax()))
    found = gains(subject, subject.forced())
    wanted = loss_of(planted.subject(changed, of=SOME, batch_size=99).forced()) - found["loss"]
    assert abs(wanted) > 0.1
    assert found["gain_over_shuffled"] == pytest.approx(wanted, abs=1e-5)


def test_gradients_go_where_the_output_looks():
    """The right model reads its context alone; one that is deaf reads its states alone."""
    right = inside(planted.subject(planted.model(start="learned_last"), of=SOME))
    assert right["gradient_state"] == right["gradient_scores"] == 0.0  # its weights are what the step makes them
    assert right["context_share"] == 1.0
    asks = inside(planted.subject(flat(start="learned_last"), of=SOME))
    assert min(asks["gradient_" + name] for name in ("scores", "weights", "context", "state")) > 0.1
    assert 0.0 < asks["context_share"] < 1.0
    deaf = inside(planted.subject(flat(deaf=True, start="learned_last"), of=SOME))
    assert deaf["gradient_context"] == deaf["gradient_weights"] == deaf["gradient_scores"] == 0.0
    assert deaf["gradient_state"] > 0.1
    assert deaf["context_share"] == 0.0


@pytest.mark.parametrize("start", ["learned_mean", "backward_first"])
def test_a_first_state_that_is_made_of_source_states(start):
    assert inside(planted.subject(flat(start=start), of=SOME))["gradient_state"] > 0.1


def test_nothing_comes_by_a_first_state_that_is_zero():
    """Though the loss depends on that state, the state does not depend on the source."""
    found = inside(planted.subject(flat(start="zero"), of=SOME))
    assert (found["gradient_state"], found["context_share"]) == (0.0, 1.0)
    deaf = inside(planted.subject(flat(deaf=True, start="zero"), of=SOME))
    assert deaf["gradient_state"] == 0.0
    assert math.isnan(deaf["context_share"])  # nothing comes at all


def test_gradients_are_taken_without_cudnn(monkeypatch):
    """Which refuses those of an RNN in evaluation mode; on a CPU it is only seen whether it would be asked."""
    from heedful.diagnosis import experiments

    asked = []

    def logs(*parts):
        asked.append(torch.backends.cudnn.enabled)
        return target_logs(*parts)

    monkeypatch.setattr(experiments, "target_logs", logs)
    inside(planted.subject(of=SOME[:2]))
    assert asked == [False]
    assert torch.backends.cudnn.enabled


def test_gradients_of_long_sentences_are_taken_in_small_batches(monkeypatch):
    """And are the same."""
    from heedful.diagnosis import experiments

    subject = planted.subject(flat(), of=planted.pairs())
    whole = inside(subject)
    sizes = []

    def of_batch(model, batch, *, ended, its=experiments._of_batch):
        sizes.append((len(batch.indices), batch.target.tokens.shape[1] * batch.sources[0].tokens.shape[1]))
        return its(model, batch, ended=ended)

    monkeypatch.setattr(experiments, "_of_batch", of_batch)
    monkeypatch.setattr(experiments, "MOST_CELLS", 300)
    assert inside(subject) == pytest.approx(whole, rel=1e-4, nan_ok=True)
    assert sum(count for count, _ in sizes) == 60
    assert all(count == 1 or count * cells <= 300 for count, cells in sizes)
    assert max(count for count, _ in sizes) > 1
    assert max(cells for _, cells in sizes) > 300  # what is larger goes alone


def test_nobody_asks_for_alignments_that_nobody_reads(monkeypatch):
    from heedful.answers import Answers

    def never(*parts):
        raise AssertionError("an alignment was made")

    subject = planted.subject(of=SOME[:3])
    forced = subject.forced()
    assert forced[0].alignment is not None
    monkeypatch.setattr(Answers, "_alignment", never)
    gains(subject, forced)
    assert [answer.text for answer in subject.answered()] == [pair.target for pair in SOME[:3]]
    assert subject.forced(with_alignment=False) == [replace(one, alignment=None) for one in forced]


@pytest.mark.parametrize("fusion", ["early", "late", {"name": "late", "input_feeding": True}, "transformer"])
@pytest.mark.parametrize(
    "options", [{}, {"heads": 11}, {"cell": "lstm", "decoder_layers": 2, "score": "dot", "decoder_size": 14}]
)
def test_gradients_by_finite_differences(fusion, options, monkeypatch):
    """Of a sentence's loss along a random direction, the same at every step: a normaliser adds it to what it gets, or
    gives."""
    from heedful.attention.normalisers import Normaliser
    from heedful.diagnosis import experiments

    model = make(fusion=fusion, **options)
    batch = random_batch((5,), (4,))

    class Add(Normaliser):
        """Adds to the scores, or to the weights, what belongs to the next steps."""

        def __init__(self, to_scores: float, to_weights: float) -> None:
            super().__init__()
            self.to_scores, self.to_weights = to_scores, to_weights

        def forward(self, scores, mask):
            draw = torch.Generator().manual_seed(3)
            direction = torch.randn(scores.shape[-1], generator=draw, dtype=scores.dtype)  # the same at every step
            weights = Softmax()(scores + self.to_scores * direction, mask)
            return weights + self.to_weights * direction

        def distribute(self, scores):
            raise AssertionError

    def loss(*steps: float) -> float:
        with torch.no_grad():
            return float(-model.with_normaliser(Add(*steps)).force(batch)[0].sum())

    step = 1e-5
    along = {
        "gradient_scores": (loss(step, 0) - loss(-step, 0)) / (2 * step),
        "gradient_weights": (loss(0, step) - loss(0, -step)) / (2 * step),
    }
    seen = {}
    monkeypatch.setattr(
        experiments, "_norm", lambda gradients, _: seen.setdefault(len(seen), list(gradients))[0].new_ones(1)
    )
    experiments._of_batch(model, batch)
    draw = torch.Generator().manual_seed(3)
    direction = torch.randn(5, generator=draw, dtype=torch.float64)
    for number, name in enumerate(along):
        found = sum(float((gradient.double() * direction).sum()) for gradient in seen[number])
        assert found == pytest.approx(along[name], rel=1e-5, abs=1e-8), name


def test_the_query_s_effect():
    """Scores of the right model move with the query; where the query is not used they do not."""
    found = inside(planted.subject(flat(), of=SOME))
    assert found["query_effect"] > 0.1
    hot = inside(planted.subject(planted.model(Softmax(temperature=10.0), **ALL), of=SOME))
    assert hot["query_effect"] == pytest.approx(found["query_effect"] / 10, rel=1e-4)  # in nats of the softmax
    blind = flat(score="additive")
    with torch.no_grad():
        blind.attention.score.query_projection.weight.zero_()
    assert inside(planted.subject(blind, of=SOME))["query_effect"] < 1e-6


def test_a_missing_tanh_is_seen():
    """v . (W s + U h): what the query adds, it adds to all positions alike, and it falls out of the softmax."""

    class NoTanh(Additive):
        def forward(self, queries, memory):
            return (queries @ self.v).unsqueeze(2) + (memory.keys @ self.v).unsqueeze(1)

    found = flat(score="additive")
    whole = found.attention.score
    found.attention.score = NoTanh(whole.query_size, whole.value_size)
    found.attention.score.load_state_dict(whole.state_dict())
    assert inside(planted.subject(flat(score="additive"), of=SOME))["query_effect"] > 1e-3
    assert inside(planted.subject(found, of=SOME))["query_effect"] < 1e-5


def test_entropy_in_scope_is_of_the_window():
    """Uniform over a window of a long sentence: sharp in the whole, flat in the scope."""
    found = planted.model(Uniform(), scope={"name": "local_m", "window": 1})
    numbers = inside(planted.subject(found, of=SOME))
    assert numbers["entropy_in_scope"] == pytest.approx(1.0)
    assert numbers["from_uniform_in_scope"] == pytest.approx(0.0, abs=1e-6)


def test_padding_of_a_mask_that_holds():
    found = padding(planted.subject(flat(), of=SOME))
    assert found["on_padding"] == 0.0
    assert found["beside_others"] < 1e-4
    assert found["other_answers"] == 0.0


def test_padding_of_one_that_does_not():
    found = padding(planted.subject(planted.model(planted.Leaky(), **ALL), of=SOME))
    assert found["on_padding"] > 0.1
    assert found["beside_others"] > 0.1


def test_padding_is_looked_for_where_all_sources_are_of_one_length():
    """And where there is one sentence: a longer one is put beside it."""
    for of in ([pair for pair in planted.pairs() if len(pair.source) == 12], SOME[:1]):
        assert padding(planted.subject(planted.model(planted.Leaky(), **ALL), of=of))["on_padding"] > 0.1


@pytest.mark.parametrize("count", [1, 2, 16, 17, 60])
def test_padding_looks_from_the_shortest_to_the_longest(count, monkeypatch):
    from heedful.diagnosis import padding as module

    looked_at = []

    def collated(examples, its=module.collate):
        looked_at.append([len(example.source.ids) for example in examples])
        return its(examples)

    monkeypatch.setattr(module, "collate", collated)
    subject = planted.subject(of=planted.pairs()[:count])
    padding(subject)
    *lengths, longer = looked_at[0]
    assert longer > max(lengths)
    every = sorted(len(example.source.ids) for example in subject.examples())
    assert len(lengths) == min(count, 16)
    assert (lengths[0], lengths[-1]) == (every[0], every[-1])
    assert lengths == sorted(lengths)


def test_answers_that_depend_on_their_neighbours():
    """An encoder that reads padding: no weight is on padding, and yet the answer is another."""

    class Reads(planted.Middle):
        def forward(self, scores, mask):
            weights = super().forward(scores, mask)
            return weights * (1 - 0.05 * (~mask).sum(-1, keepdim=True)).clamp(min=0)

    found = padding(planted.subject(planted.model(Reads()), of=SOME))
    assert found["on_padding"] == 0.0
    assert found["beside_others"] > 0.1
    assert found["other_answers"] > 0


def test_what_is_needed_is_found_without_a_look_at_weights():
    """Letter t for word t; where the source's letter and its substitute are written alike, nothing is known."""
    subject = planted.subject(of=SOME)
    for pair, words in zip(SOME, needed(subject, subject.forced()), strict=True):
        assert all(sources == {word} for word, sources in words.items())
        assert len(words) > len(pair.source) / 2
    deaf = planted.subject(planted.model(deaf=True), of=SOME)
    assert not any(needed(deaf, deaf.forced()))


def changed_of(subject, monkeypatch) -> tuple[list, list]:
    """What `needed` finds, and the sentences with a word replaced that it looks at."""
    changed = []

    def batches(self, examples, its=Subject.batches):
        changed.extend(examples)
        return its(self, examples)

    with monkeypatch.context() as patched:
        patched.setattr(Subject, "batches", batches)
        return needed(subject, subject.forced()), changed


def test_long_pairs_have_some_words_replaced(monkeypatch):
    """Every pair is asked, at places that are spread, and all is within the budget; short pairs are asked as ever."""
    from heedful.diagnosis import shift

    of = [*(pair for pair in SOME if len(pair.source) < 8), *planted.pairs(5, 97, 113)]
    subject = planted.subject(of=of)
    whole, all_changed = changed_of(subject, monkeypatch)
    monkeypatch.setattr(shift, "MOST_TOKENS", 10_000)
    found, changed = changed_of(subject, monkeypatch)
    tokens = sum(len(example.source.ids) + len(example.target) for example in changed)
    assert 8_000 < tokens <= 10_000 < sum(len(example.source.ids) + len(example.target) for example in all_changed)
    short = len(of) - 5
    assert found[:short] == whole[:short]
    for pair, words, its in zip(of[short:], found[short:], whole[short:], strict=True):
        asked = sorted({min(sources) for sources in words.values()})
        assert 4 <= len(asked) < len(its)
        assert asked[0] < 20
        assert asked[-1] > len(pair.source) - 40
        assert words.items() <= its.items()  # what is found is what is found when all are asked


def test_a_pair_that_is_longer_than_all_there_is_is_asked_once(monkeypatch):
    from heedful.diagnosis import shift

    monkeypatch.setattr(shift, "MOST_TOKENS", 5)
    _, changed = changed_of(planted.subject(of=SOME), monkeypatch)
    assert len(changed) == len(SOME)


def test_only_what_is_plain_is_needed():
    """Enough, and more than twice as much as the next."""
    falls = np.array([[0.6, 0.2, 0.1], [0.4, 0.0, 0.0], [2.0, 1.1, 0.0], [-3.0, 0.5, -1.0]])
    assert _clear(falls) == {0: {0}, 3: {1}}
    assert _clear(np.array([[0.7]])) == {0: {0}}


def test_needed_words_do_not_depend_on_the_convention():
    one, other = (planted.subject(planted.model(rows=rows), of=SOME) for rows in ("predicted", "input"))
    assert needed(one, one.forced()) == needed(other, other.forced())


def diagonal(step: int, column: int, convention: str) -> Alignment:
    """Of five words: the peak of word t's row is on column t + `column`, and all rows are moved down by `step`."""
    weights = np.zeros((6, 6))
    weights[:, 5] = 0.1
    for word in range(5):
        if 0 <= word + step < 6 and 0 <= word + column < 5:
            weights[word + step, word + column] = 0.9
    for row in range(6):
        if not weights[row, :5].any():
            weights[row, 0 if row > 2 else 4] = 0.01
    labels = "abcde"
    return Alignment.of(
        [*labels, "#"],
        [*labels, "#"],
        weights,
        convention=convention,
        source_positions=[1, 2, 3, 4, 5, 0],
        target_end=True,
    )


WANTED = {word: frozenset([word]) for word in range(5)}


@pytest.mark.parametrize(
    ("step", "column", "convention", "own", "best"),
    [
        (0, 0, "predicted", 1.0, None),
        (1, 0, "predicted", 0.0, "input"),
        (1, 0, "input", 1.0, None),
        (0, 0, "input", 0.0, "predicted"),
        (-1, 0, "predicted", 0.0, "ahead"),
    ],
)
def test_which_reading_fits(step, column, convention, own, best):
    found = fits([diagonal(step, column, convention)], [WANTED])
    assert found.own == own
    assert found.words == 4  # no row is ahead of the first word's
    if best is not None:
        assert found.best_other(convention) == (1.0, best)
    else:
        assert found.best_other(convention)[0] < 0.5


@pytest.mark.parametrize(("column", "name"), [(1, "left"), (-1, "right")])
def test_neighbours(column, name):
    """On words in an order that no shift of rows explains."""
    order = [3, 0, 4, 1, 2]
    weights = np.zeros((6, 7))
    for word, source in enumerate(order):
        weights[word, source + 1 + column] = 1.0
    weights[5, 0] = 1.0
    alignment = Alignment.of(list("abcdefg"), [*"vwxyz", "#"], weights, source_positions=range(1, 8), target_end=True)
    found = fits([alignment], [{word: frozenset([source + 1]) for word, source in enumerate(order)}])
    assert found.best_other("predicted") == (1.0, name)
    assert found.own == 0.0


def test_several_sources_fit_if_one_is_the_peak():
    both = {word: frozenset([word, (word + 2) % 5]) for word in range(5)}
    assert fits([diagonal(0, 0, "predicted")], [both]).own == 1.0


def test_nothing_known_is_nan():
    found = fits([diagonal(0, 0, "predicted")], [{}])
    assert found.words == 0
    assert math.isnan(found.own)


def test_the_longest_target_of_a_batch_counts(monkeypatch):
    """Also where it is not the last one's: sources of 3, targets of 9, 2 and 2."""
    from heedful.data.batches import Example
    from heedful.data.codec import Encoded
    from heedful.diagnosis import experiments

    source = Encoded([5, 6, 2], [1, 2, 0], ["a", "b", "#"])
    examples = [Example(source, [5] * length, place) for place, length in enumerate((9, 2, 2))]
    monkeypatch.setattr(experiments, "MOST_CELLS", 53)
    assert experiments._small(examples, 3) == [[0], [1, 2]]
    monkeypatch.setattr(experiments, "MOST_CELLS", 54)
    assert experiments._small(examples, 3) == [[0, 1], [2]]


@pytest.mark.parametrize(
    ("convention", "wanted"),
    [("predicted", [[1, 1, 1, 0], [1, 0, 0, 0]]), ("input", [[0, 1, 1, 1], [0, 1, 0, 0]])],
)
def test_steps_about_words(convention, wanted):
    """Of three words and an end, and of one and an end."""
    from heedful.diagnosis.experiments import _about_words

    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    assert _about_words(mask, convention).int().tolist() == wanted
