"""``heedful trace`` and `heedful.trace`: whose step it is, what is printed, what is refused."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import heedful
from heedful.tracing.show import as_text
from training.cases import train_tiny, write_pairs


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """Late fusion with input feeding over a source that is read in reverse, with tags and rare words."""
    folder = tmp_path_factory.mktemp("tagged")
    words = [("abc", "X;Y", "A B C"), ("bca", "X", "B C A"), ("cab", "", "C A B"), ("ab", "Y", "A B")] * 5
    pairs = write_pairs(folder / "pairs.tsv", [(source, tags, target) for source, tags, target in words])
    settings = {
        "data.target_column": 3, "data.tag_columns": [2], "data.reverse_source": True, "data.max_length": 3,
        "model.fusion": {"name": "late", "input_feeding": True}, "model.score": "general", "model.cell": "lstm",
        "model.scope": {"name": "local_p", "window": 2}, "model.readout": "attentional", "train.updates": 3,
    }  # fmt: skip
    return train_tiny(pairs, folder / "run", set=settings, dev=pairs)


@pytest.fixture(scope="module")
def fixed(pairs, tmp_path_factory):
    """A model without attention."""
    settings = {"model.fusion": "none", "train.updates": 3}
    return train_tiny(pairs, tmp_path_factory.mktemp("fixed") / "run", set=settings)


def test_text(cli, run):
    done = cli("trace", run, "fade")
    assert (done.code, done.err) == (0, "")
    assert done.out.decode() == str(heedful.trace(run, "fade")) + "\n"
    assert "e_tj = v_a . tanh(W_a s_{t-1} + U_a h_j)" in done.out.decode()
    assert "quantities agree with NumPy" in done.out.decode()
    more = cli("trace", run, "fade", "--digits", "6", "--weights").out.decode()
    assert more == as_text(heedful.trace(run, "fade"), digits=6, with_weights=True) + "\n"
    assert "\nW_a (16 x 16)\n" in more


def test_json(cli, run):
    (values,) = cli("trace", run, "fade", "--json", "--step", 2).json
    trace = heedful.trace(run, "fade", step=2)
    assert values == trace.as_json()
    assert all("value" not in weight for weight in values["weights"])
    (whole,) = cli("trace", run, "fade", "--json", "--step", 2, "--weights").json
    assert whole == trace.as_json(with_weights=True)
    numbers = {entry["name"]: entry["value"] for entry in values["quantities"]}
    assert np.isclose(sum(numbers["weights"]), 1)


def test_the_greedy_answer_is_followed(cli, run):
    (answer,) = heedful.predict(run, ["fade"], beam=1)
    assert len(answer.tokens) > 1
    for step, token in enumerate([*answer.tokens, "∎"], start=1):
        trace = heedful.trace(run, "fade", step=step)
        assert trace.target == (*answer.tokens, "∎")
        assert trace["written symbol"].equation.startswith(f"{token}, whose probability is ")
        probabilities = trace["probabilities"]
        assert probabilities.axes[0][probabilities.value.argmax()] == token
        chance = np.log(probabilities.value[int(trace["written symbol"].value)])
        assert chance == pytest.approx(answer.token_scores[step - 1], abs=1e-5)
        assert trace["weights"].value == pytest.approx(answer.alignment.weights[step - 1], abs=1e-5)


def test_a_target_is_forced(cli, run, tmp_path):
    target = "B B A"
    (scored,) = heedful.score(run, write_pairs(tmp_path / "one.tsv", [("fade", target)]))
    for step in range(1, 5):
        trace = heedful.trace(run, "fade", target, step=step)
        assert (trace.target, trace.forced) == (("B", "B", "A", "∎"), True)
        chance = trace["probabilities"].value[int(trace["written symbol"].value)]
        assert np.log(chance) == pytest.approx(scored.token_scores[step - 1], abs=1e-5)
    text = cli("trace", run, "fade", target, "--step", 3).out.decode()
    assert text.startswith("Step 3 of 4: reads B, writes A\n")
    assert "target  B B A ∎  (as given)" in text
    (values,) = cli("trace", run, "fade", "", "--json").json
    assert values["target"] == ["∎"]


def test_precision_and_temperature(cli, run):
    (double,) = cli("trace", run, "fade", "A", "--json").json
    (single,) = cli("trace", run, "fade", "A", "--json", "--dtype", "float32").json
    assert double["largest_difference"] < 1e-12 < 1e-9 < single["largest_difference"] < 1e-4
    assert (double["tolerance"], single["tolerance"]) == (1e-9, 1e-4)
    flat = heedful.trace(run, "fade", "A", attention_temperature=1e6)
    assert flat["weights"].value == pytest.approx(np.full(5, 0.2), abs=1e-5)
    assert flat["weights"].equation == "alpha_tj = exp (e_tj / 1e+06) / sum exp (e_tj / 1e+06)"
    assert flat.agrees


def test_tags_reversal_and_local_scopes(cli, tagged):
    done = cli("trace", tagged, "abc\tX;Y", "A B C", "--step", 2)
    assert done.code == 0
    text = done.out.decode()
    assert "  source  [X] [Y] c b a ∎\n" in text
    assert "note    the model reads the source from its last word to its first; places are those of the text\n" in text
    trace = heedful.trace(tagged, "abc\tX;Y", "A B C", step=2)
    assert trace["places"].value.tolist() == [0, 0, 3, 2, 1, 0]
    assert trace["window"].value.tolist()[:2] == [False, False]
    assert trace["h~_{t-1}"].value.any()
    assert trace.agrees


def test_unknown_and_long_texts_are_told(cli, run, tagged):
    text = cli("trace", run, "fzaq", "A Q B").out.decode()
    assert "note    source tokens that were never seen in training are read as unknown: 'z', 'q'\n" in text
    assert "note    target tokens that were never seen in training are read as unknown: 'Q'\n" in text
    assert "target  A Q B ∎" in text
    notes = heedful.trace(tagged, "abcab\t", "A").notes
    assert notes[0] == "the source has 5 tokens; in training none had more than 3"


def test_an_answer_that_is_cut_is_told(run):
    loaded = heedful.load(run)
    short = loaded.predictor.with_options({"max_length": 2})
    import dataclasses

    trace = heedful.trace(dataclasses.replace(loaded, predictor=short), "fadebe", step=2)
    assert len(trace.target) == 2
    assert trace.notes == ("the answer is cut at its longest, 2 symbols, before its end symbol",)


def test_a_model_without_attention(cli, fixed):
    done = cli("trace", fixed, "fade")
    assert done.code == 0
    assert "Attention\n=" not in done.out.decode()
    assert "c = the encoder's last state, at every step" in done.out.decode()
    message = heedful.trace(fixed, "fade")
    assert message.agrees


def test_a_disagreement_ends_with_1(cli, run, monkeypatch):
    from heedful.attention import Additive

    right = Additive.forward
    monkeypatch.setattr(Additive, "forward", lambda self, queries, memory: right(self, queries, memory) + 1e-6)
    for arguments in ([], ["--json"]):
        done = cli("trace", run, "fade", *arguments)
        assert done.code == 1
        assert done.err.startswith("heedful: the model and its equations disagree: ")
    assert [entry["name"] for entry in done.json[0]["quantities"] if entry["agrees"] is False] == ["scores"]
    assert (
        b" quantities DISAGREE with NumPy, by more than 1e-09:\n  e_tj  scores, by 1.0e-06\n"
        in cli("trace", run, "fade").out
    )


def test_refused(refused, run, tagged, tmp_path):
    assert refused("trace", tmp_path / "nope", "fade").endswith("nope: no such run folder")
    assert refused("trace", run, " \t") == r"source: expected a text, got a blank: ' \t'"
    assert refused("trace", f"{run},{run}", "fade").startswith("a trace follows one model, got an ensemble of 2")
    for step in (0, 3, -1):
        message = refused("trace", run, "fade", "A", "--step", step)
        assert message == f"step: expected 1 to 2, the symbols of the target 'A ∎', got {step}"
    assert refused("trace", tagged, "abc").startswith("source: expected the source in column 1 and tags in [2]")


def test_refused_in_python(run, fixed):
    for error, says, arguments, options in (
        (heedful.HeedfulError, "source: expected a text, got 7", (7,), {}),
        (heedful.HeedfulError, "target: expected a text, got 7", ("fade", 7), {}),
        (heedful.HeedfulError, "dtype: expected one of float64, float32, got 'int8'", ("fade",), {"dtype": "int8"}),
        (heedful.HeedfulError, "step: expected 1 to ", ("fade",), {"step": 1.5}),
    ):
        with pytest.raises(error, match=says):
            heedful.trace(run, *arguments, **options)
    with pytest.raises(heedful.HeedfulError, match="attention_temperature is of no use"):
        heedful.trace(fixed, "fade", attention_temperature=2.0)


def test_a_run_is_left_as_it_was(run):
    loaded = heedful.load(run)
    before = {name: parameter.clone() for name, parameter in loaded.predictor.model.named_parameters()}
    state = torch.random.get_rng_state()
    heedful.trace(loaded, "fade")
    assert torch.equal(state, torch.random.get_rng_state())
    for name, parameter in loaded.predictor.model.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, before[name])


def test_json_is_one_line_of_utf8(cli, run):
    (line,) = cli("trace", run, "日f", "--json").lines
    assert json.loads(line)["source"] == ["日", "f", "∎"]
    assert "日".encode() in line
