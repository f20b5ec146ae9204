"""The encoder of single symbols: its formula, and that nothing else has a say."""

import pytest
import torch
from torch import nn

from heedful.model import Pointwise

from .cases import close, randomise


@pytest.mark.parametrize("layers", [1, 2])
def test_the_formula(layers):
    encoder = Pointwise(nn.Embedding(11, 3), embedding_size=3, hidden_size=5, layers=layers).double().eval()
    randomise(encoder)
    tokens = torch.tensor([[4, 7, 4, 2], [9, 4, 2, 0]])
    mask = tokens > 0
    places = torch.tensor([[1, 2, 3, 0], [1, 2, 0, 0]])
    found = encoder(tokens, mask, places)
    x = encoder.embedding.weight[4]
    for projection in encoder.projections:
        x = torch.tanh(projection.weight @ x + projection.bias)  # h = tanh(W x + b)
    for row, column in ((0, 0), (0, 2), (1, 1)):  # wherever it stands, and beside whatever
        close(found.values[row, column], x)
    assert found.last == ()
    assert encoder.value_size == 5
