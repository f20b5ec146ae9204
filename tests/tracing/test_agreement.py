"""What is traced is the model's, and what NumPy makes of it is the same: for every part, alone and with others."""

from __future__ import annotations

import subprocess
import sys
import weakref
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from heedful.attention import Additive, Memory, Score, Softmax, scores
from heedful.attention.additive import additive_scores
from heedful.data.batches import Example, collate
from heedful.data.vocabulary import Vocabulary
from heedful.model import Late, Maxout, Model, PaperGRU, bahdanau2015, cells, encdec2014, luong2015, readouts, starts
from heedful.model.cells import GRU, LSTM
from heedful.tracing import Trace, collect, follow
from model.cases import ATTENTIONS, FUSIONS, SIZES, make, name_of, randomise
from search.models import CONFIGURATIONS, PRODUCT, every, product

from .cases import REVERSED, SOURCE, SYMBOLS, trace_of, traced

GIVEN = {"source symbols", "places", "previous symbol", "written symbol"}
VOCABULARIES = {name: SIZES[name] for name in ("source_vocabulary_size", "target_vocabulary_size")}


def without_formula(parts: Mapping[str, Any]) -> set[str]:
    """What is given, and what there are no equations for: encoders of several levels, decoders without recurrence, and
    scores and contexts of several heads."""
    found = set(GIVEN)
    if parts["encoder"] not in ("recurrent", "self_attention"):
        found |= {"source states"}
    if parts.get("scope") == "hierarchical":
        found |= {"segments"} if parts["heads"] == 1 else {"weights of heads"}
    if parts["fusion"] == "transformer":
        layers = parts["decoder_layers"]
        found |= {"asking state", f"new state, layer {layers}" if layers > 1 else "new state"}
    if parts.get("heads", 1) > 1:
        found |= {"scores of heads", "window of heads", "context"}
        found |= {"prior of heads"} if parts["scope"] == "local_p" else set()
        found |= {"weights of heads"} if parts["normaliser"] == "monotonic" else set()
    return found


def check(trace: Trace) -> None:
    """All has been recomputed, all agrees, and every quantity can be told from the others."""
    without = {quantity.name for quantity in trace.quantities if quantity.recomputed is None}
    without = {name for name in without if trace.parts["encoder"] == "recurrent" or not name.startswith("last ")}
    assert without == without_formula(trace.parts)
    assert trace.difference <= 1e-9
    assert trace.forced_difference <= 1e-9
    assert trace.agrees
    for own in ("name", "letter"):
        listed = [getattr(quantity, own) for quantity in trace.quantities]
        assert len(set(listed)) == len(listed), listed
    assert all(quantity.equation and quantity.section != "Other" for quantity in trace.quantities)


def test_no_more_than_two_steps_are_kept():
    """While one is recomputed and shown; step 500 of a long target would have 500 otherwise."""
    for count in range(1, len(SYMBOLS) + 1):
        read = [Vocabulary.START, *SYMBOLS[:-1]][:count]
        kept, _ = follow._last_two(make(), SOURCE, SYMBOLS[:count])
        assert [step["previous symbol"].item() for step in kept] == read[-2:]


def test_no_more_than_two_steps_are_held_meanwhile(monkeypatch):
    """While the steps are collected, one after the other."""
    steps, held = [], []
    step = collect._step

    def watched(*given):
        held.append(sum(one() is not None for one in steps))
        values, after = step(*given)
        steps.append(weakref.ref(values["scores"]))
        return values, after

    monkeypatch.setattr(collect, "_step", watched)
    assert traced(step=5).agrees
    assert held == [0, 1, 2, 2, 2]


@every
@pytest.mark.parametrize("step", [1, 3])
def test_every_part(number, step):
    check(traced(step=step, source=REVERSED if number % 2 else SOURCE, **CONFIGURATIONS[number]))


@pytest.mark.slow
@product
def test_all_combinations(number):
    check(traced(step=1 + number % 5, source=REVERSED if number % 2 else SOURCE, **PRODUCT[number]))


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("heads", [1, 2])
def test_every_attention_of_a_decoder_without_recurrence(options, heads):
    check(traced(**{**options, "fusion": "transformer", "heads": heads, "decoder_size": 14}, decoder_layers=2))


OTHER_CENTRES = [
    {"name": "window", "width": 1, "around": "last_peak"},
    {"name": "window", "width": 1, "slope": 1.7},
    {"name": "block", "width": 2, "slope": 0.7},
    {"name": "strided", "width": 1, "stride": 3, "slope": 0.7},
]


@pytest.mark.parametrize("scope", OTHER_CENTRES, ids=["last peak", "window", "block", "strided"])
@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("step", [1, 2, 5])
def test_windows_around_other_centres(scope, heads, step):
    trace = traced(scope=scope, score="general", fusion="early", heads=heads, decoder_size=14, step=step)
    check(trace)
    if heads == 1 and scope.get("around") == "last_peak":
        assert trace["centre"].equation == "p_t = the place of the largest weight of the step before, p_1 = w + 1 = 2"


@pytest.mark.parametrize("norm", ["before", "after"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned"])
@pytest.mark.parametrize(("size", "heads", "layers"), [(14, 2, 3), (5, 1, 1), (9, 3, 2)])
@pytest.mark.parametrize("source", [SOURCE, REVERSED], ids=["as written", "reversed"])
def test_every_encoder_of_layers(norm, positions, size, heads, layers, source):
    """Also where embeddings, of size 5, need no matrix."""
    encoder = {"name": "self_attention", "norm": norm, "positions": positions, "heads": heads}
    trace = traced(encoder=encoder, encoder_size=size, encoder_layers=layers, source=source, fusion="early")
    check(trace)
    asked = [quantity for quantity in trace.quantities if quantity.name.startswith("self-attention")]
    assert len(asked) == layers
    for quantity in asked:
        assert quantity.axes == (tuple(source.labels), tuple(source.labels))
        np.testing.assert_allclose(quantity.value.sum(1), 1)


@pytest.mark.parametrize("start", starts.names())
@pytest.mark.parametrize("cell", cells.names())
def test_every_start(start, cell):
    """Into two layers, from two in both directions."""
    options = {"fusion": "early", "encoder_layers": 2, "decoder_layers": 2, "decoder_size": 14}
    check(traced(step=1, start=start, cell=cell, **options))


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("readout", readouts.names())
@pytest.mark.parametrize("tied", [False, True])
def test_every_readout(fusion, readout, tied):
    if readout == "attentional" and not fusion.startswith("late"):
        pytest.skip("there is no attentional state")
    if readout == "maxout" and fusion == "transformer":
        pytest.skip("there is no state before the step")
    check(traced(**{**FUSIONS[fusion], "readout": readout}, tied_embeddings=tied, output_bias=not tied))


def presets() -> dict[str, Model]:
    return {
        "bahdanau2015": bahdanau2015(
            **VOCABULARIES, embedding_size=5, hidden_size=7, attention_size=11, readout_size=3
        ),
        "encdec2014": encdec2014(**VOCABULARIES, embedding_size=5, hidden_size=7, readout_size=3),
        "luong2015": luong2015(**VOCABULARIES, hidden_size=7, layers=4, window=2),
        "luong2015, two layers": luong2015(**VOCABULARIES, hidden_size=7, layers=2, window=2),
        "luong2015, location": luong2015(**VOCABULARIES, hidden_size=7, layers=2, score="location", scope="global"),
        "luong2015, no feeding": luong2015(
            **VOCABULARIES, hidden_size=7, layers=1, scope="local_m", input_feeding=False
        ),
    }


def preset(name: str, *, random: bool = True) -> Model:
    model = presets()[name].double().eval()
    if random:
        randomise(model, scale=0.7)
    return model


@pytest.mark.parametrize("name", presets())
@pytest.mark.parametrize("random", [False, True], ids=["as initialised", "random"])
def test_presets(name, random):
    model = preset(name, random=random)
    for step in (1, 2, 5):
        check(trace_of(model, step=step, source=REVERSED if name.startswith("luong") else SOURCE))


def test_a_sentence_of_nothing_but_its_end_and_windows_that_hold_nobody():
    nothing = SOURCE._replace(ids=[2], positions=[0], labels=["∎"], segments=[0])
    for scope in ("local_m", "local_p"):
        trace = traced(source=nothing, fusion="early", scope={"name": scope, "window": 1})
        check(trace)
        assert not trace["weights"].value.any()
        assert not trace["context"].value.any()


@pytest.mark.parametrize("step", [1, 4])
def test_a_window_around_the_last_peak(step):
    """Its centre is what the step before looked at most, and behind the first words at first."""
    scope = {"name": "window", "width": 1, "around": "last_peak"}
    trace, before = (
        traced(step=step, fusion="early", scope=scope),
        traced(step=max(step - 1, 1), fusion="early", scope=scope),
    )
    assert trace.agrees
    centre = trace["centre"]
    assert centre.value == (2 if step == 1 else SOURCE.positions[before["weights"].value.argmax()])


# ---------------------------------------------------------------- the numbers are the model's


@pytest.mark.parametrize("name", ["bahdanau2015", "luong2015"])
def test_numbers_are_those_of_the_model(name):
    model = preset(name)
    batch = collate([Example(SOURCE, SYMBOLS, 0)])
    logs, weights = model.distributions(batch)
    encoded = model.encode(batch.sources[0])
    assert weights is not None
    for step in range(1, 6):
        trace = trace_of(model, step=step)
        close(np.log(trace["probabilities"].value), logs[0, step - 1])
        close(trace["logits"].value - np.log(np.exp(trace["logits"].value).sum()), logs[0, step - 1])
        close(trace["weights"].value, weights[0, step - 1])
        close(trace["source states"].value, encoded.values[0])
        close(trace["context"].value, weights[0, step - 1] @ encoded.values[0])


def close(found: np.ndarray, expected: Tensor) -> None:
    np.testing.assert_allclose(found, expected.detach().numpy(), rtol=0, atol=1e-12)


def test_a_step_begins_where_the_one_before_ended():
    model = preset("luong2015")
    for step in (2, 3):
        before, now = trace_of(model, step=step - 1), trace_of(model, step=step)
        for layer in (1, 4):
            for kind in ("state", "cell"):
                left = before[f"new {kind}, layer {layer}"].value
                assert (now[f"previous {kind}, layer {layer}"].value == left).all()
                assert (left != before[f"previous {kind}, layer {layer}"].value).any()
        assert (now["h~_{t-1}"].value == before["h~_t"].value).all()
        assert now["previous symbol"].value == SYMBOLS[step - 2]


def test_other_models_are_left_as_they_are():
    model = make(fusion="early").float().train()
    trace = trace_of(follow.in_precision(model, "float64"))
    assert trace["weights"].value.dtype == np.float64
    assert trace.difference < 1e-12
    assert model.training
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("number", [3, 9])
def test_single_precision(number):
    """Its roundings show, and are no disagreement."""
    model = follow.in_precision(make(**CONFIGURATIONS[number]), "float32")
    trace = trace_of(model, dtype="float32")
    assert trace["scores"].value.dtype == np.float32
    assert 1e-9 < trace.difference < 1e-5
    assert trace.agrees


# ---------------------------------------------------------------- what is wrong is found


@pytest.mark.parametrize("name", ["bahdanau2015", "luong2015, two layers", "encdec2014", "luong2015, location"])
def test_another_weight_is_noticed(name, monkeypatch):
    """Each of the listed weights, in its last row."""
    model = preset(name)
    letters = follow.letters_of(model)
    rows = {"E_x": (SOURCE.ids[1],), "E_y": (SYMBOLS[0],)}
    if name.endswith("location"):
        rows["W_a"] = (0, 5)  # the rest is for longer sentences
    for letter, weight in letters.items():
        for row in rows.get(letter, (-1,)):
            changed = weight.detach().clone()
            changed[row].view(-1)[-1] += 1e-3
            monkeypatch.setattr(follow, "letters_of", lambda _, own={**letters, letter: changed}: own)
            trace = trace_of(model, step=1 if letter.startswith("start.") else 2)
            assert trace.disagreeing, (letter, row)
            assert not trace.agrees


def exchanged(advance: Any) -> Any:
    def wrong(self, input_gates, recurrent_gates, state):
        right = advance(self, input_gates, recurrent_gates, state)
        return type(right)(*(part * (1 + 1e-7) for part in right))

    return wrong


def without_tanh(self: Additive, queries: Tensor, memory: Memory) -> Tensor:
    return additive_scores(queries, memory.keys, self.v) + (queries.sum(-1, keepdim=True) * 1e-6)


FAULTS = {
    "scores": (Additive, "forward", without_tanh),
    "weights": (Softmax, "distribute", lambda self, scores: torch.softmax(scores * 1.000001, dim=-1)),
    "readout": (Maxout, "forward", lambda self, steps: _after(self, steps)),
    "new state": (PaperGRU, "advance", exchanged(PaperGRU.advance)),
}


def _after(self: Maxout, steps: Any) -> Tensor:
    """The state AFTER the step, as many implementations have it."""
    raw = self.projection(torch.cat([steps.states, steps.embeddings, steps.contexts], dim=-1))
    return raw.unflatten(-1, (self.feature_size, 2)).amax(-1)


@pytest.mark.parametrize("name", FAULTS)
def test_another_formula_is_noticed_where_it_is(name, monkeypatch):
    """In the quantity whose equation is wrong, and not in those that follow from it."""
    model = preset("bahdanau2015")
    kind, method, wrong = FAULTS[name]
    monkeypatch.setattr(kind, method, wrong)
    trace = trace_of(model)
    wrong_ones = {quantity.name for quantity in trace.disagreeing}
    also = {"forward states", "backward states", "previous state"} if name == "new state" else set()
    assert name in wrong_ones
    assert wrong_ones <= {name, *also}
    assert not trace.agrees


@pytest.mark.parametrize(("kind", "options"), [(GRU, {"cell": "gru"}), (LSTM, {"cell": "lstm"})])
def test_another_cell_is_noticed(kind, options, monkeypatch):
    monkeypatch.setattr(kind, "advance", exchanged(kind.advance))
    trace = traced(fusion="early", **options)
    assert "new state" in {quantity.name for quantity in trace.disagreeing}


def test_another_attentional_state_is_noticed(monkeypatch):
    monkeypatch.setattr(Late, "_attentional", lambda self, c, h: torch.tanh(self.combine(torch.cat([h, c], -1))))
    trace = traced(**FUSIONS["late_feeding"])
    assert {quantity.name for quantity in trace.disagreeing} == {"attentional state"}


def test_another_forced_decoding_is_noticed(monkeypatch):
    """The steps and the model's way to go over all of them at once."""
    distributions = Model.distributions
    monkeypatch.setattr(Model, "distributions", lambda self, batch: (distributions(self, batch)[0] + 1e-6, None))
    trace = traced(fusion="early")
    assert not trace.disagreeing
    assert trace.forced_difference == pytest.approx(1e-6, rel=1e-3)
    assert not trace.agrees


# ---------------------------------------------------------------- other people's parts


def test_a_part_of_ones_own_is_traced_and_not_recomputed(monkeypatch):
    monkeypatch.setattr(scores, "_members", dict(scores._members))

    @scores.register("distance")
    class Distance(Score):
        def forward(self, queries: Tensor, memory: Memory) -> Tensor:
            return -torch.cdist(queries, memory.keys)

    trace = traced(fusion="early", score="distance", decoder_size=14)
    assert trace["scores"].recomputed is None
    assert trace["scores"].equation == "e_tj = score 'distance'"
    assert {q.name for q in trace.quantities if q.recomputed is None} == {*GIVEN, "scores"}
    assert trace.agrees


def test_a_normaliser_that_is_put_in():
    class Halves(Softmax):
        def distribute(self, scores: Tensor) -> Tensor:
            return torch.softmax(scores, dim=-1) / 2

    trace = trace_of(make(fusion="early").with_normaliser(Halves()))
    assert trace.parts["normaliser"] == "Halves"
    assert trace["weights"].recomputed is None
    assert trace["weights"].value.sum() == pytest.approx(0.5)
    assert trace.agrees


def test_the_recomputation_has_no_torch():
    code = "import sys, heedful.tracing.recompute, heedful.tracing.show; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
