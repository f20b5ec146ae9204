"""Fronts: what is behind a sentence's end counts for nothing, and shortened positions stand where they should."""

import numpy as np
import pytest
import torch

from heedful.attention import normalisers, scores
from heedful.data.batches import Batch, Example, Sequences, collate, shortened
from heedful.data.codec import Encoded, Grid
from heedful.errors import RecipeError, SizeError
from heedful.model import build, encoders, fronts

from .cases import close, inputs_of, randomise, rows_of

F, E = 5, 7
# Options of each front beside its defaults, in which another sort of border comes up.
OPTIONS = {
    "linear": [{}],
    "pyramid": [{}, {"levels": 2}, {"levels": 3}],
    "convolution": [
        {},
        {"layers": 2, "channels": 11},
        {"kernel": 3, "stride": 3},
        {"kernel": 4, "stride": 1},
        {"kernel": 7, "stride": 2, "layers": 3},
        {"kernel": 6, "stride": 3, "layers": 2},
    ],
}
CASES = [{"name": name, **options} for name in fronts.names() for options in OPTIONS.get(name, [{}])]
every = pytest.mark.parametrize("spec", CASES, ids=lambda spec: "-".join(map(str, spec.values())))


def make_front(spec):
    options = dict(spec)
    front = fronts.build(options.pop("name"), options, {"features_size": F, "embedding_size": E}).double()
    randomise(front)
    return front


def features(lengths, *, width=None, junk=False, seed=0):
    """Random vectors of these lengths, padded to `width` with zeros, or with what must not be looked at."""
    generator = torch.Generator().manual_seed(seed)
    width = width or max(lengths)
    rows = torch.zeros(len(lengths), width, F, dtype=torch.float64)
    if junk:
        rows += torch.nan
    mask = torch.arange(width) < torch.tensor(lengths)[:, None]
    for row, length in zip(rows, lengths, strict=True):
        row[:length] = torch.randn(length, F, generator=generator, dtype=torch.float64)
    positions = torch.where(mask, torch.arange(1, width + 1), 0)
    return Sequences(rows, mask, positions)


@every
def test_what_is_behind_the_end_counts_for_nothing(spec):
    """Exactly as if it were cut away, at every remainder of the length, however much there is and whatever it holds."""
    front = make_front(spec)
    lengths = list(range(1, 24))
    batch = features(lengths, junk=True)
    vectors, mask, positions = front(*batch[:3])
    wider = front(*features(lengths, width=41, junk=True)[:3])
    for row, length in enumerate(lengths):
        alone, own, places = front(*(tensor[row : row + 1, :length] for tensor in batch[:3]))
        steps = -(-length // front.shortening)
        assert alone.shape == (1, steps, E)
        assert own.all()
        assert places.tolist() == [list(range(1, steps + 1))]
        close(vectors[row, :steps], alone[0])
        close(wider[0][row, :steps], alone[0])
        assert mask[row].tolist() == [True] * steps + [False] * (mask.shape[1] - steps)
        assert positions[row, :steps].tolist() == places[0].tolist()
        assert not positions[row, steps:].any()


@every
def test_each_position_sees_what_it_stands_for(spec):
    """The gradient of vector j reaches all of its own positions, and is centred on them."""
    front = make_front(spec)
    count = front.shortening
    source = features([9 * count])
    source.tokens.requires_grad_()
    # Of relu's some are off: what is reached is looked at over several weights.
    reached = torch.zeros(9 * count, dtype=torch.bool)
    for seed in range(5):
        randomise(front, seed=seed)
        vectors, *_ = front(*source[:3])
        (gradient,) = torch.autograd.grad(vectors[0, 4].sum(), source.tokens)
        reached |= gradient[0].abs().sum(-1) > 0
    own = range(4 * count, 5 * count)
    places = reached.nonzero().squeeze(1).tolist()
    assert places == list(range(places[0], places[-1] + 1))
    assert set(own) <= set(places)
    before, after = own[0] - places[0], places[-1] - own[-1]
    assert 0 <= after - before <= (count if count > 1 else 1)  # an even kernel leans to what comes


def test_the_pyramid_by_hand():
    """Three vectors of one number, W = [1, 10], b = -5: relu(1 + 20 - 5), relu(3 + 0 - 5)."""
    front = fronts.build("pyramid", {}, {"features_size": 1, "embedding_size": 1})
    with torch.no_grad():
        front.levels[0].weight.copy_(torch.tensor([[1.0, 10.0]]))
        front.levels[0].bias.fill_(-5.0)
    source = torch.tensor([[[1.0], [2.0], [3.0]]])
    vectors, mask, positions = front(source, torch.ones(1, 3, dtype=torch.bool), torch.tensor([[1, 2, 3]]))
    assert vectors.tolist() == [[[16.0], [0.0]]]
    assert mask.tolist() == [[True, True]]
    assert positions.tolist() == [[1, 2]]


@every
def test_lengths_are_those_that_shortened_tells(spec):
    front = make_front(spec)
    source = features([13, 1, 8])
    _, mask, positions = front(*source[:3])
    short = shortened(source, front.shortening)
    assert torch.equal(short.mask, mask)
    assert torch.equal(short.positions, positions)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"name": "pyramid", "levels": 0}, "levels must be from 1 to 10, got 0"),
        ({"name": "convolution", "kernel": 2, "stride": 3}, "a kernel of at most 1000 that is not below the stride"),
        ({"name": "convolution", "layers": 0}, "expected layers of 1 to 10"),
        ({"name": "piramid"}, "unknown front 'piramid'; did you mean 'pyramid'"),
    ],
)
def test_options_that_make_no_sense_are_told(spec, message):
    with pytest.raises(RecipeError, match=message):
        make_front(spec)


# A whole model.

TARGETS = rows_of((3, 6, 1, 5), 23, seed=4)


def make(front="linear", **options):
    sizes = {"source_features_size": F, "target_vocabulary_size": 23, "embedding_size": E, "encoder_size": 3}
    model = build(**{**sizes, "decoder_size": 11, **options}, front=front).double().eval()
    randomise(model, scale=0.5)
    return model


def batch_of(lengths, targets=TARGETS):
    generator = np.random.default_rng(7)
    arrays = [generator.normal(size=(length, F)).astype(np.float32) for length in lengths]
    sources = [Encoded(array, range(1, len(array) + 1), [], Grid(1.0, 1.0, "")) for array in arrays]
    return collate([Example(*both, number) for number, both in enumerate(zip(sources, targets, strict=True))])


def one(batch: Batch, row: int) -> Batch:
    parts = []
    for part in (batch.sources[0], batch.target):
        length = int(part.mask[row].sum())
        parts.append(Sequences(*(tensor[row : row + 1, :length] for tensor in part[:3])))
    return Batch((parts[0],), parts[1], (row,))


ALL_PARTS = [
    *({"score": name} for name in scores.names()),
    *({"normaliser": name} for name in normalisers.names()),
    *({"encoder": name} for name in encoders.names()),
]


def check_batched_is_alone(model, lengths):
    batch = batch_of(lengths)
    logs, weights = model.force(batch)
    assert weights.shape[2] == -(-max(lengths) // model.shortening)
    for row, length in enumerate(lengths):
        own_logs, own_weights = model.force(one(batch, row))
        steps, columns = len(TARGETS[row]), -(-length // model.shortening)
        close(logs[row, :steps], own_logs[0])
        close(weights[row, :steps, :columns], own_weights[0])
        assert weights[row, :, columns:].eq(0).all()


@every
def test_batched_is_alone_for_every_front(spec):
    check_batched_is_alone(make(spec), (13, 2, 7, 1))


@pytest.mark.parametrize("options", ALL_PARTS, ids=str)
def test_every_part_reads_what_a_front_has_shortened(options):
    try:
        model = make({"name": "convolution", "stride": 3}, **options, decoder_size=6)
    except SizeError:
        pytest.skip("does not fit these sizes")
    check_batched_is_alone(model, (13, 2, 7, 1))


@every
def test_all_of_a_front_is_trained(spec):
    model = make(spec).train()
    before = model(batch_of((13, 9, 7, 11))).total
    before.backward()
    for name, parameter in model.encoder.embedding.named_parameters():
        assert parameter.grad.abs().sum() > 0, name
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    torch.optim.SGD(model.parameters(), lr=1e-4).step()
    assert model(batch_of((13, 9, 7, 11))).total < before


def test_posteriors_ask_the_shortened_positions():
    model = make({"name": "pyramid", "levels": 2})
    batch = batch_of((13, 2, 7, 1))
    found = model.posterior(batch)
    assert found.shape == (4, 6, 4)  # fewer positions than candidates
    assert found[3, :5, 0].sub(1).abs().max() < 1e-9


def test_unrolled_is_stepped():
    model = make({"name": "pyramid", "levels": 2})
    batch = batch_of((13, 2, 7, 1))
    logs, _ = model.distributions(batch)
    memory, state = model.begin(batch.sources[0])
    for place, word in enumerate(inputs_of(batch).split(1, dim=1)):
        own, _, state = model.step(word, memory, state)
        close(own[:, 0], logs[:, place])


def test_a_model_reads_symbols_or_features():
    sizes = {"target_vocabulary_size": 5}
    for wrong in ({}, {"source_vocabulary_size": 5, "source_features_size": 5}):
        with pytest.raises(SizeError, match="sources are symbols or features"):
            build(**sizes, **wrong)
