"""The encoder whose states ask each other: PyTorch's own layers, and what masks and positions mean."""

import math

import pytest
import torch
from torch import nn

from heedful.data.batches import Sequences
from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError, SizeError
from heedful.model import SelfAttention, build, encoders
from heedful.model.blocks import Inputs, sinusoids

from .cases import SIZES, close, make, random_batch, randomise
from .test_encoder import alone, same_at, source_of

SIZE, E, H = 29, 5, 14
kinds = pytest.mark.parametrize(
    ("norm", "positions"), [("before", "sinusoidal"), ("after", "sinusoidal"), ("before", "learned")]
)


def new(*, layers: int = 2, norm: str = "before", positions: str = "sinusoidal", **options) -> SelfAttention:
    encoder = SelfAttention(
        nn.Embedding(SIZE, E),
        embedding_size=E,
        hidden_size=H,
        layers=layers,
        norm=norm,
        positions=positions,
        **{"heads": 7, "max_positions": 13, **options},
    )
    encoder.double().eval()
    randomise(encoder)
    return encoder


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("layers", [1, 3])
def test_its_layers_are_torchs(norm, layers):
    """nn.TransformerEncoder with copied weights, on padded sentences."""
    encoder, source = new(layers=layers, norm=norm), source_of()
    layer = nn.TransformerEncoderLayer(H, 7, 4 * H, dropout=0.0, batch_first=True, norm_first=norm == "before")
    final = nn.LayerNorm(H) if norm == "before" else None
    theirs = nn.TransformerEncoder(layer, layers, final, enable_nested_tensor=False).double().eval()
    with torch.no_grad():
        for ours, copy in zip(encoder.blocks, theirs.layers, strict=True):
            copy_attention(ours.attention, copy.self_attn)
            copy_layer(ours, copy, norms=(ours.around_attention.norm, ours.around_feed_forward.norm))
        if final is not None:
            theirs.norm.load_state_dict(encoder.norm.state_dict())
    words = source.positions + (source.tokens == Vocabulary.END) * source.mask.sum(1, keepdim=True)
    x = encoder.inputs.projection(encoder.embedding(source.tokens) * math.sqrt(E)) + sinusoids(words, H)
    expected = theirs(x, src_key_padding_mask=~source.mask)
    close(encoder(*source[:3]).values[source.mask], expected[source.mask])


def copy_attention(ours, theirs) -> None:
    """Without biases, as ours is."""
    parts = (ours.query_projection, ours.key_projection, ours.value_projection)
    theirs.in_proj_weight.copy_(torch.cat([part.weight for part in parts]))
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(ours.output_projection.weight)
    theirs.out_proj.bias.zero_()


def copy_layer(ours, theirs, *, norms) -> None:
    theirs.linear1.load_state_dict(ours.feed_forward.inner.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.outer.state_dict())
    for number, norm in enumerate(norms, start=1):
        getattr(theirs, f"norm{number}").load_state_dict(norm.state_dict())


@pytest.mark.parametrize("extra", [0, 3])
@kinds
def test_a_padded_batch_is_each_sentence_alone(norm, positions, extra):
    encoder, source = new(norm=norm, positions=positions), source_of(extra=extra)
    encoded = encoder(*source[:3])
    assert encoded.values.shape == (4, 7 + extra, H)
    assert encoded.last == ()
    for row in range(4):
        same_at(encoded, row, encoder(*alone(source, row)[:3]))


@kinds
def test_masked_is_sliced(norm, positions):
    """A word in the middle: the others keep their places."""
    encoder, source = new(norm=norm, positions=positions), source_of((7, 7))
    kept = [0, 1, 3, 5, 6]
    mask = source.mask.clone()
    mask[:, [2, 4]] = False
    masked = encoder(source.tokens, mask, source.positions).values
    sliced = encoder(*(part[:, kept] for part in source[:3])).values
    close(masked[:, kept], sliced)


@kinds
def test_the_order_of_reading_does_not_matter(norm, positions):
    """A text that is read from its end: each word has the state that it has in order. So has the end symbol."""
    encoder, source = new(norm=norm, positions=positions), source_of((7,))
    order = [5, 4, 3, 2, 1, 0, 6]
    turned = encoder(*(part[:, order] for part in source[:3])).values
    close(turned, encoder(*source[:3]).values[:, order])


def test_the_order_of_the_words_matters():
    encoder, source = new(), source_of((7,))
    tokens = source.tokens[:, [5, 4, 3, 2, 1, 0, 6]]
    difference = (
        encoder(tokens, source.mask, source.positions).values - encoder(*source[:3]).values[:, [5, 4, 3, 2, 1, 0, 6]]
    )
    assert (difference.abs().amax(-1) > 1e-3).all()


def test_tags_do_not_move_the_words():
    """A tag in front has no place: the words are where they were, and so is the end symbol behind them."""
    encoder, source = new(layers=1), source_of((7,))
    tag = torch.tensor([[11]])
    tagged = Sequences(
        torch.cat([tag, source.tokens], 1),
        torch.ones(1, 8, dtype=torch.bool),
        torch.cat([tag * 0, source.positions], 1),
    )
    vectors = []
    encoder.inputs.register_forward_hook(lambda _, __, out: vectors.append(out))
    encoder(*tagged[:3])
    encoder(*source[:3])
    close(vectors[0][:, 1:], vectors[1])


def test_the_end_symbol_stands_behind_the_last_word():
    """In two texts that differ in length alone, it is not the same: by it, the last words can be found."""
    encoder = new(layers=1)
    vectors = []
    encoder.inputs.register_forward_hook(lambda _, __, out: vectors.append(out))
    encoder(*source_of((3, 7))[:3])
    expected = encoder.inputs.projection(encoder.embedding.weight[Vocabulary.END] * math.sqrt(E))
    close(vectors[0][0, 2], expected + sinusoids(torch.tensor(3), H))
    close(vectors[0][1, 6], expected + sinusoids(torch.tensor(7), H))


def test_what_stands_at_padding_is_never_read():
    encoder, source = new(), source_of(extra=2)
    clean = encoder(*source[:3])
    with torch.no_grad():
        encoder.embedding.weight[Vocabulary.PAD] = torch.nan
    assert torch.equal(clean.values[source.mask], encoder(*source[:3]).values[source.mask])


def test_sinusoids_are_the_papers():
    found = sinusoids(torch.tensor([[0, 3]]), 5)
    expected = [
        math.sin(3),
        math.cos(3),
        math.sin(3 / 10_000**0.4),
        math.cos(3 / 10_000**0.4),
        math.sin(3 / 10_000**0.8),
    ]
    close(found, torch.tensor([[[0.0, 1.0, 0.0, 1.0, 0.0], expected]], dtype=torch.float64))


def test_a_place_without_a_learned_vector_is_told():
    encoder = new(positions="learned", max_positions=6)
    assert encoder(*source_of((6,))[:3]).values.isfinite().all()
    with pytest.raises(SizeError, match="learned up to 6, got a text with position 7"):
        encoder(*source_of((7,))[:3])


def test_options_that_make_no_sense():
    with pytest.raises(RecipeError, match="'before' a part or 'after' it, got 'between'"):
        new(norm="between")
    with pytest.raises(RecipeError, match="'sinusoidal' or 'learned', got 'relative'"):
        new(positions="relative")
    with pytest.raises(SizeError, match="divides 14, got 4"):
        new(heads=4)
    with pytest.raises(SizeError, match="feed_forward_size must be at least 1, got 0"):
        new(feed_forward_size=0)
    with pytest.raises(SizeError, match="max_positions must be at least 1"):
        Inputs(5, 7, scale=1.0, positions="learned", max_positions=0, dropout=0.0)


@pytest.mark.parametrize(("size", "heads"), [(16, 4), (14, 2), (7, 1)])
def test_heads_by_default(size, heads):
    encoder = encoders["self_attention"](nn.Embedding(3, 5), embedding_size=5, hidden_size=size)  # pyright: ignore
    assert encoder.blocks[0].attention.heads == heads


def test_a_decoder_starts_at_the_mean_where_there_is_no_last_state():
    """If nothing is said; what is said and cannot be is refused."""
    model = make(encoder="self_attention", fusion="early")
    assert type(model.decoder.start).__name__ == "LearnedMean"
    assert type(make(fusion="early").decoder.start).__name__ == "LearnedLast"
    assert model(random_batch()).total.isfinite()
    for start in ("last", "learned_last"):
        with pytest.raises(SizeError, match=f"start '{start}' needs an encoder whose layers have a last state"):
            build(**SIZES, encoder="self_attention", start=start)
    with pytest.raises(SizeError, match="fusion 'none' needs an encoder whose layers have a last state"):
        build(**SIZES, encoder="self_attention", fusion="none")


def test_dropout_is_on_the_inputs_and_on_what_parts_add_in_training_only():
    encoder, source = new(dropout=0.5), source_of((5, 5))
    quiet = encoder(*source[:3]).values
    close(encoder(*source[:3]).values, quiet)
    dropped = []
    for module in encoder.modules():
        if isinstance(module, nn.Dropout) and module.p:
            module.register_forward_hook(lambda _, __, out: dropped.append(bool((out == 0).any())))
    encoder.train()(*source[:3])
    assert dropped == [True] * (1 + 2 * 2)
