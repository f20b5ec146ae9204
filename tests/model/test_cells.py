"""Cells: the run over all steps, the step in parts, and the papers' formulas."""

import pytest
import torch
from torch import Tensor, nn

from heedful.model import GRU, LSTM, PaperGRU
from heedful.model.cells import Cell, CellState, HiddenState, cells

from .cases import CELLS, close, randomise

B, T, I, H = 3, 5, 7, 2


def new(name: str) -> Cell:
    cell = cells[name](I, H).double()
    randomise(cell, scale=1.0)
    return cell


def draw(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, dtype=torch.float64, generator=generator)


def state_of(cell: Cell, *leading: int) -> CellState:
    return cell.state(*(draw(*leading, H, seed=10 + n) for n, _ in enumerate(cell.state._fields)))


def by_torch_cells(cell: GRU | LSTM, inputs: Tensor, state: CellState) -> tuple[Tensor, list[Tensor]]:
    """PyTorch's single-step cells with the same parameters: independent of the class."""
    one = (nn.GRUCell if isinstance(cell, GRU) else nn.LSTMCell)(I, H).double()
    one.load_state_dict({name.removesuffix("_l0"): value for name, value in cell.rnn.state_dict().items()})
    now = tuple(state) if len(state) > 1 else state[0]
    outputs = []
    for step in inputs.unbind(1):
        now = one(step, now)
        outputs.append(now[0] if isinstance(now, tuple) else now)
    return torch.stack(outputs, 1), list(now) if isinstance(now, tuple) else [now]


def by_paper(cell: PaperGRU, x: Tensor, s: Tensor) -> Tensor:
    """One step of Bahdanau et al. 2015, appendix A.1.1, letter by letter, for one sentence."""
    W_z, W_r, W = cell.inputs.weight.split(H)
    b_z, b_r, b = cell.inputs.bias.split(H)
    U_z, U_r = cell.gates.weight.split(H)
    U = cell.candidate.weight
    z = torch.sigmoid(W_z @ x + b_z + U_z @ s)
    r = torch.sigmoid(W_r @ x + b_r + U_r @ s)
    new = torch.tanh(W @ x + b + U @ (r * s))
    return (1 - z) * s + z * new


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_unroll_is_torchs(name):
    cell, inputs = new(name), draw(B, T, I)
    assert isinstance(cell, GRU | LSTM)
    state = state_of(cell, B)
    outputs, last = cell.unroll(inputs, state)
    expected, ends = by_torch_cells(cell, inputs, state)
    close(outputs, expected)
    for part, end in zip(last, ends, strict=True):
        close(part, end)


@pytest.mark.parametrize("leading", [(3,), (3, 5), (2, 3, 1)])
@pytest.mark.parametrize("name", CELLS)
def test_unroll_is_a_repeated_advance_with_the_input_in_two_pieces(name, leading):
    cell = new(name)
    rows = torch.Size(leading).numel()
    inputs, state = draw(rows, T, I), state_of(cell, rows)
    outputs, last = cell.unroll(inputs, state)
    now = cell.state(*(part.unflatten(0, leading) for part in state))
    for time, step in enumerate(inputs.unbind(1)):
        step = step.unflatten(0, leading)
        gates = cell.input_gates(step[..., :3]) + step[..., 3:] @ cell.input_columns(3).T
        now = cell.advance(gates, cell.recurrent_gates(now), now)
        close(now.hidden.flatten(0, -2), outputs[:, time])
    for part, end in zip(now, last, strict=True):
        close(part.flatten(0, -2), end)


@pytest.mark.parametrize("lengths", [(2, 5, 1), (5, 5, 5), (1, 1, 1), (3, 4, 2)])
@pytest.mark.parametrize("name", CELLS)
def test_rows_that_end_earlier_are_as_if_cut(name, lengths):
    cell, inputs = new(name), draw(B, T, I)
    state = state_of(cell, B)
    outputs, last = cell.unroll(inputs, state, torch.tensor(lengths))
    assert outputs.shape == (B, T, H)
    for row, length in enumerate(lengths):
        own = cell.state(*(part[row : row + 1] for part in state))
        expected, end = cell.unroll(inputs[row : row + 1, :length], own)
        close(outputs[row : row + 1, :length], expected)
        for part, wanted in zip(last, end, strict=True):
            close(part[row : row + 1], wanted)


def test_paper_gru_is_the_papers_formula():
    cell, inputs = new("paper_gru"), draw(B, T, I)
    assert isinstance(cell, PaperGRU)
    state = state_of(cell, B)
    outputs, _ = cell.unroll(inputs, state)
    for row in range(B):
        s = state.hidden[row]
        for time in range(T):
            s = by_paper(cell, inputs[row, time], s)
            close(outputs[row, time], s)


def test_paper_gru_by_hand():
    """H = I = 1, all weights 1, x = 0, s = 2: z = r = sigmoid(2), s~ = tanh(2 r), s' = s + z (s~ - s)."""
    cell = PaperGRU(1, 1).double()
    with torch.no_grad():
        for parameter in cell.parameters():
            parameter.fill_(1.0)
        cell.inputs.bias.zero_()
    outputs, _ = cell.unroll(torch.zeros(1, 1, 1).double(), HiddenState(torch.tensor([[2.0]]).double()))
    assert outputs.item() == pytest.approx(1.068716, abs=1e-6)


def test_an_open_update_gate_takes_the_new_state_in_the_paper_and_keeps_the_old_in_torch():
    inputs, state = draw(B, 1, I), HiddenState(draw(B, H, seed=3))
    paper, torchs = new("paper_gru"), new("gru")
    assert isinstance(paper, PaperGRU)
    assert isinstance(torchs, GRU)
    with torch.no_grad():
        paper.inputs.bias[:H] = 1e3  # z
        torchs.rnn.bias_ih_l0[H : 2 * H] = 1e3  # z
    gates = paper.input_gates(inputs[:, 0])
    reset = torch.sigmoid(gates[:, H : 2 * H] + state.hidden @ paper.gates.weight[H:].T)
    candidate = torch.tanh(gates[:, 2 * H :] + (reset * state.hidden) @ paper.candidate.weight.T)
    close(paper.unroll(inputs, state)[1].hidden, candidate)
    close(torchs.unroll(inputs, state)[1].hidden, state.hidden)


def test_paper_gru_is_not_torchs_with_the_gate_turned_round():
    """Even with z turned round, the reset gate stands elsewhere."""
    paper, torchs = new("paper_gru"), new("gru")
    assert isinstance(paper, PaperGRU)
    assert isinstance(torchs, GRU)
    W_z, W_r, W = paper.inputs.weight.split(H)
    U_z, U_r = paper.gates.weight.split(H)
    with torch.no_grad():
        paper.inputs.bias.zero_()
        torchs.rnn.bias_ih_l0.zero_()
        torchs.rnn.bias_hh_l0.zero_()
        torchs.rnn.weight_ih_l0.copy_(torch.cat([W_r, -W_z, W]))
        torchs.rnn.weight_hh_l0.copy_(torch.cat([U_r, -U_z, paper.candidate.weight]))
    inputs = draw(B, 1, I)
    zeros, state = HiddenState(torch.zeros(B, H).double()), HiddenState(draw(B, H, seed=3))
    close(paper.unroll(inputs, zeros)[0], torchs.unroll(inputs, zeros)[0])  # there r has nothing to reset
    assert (paper.unroll(inputs, state)[0] - torchs.unroll(inputs, state)[0]).abs().max() > 0.01


@pytest.mark.parametrize("name", CELLS)
def test_zero_state(name):
    cell = new(name)
    state = cell.zero_state(torch.ones(1, dtype=torch.float64), 3, 5)
    assert len(state) == (2 if name == "lstm" else 1)
    for part in state:
        close(part, torch.zeros(3, 5, H, dtype=torch.float64))


@pytest.mark.parametrize("name", CELLS)
def test_the_state_given_is_left_alone(name):
    cell = new(name)
    state = state_of(cell, B)
    before = [part.clone() for part in state]
    cell.unroll(draw(B, T, I), state)
    cell.advance(cell.input_gates(draw(B, I)), cell.recurrent_gates(state), state)
    assert all(torch.equal(part, old) for part, old in zip(state, before, strict=True))
