"""Fusion: all steps at once are the steps one by one, and each is what its formula says."""

import itertools

import pytest
import torch

from heedful.attention import Additive, Attention
from heedful.errors import RecipeError
from heedful.model import GRU, Early, Late, Model, NoAttention, State, Steps, Transformer, fusions
from heedful.model.steps import join
from heedful.tensors import map_tensors

from .cases import ATTENTIONS, CELLS, FUSIONS, close, inputs_of, make, name_of, random_batch, unrolled

attentive = pytest.mark.parametrize("fusion", [name for name in FUSIONS if not name.startswith("none")])
every = pytest.mark.parametrize("fusion", list(FUSIONS))


def stepped(model: Model, batch) -> tuple[torch.Tensor, Steps]:
    """Teacher forcing, one step at a time."""
    memory, state = model.begin(batch.sources[0])
    found = []
    for tokens in inputs_of(batch).split(1, dim=1):
        steps, state = model.decoder.step(tokens, memory, state)
        found.append(steps)
    steps = join(found, torch.cat([each.embeddings for each in found], dim=1))
    return model.decoder.logits(steps), steps


def check_unroll_goes_on(model: Model) -> None:
    """Two steps and then the rest at once are all at once."""
    batch = random_batch()
    memory, state = model.begin(batch.sources[0])
    inputs = inputs_of(batch)
    for tokens in inputs[:, :2].split(1, dim=1):
        _, state = model.decoder.step(tokens, memory, state)
    steps = model.decoder.unroll(inputs[:, 2:], memory, state)
    whole, wanted = unrolled(model, batch)
    close(model.decoder.logits(steps), whole[:, 2:])
    close(steps.weights, wanted.weights[:, 2:])


def check_unroll_is_steps(model: Model) -> None:
    batch = random_batch()
    logits, steps = unrolled(model, batch)
    expected, wanted = stepped(model, batch)
    close(logits, expected)
    for part, value in zip(steps, wanted, strict=True):
        assert (part is None) == (value is None)
        if part is not None:
            close(part, value)


@pytest.mark.parametrize(
    ("cell", "layers", "bidirectional"), list(itertools.product(CELLS, (1, 2, 3, 4), (False, True)))
)
@every
def test_unroll_is_repeated_step(fusion, cell, layers, bidirectional):
    model = make(**FUSIONS[fusion], cell=cell, decoder_layers=layers, bidirectional=bidirectional)
    check_unroll_is_steps(model)


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late", "late_feeding"])
def test_unroll_is_repeated_step_for_every_attention(fusion, options):
    check_unroll_is_steps(make(**FUSIONS[fusion], **options, decoder_layers=2))


@pytest.mark.parametrize("options", ATTENTIONS[::2], ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late", "late_feeding"])
def test_unroll_may_go_on_from_any_step(fusion, options):
    """From the state after two steps: where a local window stands depends on it."""
    check_unroll_goes_on(make(**FUSIONS[fusion], **options))


@pytest.mark.parametrize("cell", CELLS)
@every
def test_no_step_sees_the_word_that_it_predicts_nor_a_later_one(fusion, cell):
    model, batch = make(**FUSIONS[fusion], cell=cell, decoder_layers=2), random_batch((5, 2, 7), (6, 6, 6))
    assert batch.target is not None
    before, _ = unrolled(model, batch)
    for time in range(6):
        tokens = batch.target.tokens.clone()
        tokens[:, time] = (tokens[:, time] + 5) % 19 + 4
        after, _ = unrolled(model, batch._replace(target=batch.target._replace(tokens=tokens)))
        assert torch.equal(before[:, : time + 1], after[:, : time + 1])
        if time < 5:
            assert (before[:, time + 1] != after[:, time + 1]).any(dim=-1).all()


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
@every
def test_every_piece_of_the_state_matters_at_the_next_step(fusion, cell, layers):
    model, batch = make(**FUSIONS[fusion], cell=cell, decoder_layers=layers), random_batch()
    memory, state = model.begin(batch.sources[0])
    first, second = inputs_of(batch)[:, :2].split(1, dim=1)
    _, state = model.decoder.step(first, memory, state)

    def logits(now: State) -> torch.Tensor:
        return model.decoder.logits(model.decoder.step(second, memory, now)[0])

    expected = logits(state)
    changed = []
    for layer, parts in enumerate(state.layers):
        for place, part in enumerate(parts):
            other = [*parts]
            other[place] = part + 0.1
            layers_of = (*state.layers[:layer], type(parts)(*other), *state.layers[layer + 1 :])
            changed.append(state._replace(layers=layers_of))
    if state.fed is not None:
        changed.append(state._replace(fed=state.fed + 0.1))
    parts_of_each = 2 if cell == "lstm" or fusion == "transformer" else 1
    assert len(changed) == layers * parts_of_each + (state.fed is not None)
    for other in changed:
        assert ((logits(other) - expected).abs() > 1e-6).any(dim=-1).all()


@pytest.mark.parametrize("options", ATTENTIONS[::3], ids=name_of)
@every
def test_hypotheses_of_one_step_are_separate_sentences(fusion, options):
    options = {} if fusion.startswith("none") else options
    model, batch = make(**FUSIONS[fusion], **options, decoder_layers=3, cell="lstm"), random_batch()
    memory, state = model.begin(batch.sources[0])
    _, state = model.decoder.step(inputs_of(batch)[:, :1], memory, state)
    K = 5
    generator = torch.Generator().manual_seed(2)

    def spread(tensor: torch.Tensor) -> torch.Tensor:
        noise = torch.randn(3, K, *tensor.shape[2:], generator=generator, dtype=torch.float64)
        return tensor.expand_as(noise) + noise

    layers = tuple(type(parts)(*map(spread, parts)) for parts in state.layers)
    step = torch.randint(4, (3, K), generator=generator)
    carry = map_tensors(lambda part: part.expand(-1, K, *part.shape[2:]), state.carry)
    many = State(layers, None if state.fed is None else spread(state.fed), step, carry)
    tokens = torch.randint(23, (3, K), generator=generator)
    steps, after = model.decoder.step(tokens, memory, many)
    logits = model.decoder.logits(steps)
    close(after.step, step + 1)
    assert (after.fed is None) == (state.fed is None)
    for k in range(K):
        own = [type(parts)(*(part[:, k : k + 1] for part in parts)) for parts in layers]
        fed = None if many.fed is None else many.fed[:, k : k + 1]
        alone = State(tuple(own), fed, step[:, k : k + 1], state.carry)
        single, now = model.decoder.step(tokens[:, k : k + 1], memory, alone)
        close(logits[:, k : k + 1], model.decoder.logits(single))
        close(None if steps.weights is None else steps.weights[:, k : k + 1], single.weights)
        close(None if after.fed is None else after.fed[:, k : k + 1], now.fed)
        for parts, wanted in zip(after.layers, now.layers, strict=True):
            for part, value in zip(parts, wanted, strict=True):
                close(part[:, k : k + 1], value)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", CELLS)
def test_early_asks_with_the_state_before_and_steps_with_the_answer(cell, layers):
    model, batch = make(fusion="early", cell=cell, decoder_layers=layers), random_batch()
    memory, state = model.begin(batch.sources[0])
    _, steps = unrolled(model, batch)
    close(steps.before, torch.cat([state.layers[-1].hidden, steps.states[:, :-1]], 1))  # s_{t-1} of the top
    attended = model.decoder.fusion.attention(steps.before, memory)  # alpha_t, c_t from s_{t-1}
    close(steps.weights, attended.weights)
    close(steps.contexts, attended.context)
    inputs = torch.cat([steps.embeddings, steps.contexts], -1)  # [y_{t-1}; c_t] enters the first layer
    close(steps.states, model.decoder.fusion.stack.unroll(inputs, state.layers)[0])
    assert steps.attentional is None


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("fusion", [name for name in FUSIONS if name.startswith("late")])
def test_late_steps_and_then_asks_with_the_state_after(fusion, cell):
    model, batch = make(**FUSIONS[fusion], cell=cell, decoder_layers=2), random_batch()
    late = model.decoder.fusion
    assert isinstance(late, Late)
    memory, state = model.begin(batch.sources[0])
    _, steps = unrolled(model, batch)
    assert steps.attentional is not None
    assert steps.attentional.shape[-1] == (13 if fusion == "late_wide" else 11)
    inputs = steps.embeddings
    if late.input_feeding:
        fed = torch.cat([torch.zeros_like(steps.attentional[:, :1]), steps.attentional[:, :-1]], 1)
        inputs = torch.cat([inputs, fed], -1)  # [y_{t-1}; h~_{t-1}], h~_0 = 0
    close(steps.states, late.stack.unroll(inputs, state.layers)[0])
    attended = late.attention(steps.states, memory)  # alpha_t, c_t from h_t
    close(steps.weights, attended.weights)
    close(steps.contexts, attended.context)
    for c, h, h_tilde in zip(
        steps.contexts.flatten(0, 1), steps.states.flatten(0, 1), steps.attentional.flatten(0, 1), strict=True
    ):
        both = torch.cat([c, h])
        if late.gate is None:
            close(h_tilde, torch.tanh(late.combine.weight @ both))  # tanh(W_c [c; h])
        else:
            g = torch.sigmoid(late.gate.weight @ both)
            close(h_tilde, g * torch.tanh(late.combine.weight @ c) + (1 - g) * h)


@pytest.mark.parametrize("fusion", ["none", "none_start_only"])
def test_the_fixed_vector_is_the_last_state_at_every_step_or_nothing(fusion):
    model, batch = make(**FUSIONS[fusion], bidirectional=True), random_batch()
    encoded = model.encode(batch.sources[0])
    _, state = model.begin(batch.sources[0])
    _, steps = unrolled(model, batch)
    vector = encoded.last[-1].hidden if fusion == "none" else encoded.values.new_zeros(3, 0)
    close(steps.contexts, vector[:, None].expand(-1, 6, -1))
    inputs = torch.cat([steps.embeddings, steps.contexts], -1)
    close(steps.states, model.decoder.fusion.stack.unroll(inputs, state.layers)[0])
    assert steps.weights is None
    assert steps.attentional is None


def test_which_word_a_row_of_weights_belongs_to():
    assert make(fusion="early").row_convention == "predicted"
    assert make(fusion="none").row_convention == "predicted"
    for rows in ("predicted", "input"):
        model = make(fusion={"name": "late", "rows": rows}, readout="attentional")
        assert model.row_convention == rows
    assert make(**FUSIONS["late"]).row_convention == "predicted"


@attentive
def test_what_the_first_state_is_made_of(fusion):
    model, batch = make(**FUSIONS[fusion], decoder_layers=2), random_batch()
    _, state = model.begin(batch.sources[0])
    assert state.step.tolist() == [[0]] * 3
    if model.decoder.fusion._feeds():
        assert state.fed is not None
        assert state.fed.tolist() == [[[0.0] * (13 if fusion == "late_wide" else 11)]] * 3
    else:
        assert state.fed is None


def test_late_refuses_what_it_cannot_combine():
    attention = Attention(Additive(11, 7))
    sizes = {"embedding_size": 5, "value_size": 7, "cell": GRU, "hidden_size": 11, "layers": 1}
    with pytest.raises(RecipeError, match="'concat' or 'gate', got 'sum'"):
        Late(attention, **sizes, combine="sum")
    with pytest.raises(RecipeError, match="'predicted' or the 'input' word, got 'output'"):
        Late(attention, **sizes, rows="output")
    with pytest.raises(RecipeError, match="attentional_size 11, the decoder's size, got 13"):
        Late(attention, **sizes, combine="gate", attentional_size=13)


def test_all_fusions_are_tested_here():
    assert [fusions[name] for name in fusions.names()] == [NoAttention, Early, Late, Transformer]
