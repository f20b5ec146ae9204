"""Two sources: both looked at, or one asked with the other. In every fusion with every attention."""

import pytest
import torch

from grid import covering, in_turn, possible
from heedful.attention import Additive, Attention, General, SideBySide, Softmax, TwoAttentions
from heedful.data.batches import Batch
from heedful.errors import HeedfulError, RecipeError, SizeError
from heedful.model import Model, build, encoders
from heedful.model.steps import join
from heedful.search import Rules, beam

from .cases import (
    ATTENTIONS,
    FUSIONS,
    SIZES,
    close,
    inputs_of,
    make,
    name_of,
    one,
    random_batch,
    rows_of,
    sequences,
    unrolled,
)

COMBINE = ("concat", "gate")
FIRST, SECOND = (5, 2, 7), (3, 11, 2)


def of_two(second: str, **options) -> Model:
    return make(second=second, second_vocabulary_size=19, **options)


def batch_of_two(*, extra: int = 0, lengths=(3, 6, 4)) -> Batch:
    batch = random_batch(FIRST, lengths)
    rows = rows_of(SECOND, 19, seed=3)
    return batch._replace(sources=(batch.sources[0], sequences(rows, positions=True, extra=extra)))


def check(model: Model) -> None:
    """All steps at once are the steps one by one; a sentence alone is as in company; search is forced decoding."""
    batch = batch_of_two(extra=2)
    logits, steps = unrolled(model, batch)
    memory, state = model.begin(*batch.sources)
    found = []
    for tokens in inputs_of(batch).split(1, dim=1):
        step, state = model.decoder.step(tokens, memory, state)
        found.append(step)
    one_by_one = join(found, torch.cat([each.embeddings for each in found], dim=1))
    close(model.decoder.logits(one_by_one), logits)
    close(one_by_one.weights, steps.weights)
    weights = steps.weights
    assert weights is not None
    for index, (first, second, target) in enumerate(zip(FIRST, SECOND, (3, 6, 4), strict=True)):
        its, own = unrolled(model, one(batch, index))
        close(logits[index, :target], its[0], tolerance=1e-9)
        there = weights[index, :target]
        assert there.shape[-1] in (7, 7 + 13)
        if there.shape[-1] > 7:
            assert own.weights.shape[-1] == first + second
            close(there[:, 7 : 7 + second], own.weights[0, :, first:], tolerance=1e-9)
            assert not there[:, 7 + second :].any()
        close(there[:, :first], own.weights[0, :, :first], tolerance=1e-9)
        assert not there[:, first:7].any()
    check_search(model, batch)


def check_search(model: Model, batch: Batch) -> None:
    with torch.no_grad():
        memory, state = model.begin(*batch.sources)
        found = beam(model.step, memory, state, beam_size=3, rules=Rules(torch.tensor([4, 4, 4])), with_weights=True)
        for index, (hypothesis, *_) in enumerate(found):
            symbols = hypothesis.tokens + [2] * hypothesis.finished
            forced = one(batch, index)._replace(target=sequences([symbols]))
            logs, weights = model.force(forced)
            assert hypothesis.token_scores == pytest.approx(logs[0].tolist(), abs=1e-8)
            assert weights is not None
            assert hypothesis.weights is not None
            split = hypothesis.split(7)
            assert split.weights is not None
            close(split.weights[:, : FIRST[index]], weights[0, :, : FIRST[index]], tolerance=1e-8)
            if split.second_weights is not None:
                close(split.second_weights[:, : SECOND[index]], weights[0, :, FIRST[index] :], tolerance=1e-8)


WAYS = [
    (fusion, second)
    for fusion in FUSIONS
    for second in (*COMBINE, "query")
    if possible(lambda *names: of_two(names[1], **FUSIONS[names[0]]), fusion, second) and fusion != "none_start_only"
]


def test_only_what_has_no_attention_or_no_first_state_is_refused():
    refused = {(fusion, second) for fusion in FUSIONS for second in (*COMBINE, "query")} - set(WAYS)
    for fusion, second in refused:
        model = make(**FUSIONS[fusion])
        assert not model.has_attention if second in COMBINE or fusion == "none_start_only" else not model.decoder.start


@pytest.mark.parametrize(("fusion", "second"), [way for way in WAYS if not way[0].startswith("none")])
def test_every_fusion(fusion, second):
    check(of_two(second, **FUSIONS[fusion]))


LAST_PEAK = {"score": "general", "scope": {"name": "window", "width": 2, "around": "last_peak"}}


@pytest.mark.parametrize(("fusion", "options"), in_turn(["early", "late"], [*ATTENTIONS, LAST_PEAK]), ids=name_of)
def test_every_attention(fusion, options):
    check(of_two("concat", **FUSIONS[fusion], **options))


@pytest.mark.parametrize(
    ("fusion", "options"), in_turn(["late_feeding", "transformer"], [*ATTENTIONS, LAST_PEAK]), ids=name_of
)
def test_every_attention_in_heads(fusion, options):
    heads = {**options, "heads": 2, "decoder_size": 14}
    if possible(lambda: make(**FUSIONS[fusion], **heads)):
        check(of_two("gate", **FUSIONS[fusion], **heads))
    else:
        with pytest.raises(HeedfulError):
            of_two("gate", **FUSIONS[fusion], **heads)


# Any two of encoder, fusion and what becomes of the second source.
ENCODED = covering(
    (encoders.names(), [name for name in FUSIONS if not name.startswith("none")], (*COMBINE, "query")),
    lambda names: possible(lambda: of_two(names[2], encoder=names[0], encoder_size=14, **FUSIONS[names[1]])),
)


@pytest.mark.parametrize(("names", "scope"), in_turn(ENCODED, ["global", "hierarchical"]))
def test_every_encoder(names, scope):
    encoder, fusion, second = names
    check(of_two(second, encoder=encoder, encoder_size=14, scope=scope, **FUSIONS[fusion]))


@pytest.mark.parametrize("combine", COMBINE)
def test_contexts_are_joined_as_the_formula_says(combine):
    model, batch = of_two(combine, **FUSIONS["late"]), batch_of_two()
    both = model.decoder.fusion.attention
    assert isinstance(both, TwoAttentions)
    _, steps = unrolled(model, batch)
    memory, _ = model.begin(*batch.sources)
    first = both.first(steps.states, memory)
    second = both.second(steps.states, memory.second)
    close(memory.second.values, model.encode_second(batch.sources[1]).values * batch.sources[1].mask[..., None])
    context = torch.cat([first.context, second.context], -1)  # [c'; c'']
    if combine == "gate":
        g = torch.sigmoid(context @ both.gate.weight.T + both.gate.bias)
        context = g * first.context + (1 - g) * second.context
    close(steps.contexts, context)
    close(steps.weights, torch.cat([first.weights, second.weights], -1))
    assert isinstance(steps.weighting, SideBySide)
    close(steps.weights.sum(-1), torch.full((3, 6), 2.0, dtype=torch.float64))


def test_a_query_is_what_the_first_state_is_made_of():
    """The source is asked with it: its own states are looked at, and only the first state knows the query."""
    model, batch = of_two("query", **FUSIONS["early"]), batch_of_two()
    _, state = model.begin(*batch.sources)
    close(state.layers[0].hidden, model.decoder.start(model.encode_second(batch.sources[1]))[0].hidden)
    logits, steps = unrolled(model, batch)
    assert steps.weights is not None
    assert steps.weights.shape == (3, 6, 7)
    other = sequences(rows_of(SECOND, 19, seed=4), positions=True)
    changed, _ = unrolled(model, batch._replace(sources=(batch.sources[0], other)))
    assert (changed != logits).any(-1).all()


def test_without_attention_a_query_starts_the_decoder():
    model, batch = of_two("query", fusion="none"), batch_of_two()
    logits, _ = unrolled(model, batch)
    other = sequences(rows_of(SECOND, 19, seed=4), positions=True)
    assert (unrolled(model, batch._replace(sources=(batch.sources[0], other)))[0] != logits).any(-1).all()


def test_loss_and_guide_and_posterior():
    """Links are those to the first source, and so is what is asked afterwards."""
    model, batch = of_two("concat", **FUSIONS["early"]), batch_of_two()
    guide = torch.zeros(3, 6, 7, dtype=torch.float64)
    guide[:, 0, 1] = 1.0
    plain, guided = model(batch), model(batch._replace(guide=guide), guided_attention=0.5)
    _, weights = model.force(batch)
    assert weights is not None
    close(guided.total - plain.total, -0.5 * weights[:, 0, 1].log().sum())
    found = model.posterior(batch)
    assert found.shape == (3, 6, 7)
    for index, length in enumerate((3, 6, 4)):
        close(found[index, :length].sum(-1), torch.ones(length, dtype=torch.float64))


def test_temperatures_are_of_both_and_normalisers_of_the_first():
    model, batch = of_two("concat", **FUSIONS["early"]), batch_of_two()
    _, before = model.force(batch)
    cold = model.at_attention_temperature(0.1)
    assert [attention.normaliser.temperature for attention in cold.attentions] == [0.1, 0.1]
    assert [attention.normaliser.temperature for attention in model.attentions] == [1.0, 1.0]
    _, sharp = cold.force(batch)
    _, own = model.with_normaliser(Softmax(temperature=0.1)).force(batch)
    close(own[:, 0, :7], sharp[:, 0, :7])  # the first step, which no other weights came before
    close(own[:, 0, 7:], before[:, 0, 7:])
    assert not torch.equal(sharp[:, 0, 7:], before[:, 0, 7:])


@pytest.mark.parametrize("second", [*COMBINE, "query"])
def test_all_of_it_is_trained(second):
    model = of_two(second, **FUSIONS["late_feeding"])
    model(batch_of_two()).total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name


def test_one_source_for_two_and_two_for_one():
    single, two, batch = make(fusion="early"), of_two("query", fusion="early"), batch_of_two()
    with pytest.raises(SizeError, match="reads one source, got two"):
        single.begin(*batch.sources)
    with pytest.raises(SizeError, match="reads two sources, got one"):
        two.begin(batch.sources[0])
    both = TwoAttentions(Attention(Additive(3, 5)), Attention(Additive(3, 5)))
    with pytest.raises(SizeError, match="two memories, got one"):
        both(torch.ones(1, 1, 3), both.prepare(torch.ones(1, 2, 5)))


@pytest.mark.parametrize("second", [*COMBINE, "query"])
def test_heads(second):
    """Each of two attentions has its own."""
    check(of_two(second, **FUSIONS["early"], heads=2, decoder_size=14))


def test_what_does_not_go_together():
    sizes = {**SIZES, "second_vocabulary_size": 19}
    for options, message in (
        ({"second": "sum"}, "expected 'concat', 'gate' or 'query', got 'sum'"),
        ({"second": None}, "second and second_vocabulary_size go together, got None and 19"),
        ({"second": "gate", "fusion": "none"}, "fusion 'none' has no attention; second 'query' goes with it"),
        ({"second": "query", "start": "zero"}, "start 'zero' makes that of no source"),
        ({"second": "query", "second_vocabulary_size": 0}, "second_vocabulary_size must be from 1 to"),
    ):
        with pytest.raises(RecipeError, match=message):
            build(**{**sizes, **options})
    five, seven = Attention(General(3, 5)), Attention(General(3, 7))
    with pytest.raises(RecipeError, match="by 'concat' or 'gate', got 'sum'"):
        TwoAttentions(five, seven, combine="sum")
    with pytest.raises(SizeError, match="contexts of one size, got 5 and 7; 'concat' takes any"):
        TwoAttentions(five, seven, combine="gate")
