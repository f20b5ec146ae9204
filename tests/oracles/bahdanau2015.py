"""Bahdanau, Cho and Bengio, ICLR 2015 (arXiv 1409.0473), appendix A: literal loops over one sentence.

Words are ids; the row E_x[x] is the paper's product E x. Source words x_1..x_S, target words y_1..y_T
(with the end symbol as y_T where there is one). The decoder is teacher forced: step i reads y_{i-1} and
gives the logits for y_i. The embedding of y_0 is ZERO (the authors' code masks it), unless `y_0` names a
word. Biases, which the paper initialises to 0 but leaves out of the printed equations, are included.

Keys of the parameter dict and their shapes (m, m_y = embedding sizes, n = states of one direction, n_d =
decoder states, k = size of a source vector, 2n here and n in the RNNencdec, l = maxout units, a =
attention size):

    E_x (K_x, m), E_y (K_y, m_y)
    fwd.W, fwd.W_z, fwd.W_r (n, m)   fwd.U, fwd.U_z, fwd.U_r (n, n)   fwd.b, fwd.b_z, fwd.b_r (n)
    bwd.*  the same for the backward RNN (not in the RNNencdec)
    W_s (n_d, n), b_s (n_d)
    decoder cell
      paper_gru    W, W_z, W_r (n_d, m_y)   U, U_z, U_r (n_d, n_d)   C, C_z, C_r (n_d, k)   b, b_z, b_r (n_d)
      gru, lstm    W_ih (3 or 4 n_d, m_y + k) reading [E y_{i-1}; c_i], W_hh (.., n_d), b_ih, b_hh (..)
    attention      additive: W_a (a, n_d), U_a (a, k), v_a (a), b_a (a) or no such key;
                   others and local_p: see pieces.py, with q = n_d
    readout
      maxout         U_o (2l, n_d), V_o (2l, m_y), C_o (2l, k), b_o (2l), W_o (K_y, l), b_w (K_y)
      state_context  W_o (K_y, n_d + k), b_w (K_y)
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .pieces import State, Step, attend, cell_step, paper_gru, part


def run_forward(p: dict[str, Tensor], x: Sequence[int]) -> list[Tensor]:
    """Forward states (n) of every source word, from the weights fwd.*; the state before the first is 0."""
    fwd = part(p, "fwd.")
    h_fwd = fwd["b"].new_zeros(len(fwd["b"]))
    states = []
    for i in range(len(x)):
        h_fwd = paper_gru(fwd, {"W": p["E_x"][x[i]]}, h_fwd)
        states.append(h_fwd)
    return states


def run_backward(p: dict[str, Tensor], x: Sequence[int]) -> list[Tensor]:
    """Backward states (n) of every source word, in the order of the words, from the weights bwd.*."""
    bwd = part(p, "bwd.")
    h_bwd = bwd["b"].new_zeros(len(bwd["b"]))
    states: list[Tensor] = []
    for i in reversed(range(len(x))):
        h_bwd = paper_gru(bwd, {"W": p["E_x"][x[i]]}, h_bwd)
        states.insert(0, h_bwd)
    return states


def encode(p: dict[str, Tensor], x: Sequence[int]) -> tuple[list[Tensor], Tensor]:
    """(h, h_bwd_1): annotations h_j = [fwd_j; bwd_j] (2n) and the backward state at the first word (n)."""
    h_fwd = run_forward(p, x)
    h_bwd = run_backward(p, x)
    h = [torch.cat([h_fwd[j], h_bwd[j]]) for j in range(len(x))]
    return h, h_bwd[0]


def encode_encdec(p: dict[str, Tensor], x: Sequence[int]) -> Tensor:
    """h_Tx (n): the last forward state, all that the RNNencdec keeps of the source."""
    return run_forward(p, x)[-1]


def initial(p: dict[str, Tensor], h: Tensor, *, cell: str = "paper_gru") -> State:
    """s_0 = tanh(W_s h + b_s): `h` is h_bwd_1, or h_Tx in the RNNencdec. An LSTM's memory starts at 0."""
    s_0 = torch.tanh(p["W_s"] @ h + p["b_s"])
    return State(s_0, torch.zeros_like(s_0) if cell == "lstm" else None)


def read_out(
    p: dict[str, Tensor], readout: str, *, s_before: Tensor, s_after: Tensor, Ey: Tensor, c: Tensor
) -> tuple[Tensor, Tensor]:
    """(logits (K_y), vector that W_o reads). maxout reads s_{i-1} as printed; state_context the NEW s_i."""
    if readout == "maxout":
        t_tilde = p["U_o"] @ s_before + p["V_o"] @ Ey + p["C_o"] @ c + p["b_o"]
        pairs = range(len(t_tilde) // 2)
        t = torch.stack([torch.max(t_tilde[2 * j], t_tilde[2 * j + 1]) for j in pairs])
    elif readout == "state_context":
        t = torch.cat([s_after, c])
    else:
        raise ValueError(f"no readout {readout!r}")
    return p["W_o"] @ t + p["b_w"], t


def embed(p: dict[str, Tensor], y: int | None) -> Tensor:
    """E y (m_y), or zeros for None."""
    return p["E_y"].new_zeros(p["E_y"].shape[1]) if y is None else p["E_y"][y]


def decode(
    p: dict[str, Tensor],
    h: Sequence[Tensor],
    s_0: State,
    y: Sequence[int],
    *,
    y_0: int | None = None,
    positions: Sequence[int] | None = None,
    score: str = "additive",
    scope: str = "global",
    normaliser: str = "softmax",
    temperature: float = 1.0,
    D: float = 10.0,
    cell: str = "paper_gru",
    readout: str = "maxout",
) -> list[Step]:
    """The decoder with attention over the annotations `h`; one Step for every word of `y`.

    The query is s_{i-1}. Steps count from 1, for local_m too. `positions`: the place of each annotation,
    1..S or 0 for none (see pieces.attend); without it they are 1..len(h).
    """
    state = s_0
    steps = []
    for i in range(1, len(y) + 1):
        Ey = embed(p, y_0 if i == 1 else y[i - 2])
        weights, c = attend(
            p,
            state.h,
            h,
            positions=positions,
            t=i,
            score=score,
            scope=scope,
            normaliser=normaliser,
            temperature=temperature,
            D=D,
        )
        before = state
        state = cell_step(cell, p, {"W": Ey, "C": c}, before)
        logits, t = read_out(p, readout, s_before=before.h, s_after=state.h, Ey=Ey, c=c)
        steps.append(Step(logits, weights, c, (state,), t))
    return steps


def decode_encdec(
    p: dict[str, Tensor],
    h_Tx: Tensor,
    s_0: State,
    y: Sequence[int],
    *,
    y_0: int | None = None,
    cell: str = "paper_gru",
    readout: str = "maxout",
) -> list[Step]:
    """The RNNencdec: the same decoder with c_i = h_Tx at every step; the Steps have no weights."""
    state = s_0
    steps = []
    for i in range(1, len(y) + 1):
        Ey = embed(p, y_0 if i == 1 else y[i - 2])
        before = state
        state = cell_step(cell, p, {"W": Ey, "C": h_Tx}, before)
        logits, t = read_out(p, readout, s_before=before.h, s_after=state.h, Ey=Ey, c=h_Tx)
        steps.append(Step(logits, None, h_Tx, (state,), t))
    return steps
