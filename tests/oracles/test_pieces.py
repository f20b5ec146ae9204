"""Scores, normalisers, scopes and cells against hand-worked numbers, torch's cells, numerical gradients."""

import math
from math import tanh

import pytest
import torch
from torch import Tensor, nn

from .cases import close, drawn, mat, vec
from .pieces import State, attend, cell_step, normalise, score_of


def scalars(*values: float) -> list[Tensor]:
    return [vec(value)[0] for value in values]


# ---------------------------------------------------------------------------------------------- scores

# W_a q = [1, 0] and U_a h = [0, -1], so that v_a' tanh = 2 tanh(1) + tanh(-1) = tanh(1); a bias of [-1, 0]
# leaves tanh(-1). q' (W_a h) of general: W_a h = [-1, 6], so -1 + 12.
ADDITIVE = {"W_a": mat((1, 0), (0, 0)), "U_a": mat((0, 0), (0, 1)), "v_a": vec(2, 1)}


@pytest.mark.parametrize(
    ("name", "p", "expected"),
    [
        ("dot", {}, 1.0),
        ("scaled_dot", {}, 1 / math.sqrt(2)),
        ("general", {"W_a": mat((0, 1), (2, 0))}, 11.0),
        ("additive", ADDITIVE, tanh(1)),
        ("additive", ADDITIVE | {"b_a": vec(-1, 0)}, tanh(-1)),
        ("concat", {"W_a": mat((1, 0, 0, 0), (0, 0, 0, 1)), "v_a": vec(2, 1)}, tanh(1)),
        ("location", {"W_a": mat((9, 9), (3, 2), (9, 9))}, 7.0),
    ],
)
def test_score(name, p, expected):
    score = score_of(name, p, vec(1, 2), vec(3, -1), 2)
    assert float(score) == pytest.approx(expected, abs=1e-14)


# ---------------------------------------------------------------------------------------------- normalisers


def test_softmax_and_temperature():
    close(torch.stack(normalise("softmax", scalars(0, math.log(3)), 1.0)), 0.25, 0.75)
    close(torch.stack(normalise("softmax", scalars(0, math.log(9)), 2.0)), 0.25, 0.75)
    close(torch.stack(normalise("softmax", scalars(1000, 1000), 1.0)), 0.5, 0.5)


def test_sparsemax():
    # The support is {0, .5}: tau = (.5 - 1) / 2 = -.25.
    close(torch.stack(normalise("sparsemax", scalars(-2, 0, 0.5), 1.0)), 0, 0.25, 0.75)
    close(torch.stack(normalise("sparsemax", scalars(3), 1.0)), 1)


def test_entmax15():
    # u = [-1, 0, .25], support {0, .25}: tau^2 + (.25 - tau)^2 = 1, so tau = (1 - sqrt(31)) / 8.
    tau = (1 - math.sqrt(31)) / 8
    weights = torch.stack(normalise("entmax15", scalars(-2, 0, 0.5), 1.0))
    close(weights, 0, tau**2, (0.25 - tau) ** 2)
    assert [round(float(weight), 4) for weight in weights] == [0, 0.3260, 0.6740]
    close(torch.stack(normalise("entmax15", scalars(3), 1.0)), 1)


@pytest.mark.parametrize("name", ["sparsemax", "entmax15"])
def test_only_softmax_has_a_temperature(name):
    with pytest.raises(ValueError, match="temperature"):
        normalise(name, scalars(0, 1), 2.0)


@pytest.mark.parametrize("name", ["softmax", "sparsemax", "entmax15"])
def test_normaliser_sums_to_one_and_has_the_right_gradient(name):
    z = vec(0.3, -0.4, 0.9, -5.0).requires_grad_()
    weights = torch.stack(normalise(name, list(z), 1.0))
    assert float(weights.detach().sum()) == pytest.approx(1, abs=1e-14)
    assert (weights[3].item() == 0) == (name != "softmax")
    assert torch.autograd.gradcheck(lambda z: torch.stack(normalise(name, list(z), 1.0)), z)


# ---------------------------------------------------------------------------------------------- attention

H = [vec(1, 0), vec(0, 1), vec(2, 2), vec(4, -4)]
NO_QUERY = vec(0, 0)  # with `dot`, every score is 0


def test_global_attention_weighs_scores_and_values():
    # Scores 0 and ln 3, so 1/4 and 3/4 of [1, 0] and [0, 1].
    weights, context = attend({}, vec(0, math.log(3)), H[:2], t=1, score="dot")
    close(weights, 0.25, 0.75)
    close(context, 0.25, 0.75)


def test_a_state_without_a_place_answers_globally_but_neither_locally_nor_by_location():
    positions = [2, 1, 3, 0]
    weights, _ = attend({}, NO_QUERY, H, positions=positions, t=1, score="dot")
    close(weights, 0.25, 0.25, 0.25, 0.25)
    weights, _ = attend({}, NO_QUERY, H, positions=positions, t=1, score="dot", scope="local_m", D=1)
    close(weights, 0.5, 0.5, 0, 0)  # the window of step 1 is [0, 2]
    weights, _ = attend({}, NO_QUERY, H, positions=positions, t=1, score="dot", scope="local_m", D=0.5)
    close(weights, 0, 1, 0, 0)
    weights, _ = attend({"W_a": mat(*[(0, 0)] * 9)}, NO_QUERY, H, positions=positions, t=1, score="location")
    close(weights, 1 / 3, 1 / 3, 1 / 3, 0)


def test_location_gives_each_word_the_score_of_its_place():
    p = {"W_a": mat((0, 0), (math.log(3), 0))}  # two places; the second scores ln 3 when q = [1, 0]
    weights, _ = attend(p, vec(1, 0), H, positions=[2, 1, 3, 0], t=1, score="location")
    close(weights, 0.75, 0.25, 0, 0)  # the word at place 3 is beyond the last row
    weights, _ = attend(p, vec(1, 0), H[:1], positions=[1], t=1, score="location")
    close(weights, 1)  # a short source uses the top part only


def test_an_empty_window_gives_zeros():
    weights, context = attend({}, NO_QUERY, H, t=20, score="dot", scope="local_m", D=2)
    close(weights, 0, 0, 0, 0)
    close(context, 0, 0)


def test_local_p_is_a_softmax_times_a_gaussian():
    # p_t = 4 sigmoid(v_p' tanh(0)) = 2, D = 2, sigma = 1: all of 1..4 lie in [0, 4] with weight 1/4 each.
    p = {"W_p": mat((1, 1)), "v_p": vec(5)}
    bell = [math.exp(-0.5) / 4, 1 / 4, math.exp(-0.5) / 4, math.exp(-2) / 4]
    weights, _ = attend(p, NO_QUERY, H, t=1, score="dot", scope="local_p", D=2)
    close(weights, *bell)
    weights, _ = attend(p, NO_QUERY, H, positions=[4, 3, 2, 1], t=1, score="dot", scope="local_p", D=2)
    close(weights, *reversed(bell))
    # Three words and the end symbol: p_t = 1.5, window [.5, 2.5] for D = 1, sigma = 1/2.
    weights, _ = attend(p, NO_QUERY, H, positions=[1, 2, 3, 0], t=1, score="dot", scope="local_p", D=1)
    close(weights, math.exp(-0.5) / 2, math.exp(-0.5) / 2, 0, 0)


def test_local_p_centre_moves_with_the_query():
    # q = [100, 0]: tanh = 1, p_t = 4 sigmoid(ln 3) = 3, window [2, 4], softmax over three equal values.
    p = {"W_p": mat((1, 0)), "v_p": vec(math.log(3))}
    same = [vec(0, 1)] * 4
    weights, _ = attend(p, vec(100, 0), same, t=1, score="dot", scope="local_p", D=1.5)
    outer = math.exp(-1 / (2 * 0.75**2)) / 3
    close(weights, 0, outer, 1 / 3, outer)
    assert float(weights.sum()) < 1


# ---------------------------------------------------------------------------------------------- cells


def test_paper_gru():
    # x = 1, h = 2. z = sigmoid(1 - 2 * .25 + ln 3 - .5) = 3/4; r = sigmoid(1 - 2 * .5 + 0) = 1/2;
    # candidate tanh(3 + (1/2 * 2) * 4 - 6.5) = tanh(.5); new h = 1/4 * 2 + 3/4 tanh(.5).
    p = {
        "W_z": mat((1,)), "U_z": mat((-0.25,)), "b_z": vec(math.log(3) - 0.5),
        "W_r": mat((1,)), "U_r": mat((-0.5,)), "b_r": vec(0),
        "W": mat((3,)), "U": mat((4,)), "b": vec(-6.5),
    }  # fmt: skip
    close(cell_step("paper_gru", p, {"W": vec(1)}, State(vec(2))).h, 0.5 + 0.75 * tanh(0.5))
    # A second input of size 1 through C: the sums grow by C c.
    p |= {"C": mat((0.5,)), "C_z": mat((0,)), "C_r": mat((0,))}
    close(cell_step("paper_gru", p, {"W": vec(1), "C": vec(3)}, State(vec(2))).h, 0.5 + 0.75 * tanh(2))


def test_paper_gru_resets_before_the_product():
    # h = [1, 1], r = [1, 0] to within e^-99, U swaps: U(r h) = [0, 1] while r (U h) = [1, 0]; z = 1/2.
    zero = mat((0, 0), (0, 0))
    p = {"U_z": zero, "U_r": zero, "U": mat((0, 1), (1, 0))}
    p |= {"W_z": mat((0,), (0,)), "W_r": mat((0,), (0,)), "W": mat((0,), (0,))}
    p |= {"b_z": vec(0, 0), "b_r": vec(99, -99), "b": vec(0, 0)}
    close(cell_step("paper_gru", p, {"W": vec(1)}, State(vec(1, 1))).h, 0.5, 0.5 + tanh(1) / 2)


@pytest.mark.parametrize(("name", "module"), [("gru", nn.GRUCell), ("lstm", nn.LSTMCell)])
def test_torch_cells(name, module):
    torch_cell = module(5, 3, dtype=torch.float64)
    names = {"W_ih": "weight_ih", "W_hh": "weight_hh", "b_ih": "bias_ih", "b_hh": "bias_hh"}
    values = drawn({key: tuple(getattr(torch_cell, name).shape) for key, name in names.items()}, 1)
    torch_cell.load_state_dict({name: values[key] for key, name in names.items()})
    inputs = drawn({"x": (2,), "c": (3,), "h": (3,), "m": (3,)}, 2)
    state = State(inputs["h"], inputs["m"] if name == "lstm" else None)
    ours = cell_step(name, values, {"W": inputs["x"], "C": inputs["c"]}, state)
    x = torch.cat([inputs["x"], inputs["c"]])
    theirs = torch_cell(x, (inputs["h"], inputs["m"]) if name == "lstm" else inputs["h"])
    theirs = State(*theirs) if name == "lstm" else State(theirs)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-13)
