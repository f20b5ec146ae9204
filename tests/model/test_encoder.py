"""The encoder: right for every length in a padded batch, in both directions."""

import itertools

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from heedful.data.batches import Sequences
from heedful.data.vocabulary import Vocabulary
from heedful.model import Encoded, Recurrent, cells

from .cases import CELLS, close, randomise, rows_of, sequences

SIZE, E, H = 29, 5, 7
LENGTHS = (5, 2, 7, 1)
kinds = pytest.mark.parametrize(
    ("cell", "layers", "bidirectional"), list(itertools.product(CELLS, (1, 2, 3), (False, True)))
)


def new(cell: str, layers: int, bidirectional: bool) -> Recurrent:
    encoder = Recurrent(
        nn.Embedding(SIZE, E),
        embedding_size=E,
        cell=cells[cell],
        hidden_size=H,
        layers=layers,
        bidirectional=bidirectional,
    )
    encoder.double().eval()
    randomise(encoder)
    return encoder


def source_of(lengths=LENGTHS, *, extra: int = 0, seed: int = 0) -> Sequences:
    return sequences(rows_of(lengths, SIZE, seed=seed), positions=True, extra=extra)


def alone(source: Sequences, row: int) -> Sequences:
    length = int(source.mask[row].sum())
    return source._make(part[row : row + 1, :length] for part in source)


def same_at(encoded: Encoded, row: int, single: Encoded) -> None:
    """Row `row` of a batch is what the sentence gives alone: source states, and each layer's last state."""
    close(encoded.values[row : row + 1, : single.values.shape[1]], single.values)
    for state, expected in zip(encoded.last, single.last, strict=True):
        for part, wanted in zip(state, expected, strict=True):
            close(part[row : row + 1], wanted)


@pytest.mark.parametrize("extra", [0, 3])
@kinds
def test_a_padded_batch_is_each_sentence_alone(cell, layers, bidirectional, extra):
    encoder, source = new(cell, layers, bidirectional), source_of(extra=extra)
    encoded = encoder(*source[:3])
    directions = 2 if bidirectional else 1
    assert encoded.values.shape == (4, 7 + extra, directions * H)
    assert [part.shape for state in encoded.last for part in state] == [(4, directions * H)] * (
        layers * len(cells[cell].state._fields)
    )
    for row in range(4):
        same_at(encoded, row, encoder(*alone(source, row)[:3]))


@kinds
def test_what_stands_at_padding_is_never_read(cell, layers, bidirectional):
    encoder, source = new(cell, layers, bidirectional), source_of(extra=2)
    clean = encoder(*source[:3])
    with torch.no_grad():
        encoder.embedding.weight[Vocabulary.PAD] = 1e3
    poisoned = encoder(*source[:3])
    assert torch.equal(clean.values[source.mask], poisoned.values[source.mask])
    for state, expected in zip(poisoned.last, clean.last, strict=True):
        assert all(torch.equal(part, wanted) for part, wanted in zip(state, expected, strict=True))


@kinds
def test_the_last_word_is_heard_at_the_first_position_only_backwards(cell, layers, bidirectional):
    encoder, source = new(cell, layers, bidirectional), source_of((5, 7), seed=3)
    other = source._replace(tokens=source.tokens.clone())
    other.tokens[0, 4] = 17
    before, after = encoder(*source[:3]).values, encoder(*other[:3]).values
    assert torch.equal(before[0, 0], after[0, 0]) is not bidirectional
    if layers == 1:
        assert torch.equal(before[0, 0, :H], after[0, 0, :H])  # the forward half has not heard it
    assert torch.equal(before[1], after[1])
    assert not torch.equal(before[0, 4], after[0, 4])


@kinds
def test_the_first_word_is_heard_at_the_last_position(cell, layers, bidirectional):
    encoder, source = new(cell, layers, bidirectional), source_of((5, 7), seed=3)
    other = source._replace(tokens=source.tokens.clone())
    other.tokens[0, 0] = 17
    before, after = encoder(*source[:3]).values, encoder(*other[:3]).values
    assert not torch.equal(before[0, 4, :H], after[0, 4, :H])
    if bidirectional and layers == 1:  # the backward half of the only layer has not got there yet
        assert torch.equal(before[0, 4, H:], after[0, 4, H:])


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_it_is_torchs_own_stack(cell, layers, bidirectional):
    """The same parameters in one nn.GRU or nn.LSTM of several layers, on packed sequences."""
    encoder, source = new(cell, layers, bidirectional), source_of()
    kind = nn.GRU if cell == "gru" else nn.LSTM
    whole = kind(E, H, num_layers=layers, bidirectional=bidirectional, batch_first=True).double()
    wanted = {}
    for side, suffix in ((encoder.forward_cells, ""), (encoder.backward_cells, "_reverse")):
        for layer, one in enumerate(side):
            for name, value in one.rnn.state_dict().items():
                wanted[name.replace("_l0", f"_l{layer}{suffix}")] = value
    whole.load_state_dict(wanted)
    packed = pack_padded_sequence(
        encoder.embedding(source.tokens), source.mask.sum(1), batch_first=True, enforce_sorted=False
    )
    outputs, last = whole(packed)
    outputs, _ = pad_packed_sequence(outputs, batch_first=True)
    encoded = encoder(*source[:3])
    close(encoded.values * source.mask.unsqueeze(-1), outputs)
    parts = last if isinstance(last, tuple) else (last,)
    for index, part in enumerate(parts):
        by_layer = part.unflatten(0, (layers, -1)).transpose(1, 2).flatten(2)  # directions side by side
        for layer in range(layers):
            close(encoded.last[layer][index], by_layer[layer])


def test_mask_and_positions_are_passed_on():
    source = source_of()
    encoded = new("gru", 1, True)(*source[:3])
    assert torch.equal(encoded.mask, source.mask)
    assert torch.equal(encoded.positions, source.positions)


def test_a_sentence_of_nothing_but_padding_is_finite_and_changes_no_other():
    encoder, source = new("lstm", 2, True), source_of((5, 2))
    none = source._replace(tokens=source.tokens.clone(), mask=source.mask.clone())
    none.tokens[1], none.mask[1] = Vocabulary.PAD, False
    encoded = encoder(*none[:3])
    assert encoded.values.isfinite().all()
    same_at(encoded, 0, encoder(*alone(source, 0)[:3]))


def test_dropout_is_on_embeddings_and_between_layers_in_training_only():
    encoder, source = new("gru", 2, True), source_of((5, 5))
    quiet = encoder(*source[:3]).values
    encoder.dropout.p = 0.5
    close(encoder(*source[:3]).values, quiet)
    seen = []
    encoder.dropout.register_forward_hook(lambda _, __, out: seen.append((out.shape[-1], bool((out == 0).any()))))
    encoder.train()(*source[:3])
    assert seen == [(E, True), (2 * H, True)]
