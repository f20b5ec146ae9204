"""The value `Trace`: order, letters, look-ups, JSON; and how it is written for people."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from heedful.tracing import Quantity, Trace
from heedful.tracing.show import as_text

from .cases import SOURCE, TARGET, trace_of, traced
from .test_agreement import preset

BAHDANAU = (
    "x_j, place, E x_j, h→_j, h←_j, h_j, U_a h_j, y_{t-1}, E y_{t-1}, s_{t-1}, W_a s_{t-1}, e_tj, alpha_tj, c_t, z_t, "
    "r_t, s~_t, s_t, t~_t, t_t, W_o t_t + b_w, p(y_t), y_t"
)
LUONG = (
    "x_s, place, E x_s, hbar_s, hbar_last, m_last, W_a hbar_s, y_{t-1}, E y_{t-1}, h_{t-1}, m_{t-1}, h~_{t-1}, i_t, "
    "f_t, g_t, o_t, m_t, h_t, p_t, score(h_t, hbar_s), window, a_t(s) before the prior, prior, a_t(s), c_t, h~_t, "
    "W_s h~_t, p(y_t), y_t"
)


@pytest.fixture
def bahdanau() -> Trace:
    return trace_of(preset("bahdanau2015"))


@pytest.fixture
def luong() -> Trace:
    return traced(
        cell="lstm", bidirectional=False, encoder_size=11, start="last", score="general", scope="local_p",
        fusion={"name": "late", "input_feeding": True}, output_bias=False,
    )  # fmt: skip


def test_order_and_letters(bahdanau, luong):
    assert ", ".join(quantity.letter for quantity in bahdanau.quantities) == BAHDANAU
    assert ", ".join(quantity.letter for quantity in luong.quantities) == LUONG


def test_equations_and_sources(bahdanau, luong):
    """As they are printed, in the papers' letters."""
    for trace, letter, equation, source in (
        (bahdanau, "e", "e_tj = v_a . tanh(W_a s_{t-1} + U_a h_j)", "Bahdanau et al. 2015, appendix A.1.2"),
        (bahdanau, "alpha", "alpha_tj = exp e_tj / sum exp e_tj", "Bahdanau et al. 2015, section 3.1"),
        (bahdanau, "c", "c_t = sum_j alpha_tj h_j", "Bahdanau et al. 2015, section 3.1"),
        (
            bahdanau,
            "z",
            "z_t = sigmoid(W_z E y_{t-1} + U_z s_{t-1} + C_z c_t + b_z)",
            "Bahdanau et al. 2015, appendix A.2.2",
        ),
        (
            bahdanau,
            "s~",
            "s~_t = tanh(W E y_{t-1} + U (r_t * s_{t-1}) + C c_t + b)",
            "Bahdanau et al. 2015, appendix A.2.2",
        ),
        (bahdanau, "s_t", "s_t = (1 - z_t) * s_{t-1} + z_t * s~_t", "Bahdanau et al. 2015, appendix A.2.2"),
        (bahdanau, "t~", "t~_t = U_o s_{t-1} + V_o E y_{t-1} + C_o c_t + b_o", "Bahdanau et al. 2015, appendix A.2.2"),
        (luong, "p_t", "p_t = S sigmoid(v_p . tanh(W_p h_t))", "Luong et al. 2015, section 3.2"),
        (luong, "scores", "score(h_t, hbar_s) = h_t . W_a hbar_s", "Luong et al. 2015, section 3.1"),
        (luong, "h~_t", "h~_t = tanh(W_c [c_t; h_t])", "Luong et al. 2015, section 3"),
        (luong, "h~_{t-1}", "h~_t of the step before", "Luong et al. 2015, section 3.3"),
        (luong, "probabilities", "p(y_t) = softmax(W_s h~_t)", "Luong et al. 2015, section 3"),
    ):
        assert (trace[letter].equation, trace[letter].source) == (equation, source)
    first = trace_of(preset("bahdanau2015"), step=1)
    assert first["previous state"].equation == "s_0 = tanh(W_s h←_1 + b_s)"


def test_shapes_and_labels(bahdanau):
    """Of 8 source positions and 23 target symbols; E = 5, n = 7, n' = 11, l = 3."""
    shapes = {
        "E x_j": (8, 5),
        "h→_j": (8, 7),
        "h_j": (8, 14),
        "U_a h_j": (8, 11),
        "y_{t-1}": (),
        "e_tj": (8,),
        "c_t": (14,),
    }
    shapes |= {"s_t": (7,), "t~_t": (6,), "t_t": (3,), "p(y_t)": (23,)}
    for letter, shape in shapes.items():
        quantity = bahdanau[letter]
        assert quantity.shape == shape
        assert len(quantity.axes) == len(shape)
    assert bahdanau["alpha"].axes == (tuple(SOURCE.labels),)
    assert bahdanau["h"].axes == (tuple(SOURCE.labels), None)
    assert bahdanau["p(y_t)"].axes[0][:4] == ("(pad)", "(start)", "∎", "?")
    assert bahdanau["y_t"].equation.startswith("AY, whose probability is ")
    assert bahdanau["y_{t-1}"].equation == "N, the symbol before"


def test_a_quantity_by_name_letter_or_bare_letter(bahdanau, luong):
    assert bahdanau["alpha"] is bahdanau["alpha_tj"] is bahdanau["weights"]
    assert luong["a"] is luong["a_t(s)"] is luong["weights"]
    assert bahdanau["h"].name == "source states"
    with pytest.raises(KeyError, match=r"'s' may be s_\{t-1\} or s_t"):
        bahdanau["s"]
    with pytest.raises(KeyError, match="no quantity 'beta'; there are: x_j, place, E x_j"):
        bahdanau["beta"]


def test_json_holds_all_numbers(luong):
    values = json.loads(json.dumps(luong.as_json(), allow_nan=False))
    assert (values["version"], values["step"], values["steps"], values["agrees"]) == (1, 2, 5, True)
    assert (values["source"], values["target"]) == (SOURCE.labels, TARGET)
    assert values["parts"]["fusion"] == "late"
    assert (values["tolerance"], values["forced"]) == (1e-9, True)
    assert [entry["letter"] for entry in values["quantities"]] == [quantity.letter for quantity in luong.quantities]
    for entry, quantity in zip(values["quantities"], luong.quantities, strict=True):
        assert np.array_equal(np.array(entry["value"]), quantity.value)
        assert entry["shape"] == list(quantity.shape)
        assert [entry[key] for key in ("name", "equation", "source")] == [
            quantity.name,
            quantity.equation,
            quantity.source,
        ]
        if quantity.recomputed is None:
            assert (entry["recomputed"], entry["difference"], entry["agrees"]) == (None, None, None)
        else:
            assert np.array_equal(np.array(entry["recomputed"]), quantity.recomputed)
            assert (entry["difference"], entry["agrees"]) == (quantity.difference, True)
    assert {"letter": "W_a", "shape": [11, 11]} in values["weights"]


def test_json_with_weights_is_enough_to_do_it_again(bahdanau):
    """alpha and c from the JSON alone."""
    values = json.loads(json.dumps(bahdanau.as_json(with_weights=True)))
    weights = {entry["letter"]: np.array(entry["value"]) for entry in values["weights"]}
    numbers = {entry["letter"]: np.array(entry["value"]) for entry in values["quantities"]}
    e = np.tanh(numbers["h_j"] @ weights["U_a"].T + weights["W_a"] @ numbers["s_{t-1}"]) @ weights["v_a"]
    alpha = np.exp(e) / np.exp(e).sum()
    np.testing.assert_allclose(numbers["alpha_tj"], alpha, atol=1e-12)
    np.testing.assert_allclose(numbers["c_t"], alpha @ numbers["h_j"], atol=1e-12)


def changed(trace: Trace, name: str, **values) -> Trace:
    quantities = tuple(
        dataclasses.replace(quantity, **values) if quantity.name == name else quantity for quantity in trace.quantities
    )
    return dataclasses.replace(trace, quantities=quantities)


def test_what_is_no_number_disagrees(bahdanau):
    broken = bahdanau["scores"].value.copy()
    broken[2] = np.nan
    trace = changed(bahdanau, "scores", value=broken)
    assert not trace.agrees
    assert [quantity.name for quantity in trace.disagreeing] == ["scores"]
    assert json.loads(json.dumps(trace.as_json(), allow_nan=False))["quantities"][11]["value"][2] is None
    assert not changed(bahdanau, "scores", recomputed=np.zeros(3)).agrees  # another shape


def test_the_tolerance_grows_with_the_numbers():
    """Not below 1: a probability may be off by no more than a score of 1."""
    number = Quantity("n", "n", "", "", "", np.array([1000.0, 0.0]), (None,), np.array([1000.0, 9e-7]))
    assert number.agrees(1e-9)
    assert not number.agrees(8e-10)
    small = dataclasses.replace(number, value=np.array([1e-3, 0.0]), recomputed=np.array([1e-3, 2e-9]))
    assert not small.agrees(1e-9)
    assert small.agrees(3e-9)


# ---------------------------------------------------------------- for people


def with_values(trace: Trace, name: str, value: np.ndarray, axes) -> list[str]:
    """The lines of numbers that are shown for it."""
    text = as_text(changed(trace, name, value=value, recomputed=None, axes=axes))
    lines = text.split(f"[{name} ")[1].splitlines()[1:]
    return lines[: lines.index("")]


def test_text(bahdanau):
    text = as_text(bahdanau)
    assert text == str(bahdanau)
    assert repr(bahdanau) == "Trace(step 2 of 5, 23 quantities, agrees)"
    assert text.startswith("Step 2 of 5: reads N, writes AY\n  source  [tag] k n i n h t ∎\n")
    sections = re.findall(r"^(\w[\w ]*)\n=+$", text, flags=re.MULTILINE)
    assert sections == ["Source", "Encoder", "Before the step", "Attention", "Recurrent step", "Output"]
    places = [text.index(f"[{quantity.name} (") for quantity in bahdanau.quantities]
    assert places == sorted(places)
    assert re.search(
        r"\nAll 19 quantities agree with NumPy: the largest difference is \d\.\de-1\d, at most 1e-09 ", text
    )
    assert "gives the same distribution" in text
    assert len(text.splitlines()) < 175
    assert max(map(len, text.splitlines())) <= 120
    labels, numbers = text.split("[weights (8)")[1].splitlines()[1:3]
    assert labels.split() == SOURCE.labels
    assert [float(number) for number in numbers.split()] == pytest.approx(bahdanau["alpha"].value, abs=5e-4)


def test_digits(bahdanau):
    """As many as give the largest number of a table so many significant ones."""
    value = np.array([12.34567, -0.5, 0.0])
    assert with_values(bahdanau, "query", value, (None,)) == ["    12.3 -0.5  0.0"]
    assert with_values(bahdanau, "query", value / 1000, (None,)) == ["     0.0123 -0.0005  0.0000"]
    assert with_values(bahdanau, "query", value * 1e-9, (None,)) == ["     1.23e-08 -5.00e-10  0.00e+00"]
    text = as_text(changed(bahdanau, "query", value=value, recomputed=None), digits=5)
    assert "    12.346 -0.500  0.000\n" in text


def test_long_rows_and_tables_are_cut(bahdanau):
    row = np.arange(10.0)
    assert with_values(bahdanau, "query", row, (None,)) == ["    0.00 1.00 2.00 3.00 4.00 ... 8.00 9.00"]
    assert with_values(bahdanau, "query", row[:9], (None,))[0].count(" ") == 4 + 8
    table = np.arange(20.0).reshape(10, 2)
    lines = with_values(bahdanau, "keys", table, (tuple("abcdefghij"), None))
    assert [line.split()[0] for line in lines] == ["a", "b", "c", "d", "e", "...", "i", "j"]
    labels = tuple(f"w{number}" for number in range(1, 41))
    weights = np.zeros(40)
    weights[24] = 0.75
    lines = with_values(bahdanau, "weights", weights, (labels,))
    shown = " ".join(lines[::2]).split()
    assert shown[:18] == [*labels[:16], "...", "w34"]
    assert lines[-1] == "    the largest: 0.750 at w25, number 25"


def test_the_most_probable_symbols_are_shown(bahdanau):
    labels, numbers = with_values(bahdanau, "probabilities", bahdanau["p(y_t)"].value, bahdanau["p(y_t)"].axes)
    order = np.argsort(-bahdanau["p(y_t)"].value)[:6]
    assert labels.split() == [bahdanau["p(y_t)"].axes[0][place] for place in order]
    assert [float(number) for number in numbers.split()] == sorted(map(float, numbers.split()), reverse=True)


def test_a_source_token_may_look_like_padding(bahdanau):
    """Which axis is over the vocabulary is no matter of labels: all source tokens are shown, in their order."""
    labels = ("(pad)", *(f"w{number}" for number in range(1, 8)))
    trace = changed(bahdanau, "weights", axes=(labels,))
    shown, _ = with_values(trace, "weights", bahdanau["alpha"].value, (labels,))
    assert tuple(shown.split()) == labels
    symbols = tuple(f"y{number}" for number in range(23))
    for name in ("logits", "probabilities"):
        assert len(with_values(bahdanau, name, np.arange(23.0), (symbols,))[0].split()) == 6


def test_wide_characters_stand_above_their_numbers(bahdanau):
    labels, numbers = with_values(bahdanau, "weights", np.array([0.5, 0.25]), (("日本", "e\u0301"),))
    assert labels == "       日本      e\u0301"  # four columns; one, since a mark has none
    assert numbers == "      0.500  0.250"


def test_a_disagreement_is_told(bahdanau):
    wrong = changed(bahdanau, "scores", recomputed=bahdanau["scores"].value + 0.3)
    text = as_text(wrong)
    assert "appendix A.1.2; NUMPY DISAGREES by 3e-01]" in text
    assert "1 of 19 quantities DISAGREE with NumPy, by more than 1e-09:\n  e_tj  scores, by 3.0e-01\n" in text
    assert "agree with NumPy" not in text
    assert repr(wrong).endswith("DISAGREES)")
    other = as_text(dataclasses.replace(bahdanau, forced_difference=0.5))
    assert "DISAGREES: it gives another distribution: the largest difference in log-probability is 5.0e-01" in other


def test_weights_are_shown_if_asked_for(bahdanau):
    assert "\nWeights\n" not in as_text(bahdanau)
    text = as_text(bahdanau, with_weights=True)
    for letter, value in bahdanau.weights.items():
        assert f"\n{letter} ({' x '.join(map(str, value.shape))})\n" in text


@pytest.mark.parametrize("step", [3, 4])
def test_the_probability_of_an_unknown_word_is_the_unknown_symbols(step):
    """Step 3 of the case writes one."""
    trace = traced(step=step)
    (line,) = [line for line in as_text(trace).splitlines() if "whose probability is" in line]
    assert line.endswith(" (unknown: the unknown symbol's)") == (step == 3)
