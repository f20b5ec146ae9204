"""Luong, Pham and Manning, EMNLP 2015 (arXiv 1508.04025): literal loops over one sentence.

Words are ids; the row E_x[x] is the embedding of x. The source comes in the order in which the encoder
reads it (already reversed, if it is to be reversed); `positions` gives the place of each source state in
the ORIGINAL order, 1..S, or 0 for one without a place (end symbol, tags). Target words y_1..y_T; step t
reads y_{t-1} and gives the logits for y_t; `y_0` is the start symbol. Layers count from 1; layer 1 is the
one that reads the embeddings.

Keys of the parameter dict and their shapes (m, m_y = embedding sizes, n = states, L = layers, k = size of
a source state = n, d = size of h~; without the gate d is free, with it d = n):

    E_x (K_x, m), E_y (K_y, m_y)
    enc.1.* .. enc.L.*  and  dec.1.* .. dec.L.*, one cell each, reading x of size
        m (enc.1), m_y or with input feeding m_y + d (dec.1: [E y_{t-1}; h~_{t-1}]), n (every other layer)
      lstm, gru    W_ih (4 or 3 n, size of x), W_hh (.., n), b_ih, b_hh (..)
      paper_gru    W, W_z, W_r (n, size of x)   U, U_z, U_r (n, n)   b, b_z, b_r (n)
    attention      dot, scaled_dot: nothing; general: W_a (n, n); concat: W_a (a, 2n), v_a (a);
                   additive: W_a (a, n), U_a (a, n), v_a (a), b_a (a) or no such key;
                   location: W_a (max_positions, n);
                   local_p adds W_p (a', n), v_p (a')
    fusion
      concat       W_c (d, k + n)
      gate         W_c (n, k), W_g (n, k + n)
    W_s (K_y, d), b_s (K_y) or no such key
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .pieces import State, Step, attend, cell_step, part, sigmoid, zero_state


def run_stack(p: dict[str, Tensor], side: str, cell: str, x: Tensor, states: Sequence[State]) -> tuple[State, ...]:
    """One step of all layers of `side`, "enc" or "dec": the first reads x, each other the new h below it."""
    new = []
    for layer, state in enumerate(states, start=1):
        after = cell_step(cell, part(p, f"{side}.{layer}."), {"W": x}, state)
        new.append(after)
        x = after.h
    return tuple(new)


def encode(
    p: dict[str, Tensor], x: Sequence[int], *, layers: int, cell: str = "lstm"
) -> tuple[list[Tensor], tuple[State, ...]]:
    """(h, last): the top layer's state (n) at every source word, and each layer's last state."""
    recurrent = "U" if cell == "paper_gru" else "W_hh"
    states = tuple(zero_state(cell, p[f"enc.{layer}.{recurrent}"].shape[1], p["E_x"]) for layer in range(1, layers + 1))
    h = []
    for s in range(len(x)):
        states = run_stack(p, "enc", cell, p["E_x"][x[s]], states)
        h.append(states[-1].h)
    return h, states


def fuse(p: dict[str, Tensor], fusion: str, c_t: Tensor, h_t: Tensor) -> Tensor:
    """The attentional state h~_t of the context and the top state."""
    if fusion == "concat":
        return torch.tanh(p["W_c"] @ torch.cat([c_t, h_t]))  # h~ = tanh(W_c [c; h])
    if fusion == "gate":
        g = sigmoid(p["W_g"] @ torch.cat([c_t, h_t]))  # g = sigmoid(W_g [c; h])
        return g * torch.tanh(p["W_c"] @ c_t) + (1 - g) * h_t
    raise ValueError(f"no fusion {fusion!r}")


def decode(
    p: dict[str, Tensor],
    h: Sequence[Tensor],
    start: Sequence[State],
    y: Sequence[int],
    *,
    y_0: int,
    positions: Sequence[int] | None = None,
    score: str = "general",
    scope: str = "global",
    normaliser: str = "softmax",
    temperature: float = 1.0,
    D: float = 10.0,
    cell: str = "lstm",
    fusion: str = "concat",
    input_feeding: bool = True,
) -> list[Step]:
    """The decoder over the source states `h`; one Step for every word of `y`.

    Its layers start at `start`, one State each. The query is the CURRENT top state h_t. Steps count from
    1, for local_m too. Without `positions` the places are 1..len(h). Step.readout is h~_t.
    """
    states = tuple(start)
    h_tilde = p["W_c"].new_zeros(p["W_c"].shape[0])  # h~_0 = 0
    steps = []
    for t in range(1, len(y) + 1):
        Ey = p["E_y"][y_0 if t == 1 else y[t - 2]]
        x = torch.cat([Ey, h_tilde]) if input_feeding else Ey
        states = run_stack(p, "dec", cell, x, states)
        h_t = states[-1].h
        a_t, c_t = attend(
            p,
            h_t,
            h,
            positions=positions,
            t=t,
            score=score,
            scope=scope,
            normaliser=normaliser,
            temperature=temperature,
            D=D,
        )
        h_tilde = fuse(p, fusion, c_t, h_t)
        logits = p["W_s"] @ h_tilde
        if "b_s" in p:
            logits = logits + p["b_s"]
        steps.append(Step(logits, a_t, c_t, states, h_tilde))
    return steps
