"""Attention and recurrent cells, one sentence and one step at a time, as literal loops over vectors.

Everything is slow on purpose: no batch, no mask, no padding, no module. A source is a list of vectors
h_1..h_S; `positions` says which place each of them has: 1..n for words in the original order, 0 for a state
without a place (end symbol, tag). The gradient is autograd's.

Keys of the parameter dict `p` that are read here (q = size of the query, k = size of a source vector,
a = attention size):

    additive    W_a (a, q), U_a (a, k), v_a (a), b_a (a) or no such key (then there is no bias)
    concat      W_a (a, q + k), v_a (a)
    general     W_a (q, k)
    location    W_a (max_positions, q)
    dot, scaled_dot   nothing, and q = k
    local_p     W_p (a, q), v_p (a)         (this a may differ from the score's)

    paper_gru   U, U_z, U_r (n, n), b, b_z, b_r (n), and for each input X, X_z, X_r (n, size of the input)
    gru         W_ih (3n, m), W_hh (3n, n), b_ih (3n), b_hh (3n): rows r, z, n as in torch.nn.GRUCell
    lstm        W_ih (4n, m), W_hh (4n, n), b_ih (4n), b_hh (4n): rows i, f, g, o as in torch.nn.LSTMCell
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor


class State(NamedTuple):
    """What a cell hands to its next step: the output h (n) and, for the LSTM only, its memory m (n)."""

    h: Tensor
    m: Tensor | None = None


class Step(NamedTuple):
    """One step of a decoder.

    logits (K_y); weights (S), or None for a decoder without attention; context (k); states: one a layer, from
    the first to the top, after this step; readout: the vector that the last matrix turns into logits.
    """

    logits: Tensor
    weights: Tensor | None
    context: Tensor
    states: tuple[State, ...]
    readout: Tensor


def part(p: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The keys that begin with `prefix`, without it."""
    return {key[len(prefix) :]: value for key, value in p.items() if key.startswith(prefix)}


def number(x: Tensor) -> float:
    """The value of a scalar tensor, for decisions that the gradient does not see."""
    return x.detach().item()


def sigmoid(x: Tensor) -> Tensor:
    """1 / (1 + e^-x)."""
    return 1 / (1 + torch.exp(-x))


# ---------------------------------------------------------------------------------------------- scores


def score_of(name: str, p: dict[str, Tensor], q: Tensor, h_j: Tensor, position: int) -> Tensor:
    """The score e_j of one source vector `h_j` (k), whose place is `position`, for the query `q` (q)."""
    if name == "dot":
        return q.dot(h_j)
    if name == "scaled_dot":
        return q.dot(h_j) / math.sqrt(len(h_j))
    if name == "general":
        return q.dot(p["W_a"] @ h_j)
    if name == "concat":
        return p["v_a"].dot(torch.tanh(p["W_a"] @ torch.cat([q, h_j])))
    if name == "additive":
        inner = p["W_a"] @ q + p["U_a"] @ h_j
        if "b_a" in p:
            inner = inner + p["b_a"]
        return p["v_a"].dot(torch.tanh(inner))
    if name == "location":
        return (p["W_a"] @ q)[position - 1]
    raise ValueError(f"no score {name!r}")


# ---------------------------------------------------------------------------------------------- normalisers


def softmax(e: Sequence[Tensor]) -> list[Tensor]:
    """exp(e_j) / sum_k exp(e_k); taking off the largest score first changes only the range."""
    largest = max(number(e_j) for e_j in e)
    exps = [torch.exp(e_j - largest) for e_j in e]
    total = sum(exps[1:], exps[0])
    return [exp_j / total for exp_j in exps]


def threshold(mass: Callable[[float], float], largest: float) -> float:
    """tau in [largest - 1, largest] with mass(tau) = 1, by bisection; `mass` falls as tau grows."""
    low, high = largest - 1, largest
    for _ in range(100):
        middle = (low + high) / 2
        if mass(middle) >= 1:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def sparsemax(e: Sequence[Tensor]) -> list[Tensor]:
    """[e_j - tau]_+ with tau such that the sum is 1 (Martins and Astudillo 2016).

    Bisection finds the support; on it tau = (sum of its scores - 1) / its size, which autograd can follow.
    """
    values = [number(e_j) for e_j in e]
    tau_0 = threshold(lambda tau: sum(max(z - tau, 0) for z in values), max(values))
    support = [j for j, z in enumerate(values) if z > tau_0]
    tau = (sum(e[j] for j in support) - 1) / len(support)
    return [e_j - tau if j in support else e_j * 0 for j, e_j in enumerate(e)]


def entmax15(e: Sequence[Tensor]) -> list[Tensor]:
    """[e_j / 2 - tau]_+ ^2 with tau such that the sum is 1 (Peters, Niculae and Martins 2019, alpha = 1.5).

    Bisection finds the support; on it tau is the smaller root of sum (u_j - tau)^2 = 1, u = e / 2:
    tau = mean - sqrt((1 - sum (u_j - mean)^2) / size).
    """
    u = [e_j / 2 for e_j in e]
    values = [number(u_j) for u_j in u]
    tau_0 = threshold(lambda tau: sum(max(z - tau, 0) ** 2 for z in values), max(values))
    support = [j for j, z in enumerate(values) if z > tau_0]
    mean = sum(u[j] for j in support) / len(support)
    spread = sum((u[j] - mean) ** 2 for j in support)
    tau = mean - torch.sqrt((1 - spread) / len(support))
    return [(u_j - tau) ** 2 if j in support else u_j * 0 for j, u_j in enumerate(u)]


def normalise(name: str, e: Sequence[Tensor], temperature: float) -> list[Tensor]:
    """Weights of the scores `e`. The temperature belongs to the softmax: softmax(e / temperature)."""
    if name == "softmax":
        return softmax([e_j / temperature for e_j in e])
    if temperature != 1:
        raise ValueError(f"only softmax has a temperature, not {name!r}")
    if name == "sparsemax":
        return sparsemax(e)
    if name == "entmax15":
        return entmax15(e)
    raise ValueError(f"no normaliser {name!r}")


# ---------------------------------------------------------------------------------------------- attention


def centre(scope: str, p: dict[str, Tensor], q: Tensor, t: int, S: int) -> Tensor:
    """p_t, the middle of the local window, for target step `t` (from 1) and a source of `S` words."""
    if scope == "local_m":
        return q.new_tensor(float(t))  # p_t = t
    if scope == "local_p":
        return S * sigmoid(p["v_p"].dot(torch.tanh(p["W_p"] @ q)))  # p_t = S sigmoid(v_p' tanh(W_p h_t))
    raise ValueError(f"no scope {scope!r}")


def attend(
    p: dict[str, Tensor],
    q: Tensor,
    h: Sequence[Tensor],
    *,
    positions: Sequence[int] | None = None,
    t: int,
    score: str,
    scope: str = "global",
    normaliser: str = "softmax",
    temperature: float = 1.0,
    D: float = 10.0,
) -> tuple[Tensor, Tensor]:
    """Weights (S) and context (k) of the query `q` at target step `t` (counted from 1) over the vectors `h`.

    A state may answer unless: the score is `location` and it has no place (position 0) or a place beyond
    the rows of W_a; or the scope is local and it has no place or one outside the real interval [p_t - D,
    p_t + D]. The normaliser sees those that may answer and nobody else. With local_p every weight is then
    multiplied by exp(-(s - p_t)^2 / (2 sigma^2)), sigma = D / 2, and not renormalised. If nobody may
    answer: zeros.
    """
    positions = positions if positions is not None else range(1, len(h) + 1)
    assert len(positions) == len(h)
    inside = list(range(len(h)))
    if score == "location":
        inside = [j for j in inside if 1 <= positions[j] <= len(p["W_a"])]
    p_t = None
    if scope != "global":
        S = sum(1 for s in positions if s > 0)
        p_t = centre(scope, p, q, t, S)
        inside = [j for j in inside if positions[j] > 0 and abs(positions[j] - number(p_t)) <= D]

    weights = [q.new_zeros(()) for _ in h]
    if inside:
        e = [score_of(score, p, q, h[j], positions[j]) for j in inside]
        for j, weight in zip(inside, normalise(normaliser, e, temperature), strict=True):
            weights[j] = weight
        if scope == "local_p":
            sigma = D / 2
            for j in inside:
                weights[j] = weights[j] * torch.exp(-((positions[j] - p_t) ** 2) / (2 * sigma**2))

    context = torch.zeros_like(h[0])
    for a_j, h_j in zip(weights, h, strict=True):
        context = context + a_j * h_j  # c = sum_j a_j h_j
    return torch.stack(weights), context


# ---------------------------------------------------------------------------------------------- cells


def paper_gru(p: dict[str, Tensor], inputs: dict[str, Tensor], h: Tensor) -> Tensor:
    """The GRU of Bahdanau et al. 2015, appendix A: z weighs the NEW candidate, r acts before the product.

    `inputs` names the matrix of each input: {"W": E x_i} in the encoder, {"W": E y_{i-1}, "C": c_i} in the
    decoder.
    """
    z = sigmoid(sum(p[f"{X}_z"] @ x for X, x in inputs.items()) + p["U_z"] @ h + p["b_z"])
    r = sigmoid(sum(p[f"{X}_r"] @ x for X, x in inputs.items()) + p["U_r"] @ h + p["b_r"])
    new = torch.tanh(sum(p[X] @ x for X, x in inputs.items()) + p["U"] @ (r * h) + p["b"])
    return (1 - z) * h + z * new


def torch_gru(p: dict[str, Tensor], x: Tensor, h: Tensor) -> Tensor:
    """The equations of torch.nn.GRU: z keeps the OLD state, r acts after the product."""
    W_ir, W_iz, W_in = p["W_ih"].chunk(3)
    W_hr, W_hz, W_hn = p["W_hh"].chunk(3)
    b_ir, b_iz, b_in = p["b_ih"].chunk(3)
    b_hr, b_hz, b_hn = p["b_hh"].chunk(3)
    r = sigmoid(W_ir @ x + b_ir + W_hr @ h + b_hr)
    z = sigmoid(W_iz @ x + b_iz + W_hz @ h + b_hz)
    n = torch.tanh(W_in @ x + b_in + r * (W_hn @ h + b_hn))
    return (1 - z) * n + z * h


def torch_lstm(p: dict[str, Tensor], x: Tensor, h: Tensor, m: Tensor) -> tuple[Tensor, Tensor]:
    """The equations of torch.nn.LSTM; m is its cell memory (there called c)."""
    W_ii, W_if, W_ig, W_io = p["W_ih"].chunk(4)
    W_hi, W_hf, W_hg, W_ho = p["W_hh"].chunk(4)
    b_ii, b_if, b_ig, b_io = p["b_ih"].chunk(4)
    b_hi, b_hf, b_hg, b_ho = p["b_hh"].chunk(4)
    i = sigmoid(W_ii @ x + b_ii + W_hi @ h + b_hi)
    f = sigmoid(W_if @ x + b_if + W_hf @ h + b_hf)
    g = torch.tanh(W_ig @ x + b_ig + W_hg @ h + b_hg)
    o = sigmoid(W_io @ x + b_io + W_ho @ h + b_ho)
    m = f * m + i * g
    return o * torch.tanh(m), m


def cell_step(name: str, p: dict[str, Tensor], inputs: dict[str, Tensor], state: State) -> State:
    """One step of the cell `name`. The torch cells read the inputs one after the other as a single vector."""
    if name == "paper_gru":
        return State(paper_gru(p, inputs, state.h))
    x = torch.cat(list(inputs.values()))
    if name == "gru":
        return State(torch_gru(p, x, state.h))
    if name == "lstm":
        assert state.m is not None
        return State(*torch_lstm(p, x, state.h, state.m))
    raise ValueError(f"no cell {name!r}")


def zero_state(name: str, n: int, like: Tensor) -> State:
    """The state of zeros before the first step."""
    return State(like.new_zeros(n), like.new_zeros(n) if name == "lstm" else None)
