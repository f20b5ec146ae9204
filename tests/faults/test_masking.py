"""Masking and padding: padding gets no weight, has no say, and a mask means what it says."""

from __future__ import annotations

import pytest
import torch

import heedful
from attention.cases import COMBINATIONS, OPTIONS, Q, T, normal, value_size
from attention.cases import make as make_attention
from grid import in_turn
from heedful.attention import normalisers
from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.vocabulary import Vocabulary
from model.cases import ATTENTIONS, FUSIONS, SIZES, batch_of, make, name_of, random_batch, rows_of

attentions = pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
attentive = pytest.mark.parametrize(
    ("fusion", "options"), in_turn([name for name in FUSIONS if not name.startswith("none")], ATTENTIONS), ids=name_of
)
every = pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)


@attentions
def test_a_short_word_beside_a_long_one(options):
    """Two texts, from their letters to the weights: none behind the short one's end, and rows that sum to 1."""
    pairs = [Pair("ab", "xyz", (), 1), Pair("abcdefghij", "zy", (), 2)]
    codec = Codec.build(pairs, target_tokens=("characters", {}))
    sizes = {"source_vocabulary_size": len(codec.source_vocabulary), "target_vocabulary_size": 7}
    model = make(**{**FUSIONS["late"], **options, **sizes}).float()
    batch = collate([Example(codec.encode_source(p.source), codec.encode_target(p.target), p.line) for p in pairs])
    with torch.no_grad():
        _, weights = model.force(batch)
    assert weights.shape == (2, 4, 11)
    assert weights[0, :, 3:].eq(0).all()  # "ab" and the end symbol
    sums = weights.sum(-1)[batch.target.mask]
    if "local_p" in name_of(options):  # a Gaussian is multiplied in afterwards
        assert ((sums > 0) & (sums < 1)).all()
    else:  # a window of local_m may have left the word behind
        assert torch.where(sums > 0, (sums - 1).abs(), 0).max() < 1e-6
        assert sums[0] > 0


@every
def test_a_mask_of_all_is_no_mask_and_a_mask_of_one_is_that_one(combination):
    """True is keep, everywhere."""
    attention = make_attention(*combination)
    query, values = normal(2, T, Q), normal(2, 6, value_size(combination[0]), seed=2)
    bare = attention(query, attention.prepare(values))
    all_kept = attention(query, attention.prepare(values, torch.ones(2, 6, dtype=torch.bool)))
    assert all_kept.weights.equal(bare.weights)
    assert all_kept.context.equal(bare.context)
    first = torch.tensor([True, *[False] * 5]).expand(2, 6)
    weights = attention(query, attention.prepare(values, first)).weights
    assert weights[..., 1:].eq(0).all()
    if normalisers[combination[2]].partial:
        assert ((weights[..., 0] >= 0) & (weights[..., 0] <= 1)).all()
    elif combination[1] in ("global", "hierarchical"):
        assert weights[..., 0].eq(1).all()
    elif combination[1] == "local_m":  # word 1 is in the windows of words 1 to 1 + D
        assert weights[..., 0].tolist() == [[1.0] * 3 + [0.0] * (T - 3)] * 2
        assert OPTIONS["local_m"] == {"window": 2}
    elif combination[1] == "local_p":
        assert ((weights[..., 0] > 0) & (weights[..., 0] <= 1)).all()
    else:  # a window may leave word 1 behind
        assert ((weights[..., 0] == 1) | (weights[..., 0] == 0)).all()
        assert weights[:, 0, 0].eq(1).all()


@every
def test_two_masked_positions_of_six(combination):
    """In the middle of the source, not behind it: their columns are 0, and what stands in them is never heard."""
    attention = make_attention(*combination)
    query, values = normal(2, T, Q), normal(2, 6, value_size(combination[0]), seed=2)
    mask = torch.tensor([True, False, True, True, False, True]).expand(2, 6)
    answer = attention(query, attention.prepare(values, mask))
    assert answer.weights[..., [1, 4]].eq(0).all()
    assert answer.weights[..., [0, 2, 3, 5]].any()
    other = attention(query, attention.prepare(values.masked_fill(~mask.unsqueeze(-1), 1e3), mask))
    assert other.weights.equal(answer.weights)
    assert other.context.equal(answer.context)


@pytest.mark.parametrize("bias", [100.0, -100.0])
@attentive
def test_biases_of_a_hundred_put_no_weight_on_padding(options, fusion, bias):
    """A linear layer makes padding its bias."""
    model, batch = make(**FUSIONS[fusion], **options), random_batch((5, 2, 7), (3, 6, 4))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "bias" in name:
                parameter.fill_(bias)
    _, weights = model.force(batch)
    padding = ~batch.sources[0].mask[:, None].expand_as(weights)
    assert padding.sum() > 0
    assert weights[padding].eq(0).all()
    assert weights.isfinite().all()
    assert weights.any() or model.decoder.fusion.attention.normaliser.partial


@pytest.mark.parametrize(("source", "target"), [(3, 7), (7, 3)])
@attentive
def test_target_padding_has_no_say_in_the_weights(options, fusion, source, target):
    """The source's mask and no other: targets that are longer than the sources, and shorter."""
    sources = rows_of((source, source - 1), SIZES["source_vocabulary_size"], seed=1)
    targets = rows_of((target, target - 2), SIZES["target_vocabulary_size"], seed=2)
    model, batch = make(**FUSIONS[fusion], **options), batch_of(sources, targets)
    logs, weights = model.force(batch)
    assert weights.shape == (2, target, source)
    for junk in (Vocabulary.PAD, Vocabulary.END, 13):
        wide = batch_of(sources, targets, extra_target=5)
        wide.target.tokens[~wide.target.mask] = junk
        other_logs, others = model.force(wide)
        torch.testing.assert_close(other_logs[:, :target], logs, rtol=0, atol=1e-12)
        for row in range(2):
            steps = target - 2 * row
            torch.testing.assert_close(others[row, :steps], weights[row, :steps], rtol=0, atol=1e-12)


WORDS = ["abcdef", "f", "dcb", "", "aa", "fedcbafedc"]


@pytest.mark.parametrize("beam", [1, 5])
@pytest.mark.parametrize("folder", ["run", "copier"])
def test_poisoned_padding_changes_no_answer(request, folder, beam):
    """1e3 and noise in the embeddings of padding, and in the encoder's outputs there: same texts, scores, weights."""
    loaded = heedful.load(request.getfixturevalue(folder))
    wanted = loaded.predict(WORDS, beam=beam)
    model, poisoned = loaded.predictor.model, []

    def poison(encoder, arguments, encoded):
        padding = ~encoded.mask.unsqueeze(-1).expand_as(encoded.values)
        poisoned.append(int(padding.sum()))
        return encoded._replace(values=torch.where(padding, 1e3 * torch.randn(padding.shape), encoded.values))

    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(7)
        for embedding in (model.encoder.embedding, model.decoder.embedding):
            embedding.weight[Vocabulary.PAD] = 1e3 * torch.randn(embedding.weight.shape[1])
        with torch.inference_mode():
            model.encoder.register_forward_hook(poison)
            found = loaded.predict(WORDS, beam=beam)
    assert sum(poisoned) > 0
    assert len({answer.text for answer in wanted}) > 3
    for one, other in zip(found, wanted, strict=True):
        assert (one.text, one.score, one.token_scores) == (other.text, other.score, other.token_scores)
        assert one.alignment == other.alignment
