"""An LSTM over rows of unequal lengths on a CPU: held behind each row's end, it is what packing makes of them."""

import pytest
import torch
from torch import Tensor, nn

from heedful.model import LSTM, Recurrent
from heedful.model.cells import HiddenAndCell

from .cases import randomise

B, T, I, H = 5, 11, 7, 3
LENGTHS = (11, 2, 7, 1, 5)


def new(dtype=torch.float64, *, hidden_size: int = H) -> LSTM:
    cell = LSTM(I, hidden_size).to(dtype)
    randomise(cell)
    return cell


def draw(*shape: int, dtype=torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def results(run, cell: LSTM, inputs: Tensor, lengths: Tensor) -> list[Tensor]:
    """Outputs before the rows' ends, last states, gradients of a sum in which each number has a weight of its own."""
    size = cell.hidden_size
    state = HiddenAndCell(*(draw(B, size, dtype=inputs.dtype, seed=seed).requires_grad_() for seed in (1, 2)))
    outputs, last = run(inputs, state, lengths)
    real = torch.arange(T)[None, :, None] < lengths[:, None, None]
    values = [outputs.masked_fill(~real, 0.0), *last]
    total = sum((value * draw(*value.shape, dtype=value.dtype, seed=9)).sum() for value in values)
    assert isinstance(total, Tensor)
    return [*values, *torch.autograd.grad(total, [inputs, *state, *cell.parameters()])]


@pytest.mark.parametrize("lengths", [LENGTHS, (3, 4, 2, 4, 1), (11,) * 5])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-14), (torch.float32, 3e-6)])
def test_values_and_gradients_are_those_of_packing(dtype, tolerance, lengths):
    cell, inputs = new(dtype, hidden_size=13), draw(B, T, I, dtype=dtype).requires_grad_()
    held, packed = (results(run, cell, inputs, torch.tensor(lengths)) for run in (cell._held, cell._packed))
    for value, expected in zip(held, packed, strict=True):
        assert (value - expected).abs().max() <= tolerance * expected.abs().max()


def test_a_cell_is_held_to_the_last_digit_however_long_the_padding():
    """In single precision too, where PyTorch has kernels of another library for it."""
    for dtype in (torch.float32, torch.float64):
        cell, inputs = new(dtype), draw(B, T, I, dtype=dtype)
        longer = torch.cat([inputs, torch.zeros(B, 500, I, dtype=dtype)], dim=1)
        state = cell.zero_state(inputs, B)
        lengths = torch.tensor(LENGTHS)
        (_, short), (_, long) = (cell.unroll(each, state, lengths) for each in (inputs, longer))
        assert torch.equal(short.cell, long.cell)
        assert torch.equal(short.hidden, long.hidden)


def test_what_stands_behind_a_rows_end_is_never_read_be_it_no_number():
    cell, inputs = new(), draw(B, T, I)
    behind = torch.arange(T)[None, :] >= torch.tensor(LENGTHS)[:, None]
    poisoned = inputs.clone()
    poisoned[behind] = torch.nan
    poisoned.requires_grad_()
    clean, got = (
        results(cell.unroll, cell, each, torch.tensor(LENGTHS)) for each in (inputs.requires_grad_(), poisoned)
    )
    for value, expected in zip(got, clean, strict=True):
        assert torch.equal(value, expected)
    assert (got[3][behind] == 0).all()  # nor has it a gradient


@pytest.mark.parametrize(("device", "packs"), [("cpu", False), ("meta", True)])
def test_other_devices_pack(device, packs, monkeypatch):
    """For them PyTorch has fast kernels for packed sequences, for a CPU it has none."""
    encoder = Recurrent(nn.Embedding(29, 5), embedding_size=5, cell=LSTM, hidden_size=3, bidirectional=False).to(device)
    seen = []
    monkeypatch.setattr(
        LSTM, "_packed", lambda self, inputs, state, lengths: (seen.append(lengths), (inputs, state))[1]
    )
    tokens = torch.zeros(B, T, dtype=torch.int64, device=device)
    encoder(tokens, tokens == 0, tokens)
    assert bool(seen) is packs
