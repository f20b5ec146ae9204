"""Both oracles against numbers worked out by hand, torch's LSTM stack and numerical gradients."""

import math
from itertools import pairwise
from math import tanh

import pytest
import torch
from torch import Tensor, nn

from . import bahdanau2015 as bahdanau
from . import luong2015 as luong
from .cases import close, drawn, mat, vec
from .pieces import State, cell_step


def gru_shapes(prefix: str, n: int, **inputs: int) -> dict[str, tuple[int, ...]]:
    """Shapes of a paper_gru: W=5 is the matrix W for an input of size 5."""
    shapes: dict[str, tuple[int, ...]] = {}
    for gate in ("", "_z", "_r"):
        shapes |= {f"{prefix}{X}{gate}": (n, size) for X, size in inputs.items()}
        shapes |= {f"{prefix}U{gate}": (n, n), f"{prefix}b{gate}": (n,)}
    return shapes


def lstm_shapes(prefix: str, n: int, m: int) -> dict[str, tuple[int, ...]]:
    return {
        f"{prefix}W_ih": (4 * n, m),
        f"{prefix}W_hh": (4 * n, n),
        f"{prefix}b_ih": (4 * n,),
        f"{prefix}b_hh": (4 * n,),
    }


def bahdanau_shapes(k: int = 4) -> dict[str, tuple[int, ...]]:
    """m = 3, n = 2, n_d = 5, l = 2, a = 3; 7 source words, 6 target words."""
    return {
        "E_x": (7, 3),
        "E_y": (6, 3),
        **gru_shapes("fwd.", 2, W=3),
        **gru_shapes("bwd.", 2, W=3),
        **gru_shapes("", 5, W=3, C=k),
        "W_s": (5, 2),
        "b_s": (5,),
        "W_a": (3, 5),
        "U_a": (3, k),
        "b_a": (3,),
        "v_a": (3,),
        "U_o": (4, 5),
        "V_o": (4, 3),
        "C_o": (4, k),
        "b_o": (4,),
        "W_o": (6, 2),
        "b_w": (6,),
    }


def luong_shapes(m_dec: int) -> dict[str, tuple[int, ...]]:
    """m = 3, n = 2, two layers, d = 5; 7 source words, 6 target words."""
    return {
        "E_x": (7, 3),
        "E_y": (6, 3),
        **lstm_shapes("enc.1.", 2, 3),
        **lstm_shapes("enc.2.", 2, 2),
        **lstm_shapes("dec.1.", 2, m_dec),
        **lstm_shapes("dec.2.", 2, 2),
        "W_a": (2, 2),
        "W_c": (5, 4),
        "W_s": (6, 5),
    }


# ---------------------------------------------------------------------------------------------- Bahdanau


def test_encoder_reads_both_ways():
    p = drawn(bahdanau_shapes(), 3)
    h, h_bwd_1 = bahdanau.encode(p, [2, 6, 4])
    step = [State(p["b"].new_zeros(2))]
    for x in (4, 6, 2):
        step.append(cell_step("paper_gru", bahdanau.part(p, "bwd."), {"W": p["E_x"][x]}, step[-1]))
    close(h_bwd_1, *step[3].h.tolist())
    close(torch.cat([h_j[2:] for h_j in h]), *torch.cat([step[i].h for i in (3, 2, 1)]).tolist())
    swapped = p | {f"fwd.{key}": value for key, value in bahdanau.part(p, "bwd.").items()}
    forward = bahdanau.encode(swapped, [4, 6, 2])[0]
    close(torch.cat([h_j[:2] for h_j in forward]), *torch.cat([s.h for s in step[1:]]).tolist())
    close(bahdanau.encode_encdec(swapped, [4, 6, 2]), *step[3].h.tolist())


def test_initial_state():
    # W_s h + b_s = [2 * 1 + 1 * .5 - 1, 0 + .5] = [1.5, .5]
    p = {"W_s": mat((2, 1), (0, 1)), "b_s": vec(-1, 0)}
    close(bahdanau.initial(p, vec(1, 0.5)).h, tanh(1.5), tanh(0.5))
    assert bahdanau.initial(p, vec(1, 0.5)).m is None
    close(bahdanau.initial(p, vec(1, 0.5), cell="lstm").m, 0, 0)


def tiny_bahdanau() -> dict[str, Tensor]:
    """n_d = k = m_y = l = 1: z = 1/2 always, s~_i = tanh(E y_{i-1} + c_i), t~ = [s, -s] + [1, 1] E y."""
    zero, one = mat((0,)), mat((1,))
    p = {f"{X}{gate}": zero for X in "WCU" for gate in ("", "_z", "_r")}
    p |= {"b": vec(0), "b_z": vec(0), "b_r": vec(0), "W": one, "C": one}
    p |= {"E_y": mat((5,), (0.25,), (7,)), "U_o": mat((1,), (-1,)), "V_o": mat((1,), (1,))}
    p |= {"C_o": mat((0,), (0.5,)), "b_o": vec(0, 0), "W_o": mat((1,), (2,)), "b_w": vec(0, 1)}
    return p


def test_decoder_by_hand():
    # Sources 1 and 3, all scores 0: c = 2. s_0 = -.5; s_1 = (-.5 + tanh(0 + 2)) / 2, as y_0 is zero;
    # t_1 = max(s_0, -s_0 + .5 * 2) = 1.5. y_1 = 1 with E y_1 = .25: s_2 = (s_1 + tanh(2.25)) / 2 and
    # t_2 = max(s_1 + .25, -s_1 + .25 + 1) = 1.25 - s_1, as s_1 < .5.
    p = tiny_bahdanau() | {"W_a": mat((1,)), "U_a": mat((1,)), "v_a": vec(0), "b_a": vec(0)}
    steps = bahdanau.decode(p, [vec(1), vec(3)], State(vec(-0.5)), [1, 2])
    s_1 = (-0.5 + tanh(2)) / 2
    close(steps[0].weights, 0.5, 0.5)
    close(steps[0].context, 2)
    close(steps[0].states[0].h, s_1)
    close(steps[0].logits, 1.5, 4)
    close(steps[1].states[0].h, (s_1 + tanh(2.25)) / 2)
    close(steps[1].readout, 1.25 - s_1)
    close(steps[1].logits, 1.25 - s_1, 2 * (1.25 - s_1) + 1)
    named = bahdanau.decode(p, [vec(1), vec(3)], State(vec(-0.5)), [2], y_0=1)
    close(named[0].states[0].h, (-0.5 + tanh(2.25)) / 2)


def test_encdec_by_hand():
    # As above with c = 2 given, no attention, and the readout of the NEW state: [s_i; c].
    p = tiny_bahdanau() | {"W_o": mat((1, 0), (0, 1), (1, 1)), "b_w": vec(0, 0, 1)}
    steps = bahdanau.decode_encdec(p, vec(2), State(vec(-0.5)), [1, 2], readout="state_context")
    s_1 = (-0.5 + tanh(2)) / 2
    s_2 = (s_1 + tanh(2.25)) / 2
    assert [step.weights for step in steps] == [None, None]
    close(steps[0].logits, s_1, 2, s_1 + 3)
    close(steps[1].logits, s_2, 2, s_2 + 3)


def test_early_query_is_the_state_before_the_step():
    # With dot and s_0 = ln 3 the scores of 0 and 1 are 0 and ln 3; in step 2 they are 0 and s_1.
    p = tiny_bahdanau()
    steps = bahdanau.decode(p, [vec(0), vec(1)], State(vec(math.log(3))), [1, 1], score="dot")
    close(steps[0].weights, 0.25, 0.75)
    odds = math.exp(float(steps[0].states[0].h))
    close(steps[1].weights, 1 / (1 + odds), odds / (1 + odds))


@pytest.mark.parametrize(
    ("score", "options"), [(0.5, {"normaliser": "sparsemax"}), (math.log(9), {"temperature": 2.0})]
)
def test_normaliser_and_temperature_reach_the_attention(score, options):
    # Scores 0 and .5 under sparsemax, or 0 and 2 ln 3 at temperature 2: weights 1/4 and 3/4.
    (step,) = bahdanau.decode(tiny_bahdanau(), [vec(0), vec(1)], State(vec(score)), [1], score="dot", **options)
    close(step.weights, 0.25, 0.75)
    h = [vec(0), vec(score / ((1 + tanh(1)) / 2))]  # h_1 = (1 + tanh(1)) / 2, as worked out below
    (step,) = luong.decode(tiny_luong(), h, [State(vec(1))], [1], y_0=0, score="dot", cell="paper_gru", **options)
    close(step.weights, 0.25, 0.75)


def test_zero_v_a_gives_uniform_attention():
    p = drawn(bahdanau_shapes(), 5)
    p["v_a"] = torch.zeros_like(p["v_a"])
    h, h_bwd_1 = bahdanau.encode(p, [1, 2, 3, 0, 6])
    for step in bahdanau.decode(p, h, bahdanau.initial(p, h_bwd_1), [3, 1]):
        assert step.weights.tolist() == [0.2] * 5
        close(step.context, *(sum(h) / 5).tolist())


def test_bahdanau_local_windows_count_steps_from_one():
    p = drawn(bahdanau_shapes(), 6)
    h, h_bwd_1 = bahdanau.encode(p, [1, 2, 3])
    options = {"scope": "local_m", "D": 0, "positions": [1, 2, 0]}
    steps = bahdanau.decode(p, h, bahdanau.initial(p, h_bwd_1), [3, 1, 2], **options)
    assert [step.weights.tolist() for step in steps] == [[1, 0, 0], [0, 1, 0], [0, 0, 0]]


# ---------------------------------------------------------------------------------------------- Luong


def test_encoder_is_a_stack_of_lstms():
    p = drawn(luong_shapes(8), 7)
    stack = nn.LSTM(3, 2, num_layers=2, dtype=torch.float64)
    names = {"W_ih": "weight_ih", "W_hh": "weight_hh", "b_ih": "bias_ih", "b_hh": "bias_hh"}
    state = {f"{name}_l{l}": p[f"enc.{l + 1}.{key}"] for key, name in names.items() for l in (0, 1)}
    stack.load_state_dict(state)
    h, last = luong.encode(p, [5, 0, 3], layers=2)
    outputs, (h_n, m_n) = stack(p["E_x"][[5, 0, 3]])
    torch.testing.assert_close(torch.stack(h), outputs, rtol=0, atol=1e-13)
    torch.testing.assert_close(torch.stack([state.h for state in last]), h_n, rtol=0, atol=1e-13)
    torch.testing.assert_close(torch.stack([state.m for state in last]), m_n, rtol=0, atol=1e-13)


def test_fusion_by_hand():
    # concat: W_c [c; h] = [2 - 3] ; gate: W_g [c; h] = ln 3, so g = 3/4.
    close(luong.fuse({"W_c": mat((1, -1))}, "concat", vec(2), vec(3)), tanh(-1))
    p = {"W_c": mat((0.5,)), "W_g": mat((2 * math.log(3), -math.log(3)))}
    close(luong.fuse(p, "gate", vec(2), vec(3)), 0.75 * tanh(1) + 0.75)


def tiny_luong() -> dict[str, Tensor]:
    """n = d = m_y = 1, paper_gru, z = 1/2: h_t = (h_{t-1} + tanh(E y + 2 h~)) / 2, h~ = tanh(c + h)."""
    zero = mat((0,))
    p = {f"dec.1.U{gate}": zero for gate in ("", "_z", "_r")}
    p |= {f"dec.1.b{gate}": vec(0) for gate in ("", "_z", "_r")}
    p |= {"dec.1.W": mat((1, 2)), "dec.1.W_z": mat((0, 0)), "dec.1.W_r": mat((0, 0))}
    return p | {"E_y": mat((1,), (-0.5,)), "W_c": mat((1, 1)), "W_s": mat((1,), (3,))}


def test_decoder_and_input_feeding_by_hand():
    # Sources 0 and ln 3, dot; h_0 = 1 and E y_0 = 1: h_1 = (1 + tanh(1)) / 2, as h~_0 = 0.
    p = tiny_luong()
    h = [vec(0), vec(math.log(3))]
    options = {"y_0": 0, "score": "dot", "cell": "paper_gru"}
    steps = luong.decode(p, h, [State(vec(1))], [1, 0], **options)
    h_1 = (1 + tanh(1)) / 2
    a_1 = 3**h_1 / (1 + 3**h_1)  # the query is the state AFTER reading y_0
    h_tilde_1 = tanh(a_1 * math.log(3) + h_1)
    close(steps[0].weights, 1 - a_1, a_1)
    close(steps[0].readout, h_tilde_1)
    close(steps[0].logits, h_tilde_1, 3 * h_tilde_1)
    h_2 = (h_1 + tanh(-0.5 + 2 * h_tilde_1)) / 2
    close(steps[1].states[0].h, h_2)
    p |= {"dec.1.W": mat((1,)), "dec.1.W_z": mat((0,)), "dec.1.W_r": mat((0,)), "b_s": vec(10, 20)}
    steps = luong.decode(p, h, [State(vec(1))], [1, 0], input_feeding=False, **options)
    close(steps[0].logits, h_tilde_1 + 10, 3 * h_tilde_1 + 20)
    close(steps[1].states[0].h, (h_1 + tanh(-0.5)) / 2)


def test_each_decoder_layer_starts_at_its_own_state_and_the_top_asks():
    p = drawn(luong_shapes(8), 8)
    h, start = luong.encode(p, [5, 0, 3], layers=2)
    (step,) = luong.decode(p, h, start, [4], y_0=2)
    first = cell_step("lstm", luong.part(p, "dec.1."), {"W": torch.cat([p["E_y"][2], vec(0, 0, 0, 0, 0)])}, start[0])
    second = cell_step("lstm", luong.part(p, "dec.2."), {"W": first.h}, start[1])
    torch.testing.assert_close(step.states, (first, second))
    close(step.weights, *torch.softmax(torch.stack(h) @ p["W_a"].T @ second.h, 0).tolist())


def test_luong_local_m_moves_one_word_a_step():
    p = drawn(luong_shapes(8), 9)
    h, start = luong.encode(p, [5, 0, 3, 1], layers=2)
    steps = luong.decode(p, h, start, [4, 3, 2], y_0=2, positions=[3, 2, 1, 0], scope="local_m", D=0)
    assert [step.weights.tolist() for step in steps] == [[0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0]]


# ---------------------------------------------------------------------------------------------- gradients


def test_bahdanau_gradients():
    p = drawn(bahdanau_shapes(), 10)

    def last_logits(*values: Tensor) -> Tensor:
        q = dict(zip(p, values, strict=True))
        h, h_bwd_1 = bahdanau.encode(q, [2, 5])
        return bahdanau.decode(q, h, bahdanau.initial(q, h_bwd_1), [3, 1])[-1].logits

    assert torch.autograd.gradcheck(last_logits, [value.requires_grad_() for value in p.values()])


@pytest.mark.parametrize("normaliser", ["softmax", pytest.param("entmax15", marks=pytest.mark.slow)])
def test_luong_gradients(normaliser):
    p = drawn(luong_shapes(8) | {"W_p": (3, 2), "v_p": (3,)}, 11)

    def last_logits(*values: Tensor) -> Tensor:
        q = dict(zip(p, values, strict=True))
        h, start = luong.encode(q, [2, 5, 1], layers=2)
        options = {"scope": "local_p", "D": 2.7, "normaliser": normaliser}
        return luong.decode(q, h, start, [3, 1], y_0=0, **options)[-1].logits

    assert torch.autograd.gradcheck(last_logits, [value.requires_grad_() for value in p.values()])


def test_steps_differ():
    """A decoder that forgot to hand on its state would give the same step twice for the same word."""
    p = drawn(bahdanau_shapes(), 12)
    h, h_bwd_1 = bahdanau.encode(p, [2, 5])
    steps = bahdanau.decode(p, h, bahdanau.initial(p, h_bwd_1), [1, 1, 1])
    assert all(not torch.equal(a.logits, b.logits) for a, b in pairwise(steps))
