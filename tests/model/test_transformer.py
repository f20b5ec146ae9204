"""The Transformer's decoder: PyTorch's own layer, and what goes on from step to step."""

import math

import pytest
import torch
from torch import nn

from heedful.attention import dense
from heedful.errors import RecipeError, SizeError
from heedful.model import Transformer, build
from heedful.model.blocks import sinusoids

from .cases import ATTENTIONS, SIZES, close, inputs_of, make, name_of, random_batch, unrolled
from .test_fusion import check_unroll_goes_on, check_unroll_is_steps
from .test_self_attention import copy_attention, copy_layer

TRANSFORMER = {"name": "transformer", "heads": 7}
kinds = pytest.mark.parametrize(
    "options",
    [{}, {"norm": "after"}, {"positions": "learned", "max_positions": 13, "feed_forward_size": 3}],
    ids=["before", "after", "learned"],
)


def model_of(*, layers: int = 2, heads: int = 2, score: str = "scaled_dot", **options):
    fusion = {**TRANSFORMER, **options}
    return make(fusion=fusion, decoder_layers=layers, decoder_size=14, heads=heads, score=score)


@pytest.mark.parametrize("norm", ["before", "after"])
def test_its_layer_is_torchs(norm):
    """nn.TransformerDecoderLayer with copied weights, on padded sentences."""
    model, batch = model_of(layers=1, norm=norm), random_batch()
    ours = model.decoder.fusion
    assert isinstance(ours, Transformer)
    theirs = nn.TransformerDecoderLayer(14, 2, 4 * 14, dropout=0.0, batch_first=True, norm_first=norm == "before")
    theirs = theirs.double().eval()
    theirs.self_attn = nn.MultiheadAttention(14, 7, batch_first=True).double()
    (block,) = ours.blocks
    with torch.no_grad():
        copy_attention(block.attention, theirs.self_attn)
        copy_attention(ours.attention, theirs.multihead_attn)
        norms = (block.around_attention.norm, ours.around_source.norm, block.around_feed_forward.norm)
        copy_layer(block, theirs, norms=norms)
    encoded = model.encode(batch.sources[0])
    _, steps = unrolled(model, batch)
    places = torch.arange(1, 7).expand(3, 6)
    x = ours.inputs.projection(steps.embeddings * math.sqrt(5)) + sinusoids(places, 14)
    causal = nn.Transformer.generate_square_subsequent_mask(6, dtype=torch.float64)
    expected = ours.norm(
        theirs(x, encoded.values, tgt_mask=causal, tgt_is_causal=True, memory_key_padding_mask=~encoded.mask)
    )
    close(steps.states, expected)


@kinds
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_unroll_is_repeated_step(options, layers):
    check_unroll_is_steps(model_of(layers=layers, **options))


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("heads", [1, 2])
def test_unroll_is_repeated_step_for_every_attention(options, heads):
    check_unroll_is_steps(make(**{"fusion": "transformer", "heads": heads, **options, "decoder_size": 14}))


@kinds
def test_unroll_may_go_on_from_any_step(options):
    check_unroll_goes_on(model_of(**options))


def test_it_keeps_what_each_word_was_and_no_more():
    """Keys and values of each layer: (B, K, heads, words so far, size of a head)."""
    model, batch = model_of(layers=3), random_batch()
    memory, state = model.begin(batch.sources[0])
    for count, tokens in enumerate(inputs_of(batch).split(1, dim=1)):
        assert [part.shape for past in state.layers for part in past] == [(3, 1, 7, count, 2)] * 6
        assert (state.step == count).all()
        _, state = model.decoder.step(tokens, memory, state)


def test_the_source_is_asked_by_the_models_attention_with_the_query_that_it_tells():
    model, batch = model_of(layers=2), random_batch()
    fusion = model.decoder.fusion
    memory, state = model.begin(batch.sources[0])
    for tokens in inputs_of(batch).split(1, dim=1):
        before = state
        steps, state = model.decoder.step(tokens, memory, state)
        attended = fusion.attention(fusion.query(steps.embeddings, before), memory, steps=before.step)
        close(attended.weights, steps.weights)
        close(attended.context, steps.contexts)


def test_nothing_goes_past_the_attention():
    """With weights of 0, no source moves any logit: what interventions say is about all that is heard of it."""
    model, batch = model_of(layers=3), random_batch()
    other = random_batch((7, 5, 3), seed=5)._replace(target=batch.target)
    with torch.no_grad():
        model.decoder.fusion.attention.output_projection.weight.zero_()
    close(unrolled(model, batch)[0], unrolled(model, other)[0])
    heard = model_of(layers=3)
    assert (unrolled(heard, batch)[0] - unrolled(heard, other)[0]).abs().amax(-1).min() > 1e-3


def test_what_has_none_of_its_own_gets_a_matrix_to_the_layer():
    """W_c: where the attention has a W_o of the right size, there is no second one."""
    assert isinstance(model_of(heads=2).decoder.fusion.combine, nn.Identity)
    assert model_of(heads=1).decoder.fusion.combine.weight.shape == (14, 14)
    assert make(fusion=TRANSFORMER, decoder_size=7, heads=7).decoder.fusion.combine.weight.shape == (7, 14)


@pytest.mark.parametrize("heads", [1, 2, 7])
def test_the_posterior_asks_one_position_in_every_head(heads):
    """p(y_t) of a source of one word, which is all that can be looked at, is that of the model."""
    model, batch = model_of(heads=heads), random_batch((5, 1, 7))
    found = model.posterior(batch)
    close(found.sum(-1), torch.ones(3, 6).double())
    close(found[1, :, 0], torch.ones(6).double())
    memory, state = model.begin(batch.sources[0])
    _, weights, _ = model.step(inputs_of(batch)[:, :1], memory, state)
    prior = dense(weights)[0, 0, :5]
    expected = []
    for j in range(5):  # the source states of which all but j are masked
        encoded = model.encode(batch.sources[0])
        only = torch.zeros_like(encoded.mask)
        only[:, j] = True
        alone, first = model.decoder.begin(encoded._replace(mask=only))
        logs, _, _ = model.step(inputs_of(batch)[:, :1], alone, first)
        expected.append(logs[0, 0, batch.target.tokens[0, 0]].exp() * prior[j])
    close(found[0, 0, :5], torch.stack(expected) / sum(expected))


def test_what_does_not_go_together():
    with pytest.raises(RecipeError, match="start 'zero' makes the first states of recurrent layers, of which fusion"):
        build(**SIZES, fusion="transformer", start="zero")
    with pytest.raises(SizeError, match=r"readout 'maxout' reads s_\{t-1\}"):
        build(**SIZES, fusion="transformer", readout="maxout")
    with pytest.raises(SizeError, match="which only fusion 'late' has"):
        build(**SIZES, fusion="transformer", readout="attentional")
    with pytest.raises(SizeError, match="a number of heads that divides 11, got 2"):
        build(**SIZES, heads=2)
    with pytest.raises(SizeError, match="a number of heads that divides 11, got 5"):
        build(**SIZES, fusion={"name": "transformer", "heads": 5})
    with pytest.raises(RecipeError, match="'before' a part or 'after' it"):
        build(**SIZES, fusion={"name": "transformer", "norm": "never"})


def test_what_asks_itself_is_counted():
    """For what memory will be needed: one tensor a head."""
    own = {"encoder_size": 8, "decoder_size": 8, "encoder": {"name": "self_attention", "heads": 2}}
    own["fusion"] = {"name": "transformer", "heads": 4}
    assert make(**own).whole_weights == (1, 2, 4)
    assert make(**own, scope="window").whole_weights == (0, 2, 4)
    assert make(fusion="early").whole_weights == (1, 0, 0)


@pytest.mark.parametrize("way", ["uniform", "bahdanau"])
def test_layer_norm_starts_without_effect(way):
    """Whatever the papers, which have none, do with the rest."""
    model = build(**SIZES, fusion="transformer", encoder="self_attention", initialisation=way)
    norms = [module for module in model.modules() if isinstance(module, nn.LayerNorm)]
    assert len(norms) == (2 + 1) + (2 + 1 + 1)
    assert all((norm.weight == 1).all() and (norm.bias == 0).all() for norm in norms)
