"""Examinations of several heads, and of a decoder without recurrence."""

from __future__ import annotations

import pytest
import torch

from diagnosis import planted
from grid import daily
from heedful.attention import Softmax
from heedful.attention.interventions import Shuffled
from heedful.diagnosis.experiments import _about_words, _norm, _spread, gain_over_other_context, gains, inside
from heedful.diagnosis.padding import padding
from heedful.model import Model
from model.cases import make

SOME = planted.pairs()[:13]
HEADS = 2
KINDS = [{"fusion": "early"}, {"fusion": "late", "readout": "attentional"}, {"fusion": "transformer"}]


def headed(**options) -> Model:
    codec = planted.codec()
    sizes = {
        "source_vocabulary_size": len(codec.source_vocabulary),
        "target_vocabulary_size": len(codec.target_vocabulary),
    }
    return make(**{"decoder_size": 14, "heads": HEADS, **options, **sizes}).float()


class LeaksInOne(Softmax):
    """The second head looks at everything, padding too."""

    def forward(self, scores, mask):
        weights = super().forward(scores, mask)
        weights[1::HEADS] = 1 / scores.shape[-1]
        return weights


def test_shuffled_heads_are_the_same_heads_of_the_other_sentence():
    draw = torch.Generator().manual_seed(1)
    scores = torch.randn(3, HEADS, 4, 5, generator=draw)  # three sentences
    mask = torch.ones(1, 1, 5, dtype=torch.bool)
    found = Shuffled(Softmax(), heads=HEADS)(scores.flatten(0, 1), mask).unflatten(0, (3, HEADS))
    for head in range(HEADS):
        torch.testing.assert_close(found[:, head], Shuffled(Softmax())(scores[:, head], mask))
    hotter = Shuffled(Softmax(), heads=HEADS).at(2.0)(scores.flatten(0, 1), mask).unflatten(0, (3, HEADS))
    torch.testing.assert_close(hotter[:, 1], Shuffled(Softmax()).at(2.0)(scores[:, 1], mask))


@pytest.mark.parametrize("options", daily(KINDS, KINDS[:1]))
def test_padding_that_any_head_looks_at_is_seen(options):
    assert padding(planted.subject(headed(**options), of=SOME))["on_padding"] == 0.0
    leaking = headed(**options).with_normaliser(LeaksInOne())
    assert padding(planted.subject(leaking, of=SOME))["on_padding"] > 0.3


@pytest.mark.parametrize("options", KINDS)
def test_heads_that_are_alike_are_as_their_mean(options):
    """Each is looked at by itself; where they are one, that is what the model's weights say."""
    model = headed(**options)
    attention = model.attention
    assert attention is not None
    with torch.no_grad():
        for projection in (attention.query_projection, attention.key_projection):  # pyright: ignore
            projection.weight[7:] = projection.weight[:7]
    subject = planted.subject(model, of=SOME, batch_size=13)
    ((batch, _),) = subject.batches(subject.examples())
    _, weights = model.force(batch)
    assert weights is not None
    assert batch.target is not None
    rows = _about_words(batch.target.mask, model.row_convention)
    masks = batch.sources[0].mask[:, None, :].expand_as(weights)
    expected = {name: sum(each) / len(each) for name, each in _spread(weights.detach(), masks, rows).items()}
    found = inside(subject)
    assert 0.05 < expected["entropy_in_scope"] < 0.995
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=1e-5), name


@pytest.mark.parametrize("options", KINDS)
def test_a_context_that_is_the_same_for_all_gains_nothing(options):
    """With W_o of 0, nothing is heard: so none of the interventions makes any difference."""
    model = headed(**options)
    subject = planted.subject(model, of=SOME)
    assert abs(gains(subject, subject.forced())["gain_over_uniform"]) > 1e-3
    assert abs(gain_over_other_context(subject)) > 1e-3
    with torch.no_grad():
        model.attention.output_projection.weight.zero_()  # pyright: ignore
    found = gains(subject, subject.forced())
    for name in ("uniform", "shuffled", "argmax"):
        assert found[f"gain_over_{name}"] == pytest.approx(0.0, abs=1e-5)
    assert gain_over_other_context(subject) == pytest.approx(0.0, abs=1e-5)


def test_nothing_comes_by_a_first_state_where_there_is_none():
    found = inside(planted.subject(headed(fusion="transformer"), of=SOME))
    assert found["gradient_state"] == 0.0
    assert found["context_share"] == 1.0
    assert min(found[f"gradient_{name}"] for name in ("scores", "weights", "context")) > 1e-3


def test_a_sentence_s_norm_is_over_all_of_its_heads():
    gradients = [torch.arange(1.0, 7.0)[:, None, None].expand(6, 2, 5)] * 3  # two sentences of three heads; three calls
    expected = [(30 * (1 + 4 + 9)) ** 0.5, (30 * (16 + 25 + 36)) ** 0.5]
    assert _norm(gradients, 2).tolist() == pytest.approx(expected)
