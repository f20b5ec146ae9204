"""Where the decoder starts: values by hand, and sizes that do not fit."""

import re

import pytest
import torch
from torch import Tensor, nn

from heedful.errors import SizeError
from heedful.model import Encoded, Encoder, Recurrent, cells, starts
from heedful.model.cells import HiddenAndCell, HiddenState
from heedful.model.start import Start, masked_mean

from .cases import close, randomise

B, S, H = 3, 5, 7
LENGTHS = (4, 1, 5)


def encoder_of(*, cell: str = "gru", layers: int = 1, bidirectional: bool = True) -> Encoder:
    return Recurrent(
        nn.Embedding(2, 3),
        embedding_size=3,
        cell=cells[cell],
        hidden_size=H,
        layers=layers,
        bidirectional=bidirectional,
    )


def encoded_of(encoder: Encoder) -> Encoded:
    """Random states; what stands behind each sentence is not a number."""
    generator = torch.Generator().manual_seed(5)

    def draw(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator, dtype=torch.float64)

    values = draw(B, S, encoder.value_size)
    mask = torch.arange(S) < torch.tensor(LENGTHS)[:, None]
    values[~mask] = torch.nan
    parts = len(encoder.state._fields)
    last = tuple(encoder.state(*draw(parts, B, encoder.value_size)) for _ in range(encoder.layers))
    return Encoded(values, mask, torch.zeros(B, S, dtype=torch.int64), last)


def start_of(name: str, encoder: Encoder, *, cell: str, hidden_size: int, layers: int) -> Start:
    start = starts[name](encoder, cell=cells[cell], hidden_size=hidden_size, layers=layers).double()
    randomise(start)
    return start


def projected(start: Start, index: int, source: Tensor) -> Tensor:
    """tanh(W h + b), row by row."""
    matrix = start.projections[index]
    return torch.stack([torch.tanh(matrix.weight @ row + matrix.bias) for row in source])


def check(states, layers: int, cell: str, expected) -> None:
    """`expected(layer, part)` is (B, H'), of each layer and part."""
    kind = HiddenAndCell if cell == "lstm" else HiddenState
    assert [type(state) for state in states] == [kind] * layers
    for layer, state in enumerate(states):
        for part, got in enumerate(state):
            close(got, expected(layer, part).unsqueeze(1))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_zero(cell, layers):
    encoder = encoder_of(cell=cell)
    states = start_of("zero", encoder, cell=cell, hidden_size=11, layers=layers)(encoded_of(encoder))
    check(states, layers, cell, lambda layer, part: torch.zeros(B, 11, dtype=torch.float64))


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_last_is_layer_by_layer(cell, layers, bidirectional):
    encoder = encoder_of(cell=cell, layers=layers, bidirectional=bidirectional)
    encoded = encoded_of(encoder)
    states = start_of("last", encoder, cell=cell, hidden_size=encoder.value_size, layers=layers)(encoded)
    check(states, layers, cell, lambda layer, part: encoded.last[layer][part])


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_mean_is_over_real_words(cell, layers):
    encoder = encoder_of(cell=cell)
    encoded = encoded_of(encoder)
    mean = torch.stack([row[:length].mean(0) for row, length in zip(encoded.values, LENGTHS, strict=True)])
    states = start_of("mean", encoder, cell=cell, hidden_size=2 * H, layers=layers)(encoded)
    check(states, layers, cell, lambda layer, part: mean)
    start = start_of("learned_mean", encoder, cell=cell, hidden_size=11, layers=layers)
    width = 2 if cell == "lstm" else 1
    check(start(encoded), layers, cell, lambda layer, part: projected(start, layer * width + part, mean))


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("read", ["gru", "lstm"])
def test_learned_last_has_its_own_matrix_for_each_layer_and_part(read, cell, layers):
    """An LSTM's cells start at the encoder's cells where it has them, else at its hidden state."""
    encoder = encoder_of(cell=read, layers=2)
    encoded = encoded_of(encoder)
    start = start_of("learned_last", encoder, cell=cell, hidden_size=11, layers=layers)
    width = 2 if cell == "lstm" else 1
    assert len(start.projections) == layers * width
    top = encoded.last[1]
    source = [top[0], top[1] if read == "lstm" else top[0]]
    check(start(encoded), layers, cell, lambda layer, part: projected(start, layer * width + part, source[part]))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["paper_gru", "lstm"])
def test_backward_first_is_the_backward_state_at_word_1(cell, layers):
    encoder = encoder_of(cell=cell)
    encoded = encoded_of(encoder)
    start = start_of("backward_first", encoder, cell=cell, hidden_size=11, layers=layers)
    width = 2 if cell == "lstm" else 1
    backward = encoded.values[:, 0, H:]
    check(start(encoded), layers, cell, lambda layer, part: projected(start, layer * width + part, backward))


def test_backward_first_has_read_the_whole_source():
    """In a real encoder it is the backward direction's last state."""
    encoder = Recurrent(nn.Embedding(29, 3), embedding_size=3, cell=cells["paper_gru"], hidden_size=H).double()
    start = start_of("backward_first", encoder, cell="paper_gru", hidden_size=11, layers=1)
    tokens, mask = torch.tensor([[5, 6, 7], [8, 9, 0]]), torch.tensor([[True] * 3, [True, True, False]])
    encoded = encoder(tokens, mask, torch.zeros_like(tokens))
    close(start(encoded)[0].hidden[:, 0], projected(start, 0, encoded.last[0].hidden[:, H:]))


def test_mean_of_nothing_is_zero():
    encoded = encoded_of(encoder_of())
    encoded.mask[1] = False
    close(masked_mean(encoded)[1], torch.zeros(2 * H, dtype=torch.float64))


@pytest.mark.parametrize(
    ("name", "options", "hidden_size", "layers", "cell", "message"),
    [
        ("last", {}, 11, 1, "gru", "1 layers of 11 with hidden; got 1 layers of 14 with hidden"),
        ("last", {"layers": 3}, 14, 2, "gru", "2 layers of 14 with hidden; got 3 layers of 14 with hidden"),
        ("last", {}, 14, 1, "lstm", "1 layers of 14 with hidden+cell; got 1 layers of 14 with hidden;"),
        ("last", {"cell": "lstm"}, 14, 1, "gru", "14 with hidden; got 1 layers of 14 with hidden+cell"),
        ("mean", {}, 11, 1, "gru", "the decoder's size 11, got 14; 'learned_mean' takes any"),
        ("mean", {"bidirectional": False}, 14, 1, "gru", "the decoder's size 14, got 7"),
        ("backward_first", {"bidirectional": False}, 11, 1, "gru", "needs an encoder that reads backward too"),
    ],
)  # fmt: skip
def test_sizes_that_do_not_fit_are_named(name, options, hidden_size, layers, cell, message):
    with pytest.raises(SizeError, match=re.escape(message)):
        start_of(name, encoder_of(**options), cell=cell, hidden_size=hidden_size, layers=layers)


def test_all_starts_are_tested_here():
    assert starts.names() == ["zero", "last", "mean", "learned_last", "learned_mean", "backward_first"]
