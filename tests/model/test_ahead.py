"""What a search computes before its first step changes nothing but the time: against steps without it."""

import itertools

import pytest
import torch
from torch import Tensor

from heedful.decoding import Decoding
from heedful.ensemble import Ensemble
from heedful.model import Model
from heedful.recipes import PredictRecipe
from heedful.search import Rules, beam
from heedful.search.hypothesis import keep, reorder

from .cases import ATTENTIONS, CELLS, FUSIONS, close, make, name_of, random_batch

K = 5
WIDE = {"encoder_size": 61}  # so that so few positions are projected ahead
SOURCE = random_batch().sources[0]


def numbers(values) -> list[Tensor]:
    """All tensors of a nest."""
    if isinstance(values, Tensor):
        return [values]
    return [tensor for value in values for tensor in numbers(value)] if isinstance(values, tuple) else []


def check_steps(model: Model) -> None:
    """Four steps of hypotheses that part, are reordered, and lose a sentence."""
    generator = torch.Generator().manual_seed(3)
    runs = [model.begin(SOURCE), model.begin(SOURCE, hypotheses=K)]
    assert [state.ahead is None for _, state in runs] == [True, False]
    count, tokens, parents = 3, torch.ones(3, 1, dtype=torch.int64), torch.zeros(3, K, dtype=torch.int64)
    for time in range(4):
        found = []
        for number, (memory, state) in enumerate(runs):
            steps, after = model.decoder.step(tokens, memory, state)
            found.append((steps, after._replace(ahead=None)))
            if time == 1:
                memory, after = (keep(part, torch.tensor([True, False, True])) for part in (memory, after))
            runs[number] = memory, reorder(after, parents if time != 1 else parents[::2])
        plain, ahead = (numbers((tuple(steps), after)) for steps, after in found)
        assert len(plain) == len(ahead) > 5
        for one, other in zip(plain, ahead, strict=True):
            close(other, one)
        count = 2 if time else 3
        tokens = torch.randint(23, (count, K), generator=generator)
        parents = torch.randint(K, (count, K), generator=generator)


def is_projected(model: Model) -> bool:
    plain, ahead = (numbers(model.begin(SOURCE, hypotheses=count)[0])[0] for count in (0, K))
    return plain.shape != ahead.shape


@pytest.mark.parametrize(("cell", "layers"), list(itertools.product(CELLS, (1, 2))))
@pytest.mark.parametrize("fusion", list(FUSIONS))
@pytest.mark.parametrize("size", [7, 61])
def test_steps_are_the_same_in_every_fusion(size, fusion, cell, layers):
    model = make(**FUSIONS[fusion], encoder_size=size, cell=cell, decoder_layers=layers)
    check_steps(model)


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late_feeding"])
def test_steps_are_the_same_with_every_attention(fusion, options):
    size = {"decoder_size": 122} if "decoder_size" in options else {}
    check_steps(make(**{**FUSIONS[fusion], **options, **WIDE, **size}))


def test_the_readout_sees_the_embedding_and_the_context_alone():
    model = make(fusion="early", readout="maxout", **WIDE)
    assert is_projected(model)
    check_steps(model)


@pytest.mark.parametrize("fusion", list(FUSIONS))
def test_answers_are_the_same(fusion):
    model = make(**FUSIONS[fusion], **WIDE, cell="lstm")
    rules = Rules(torch.full((3,), 9))
    with torch.inference_mode():
        begun = [model.begin(SOURCE), model.begin(SOURCE, hypotheses=K)]
    plain, ahead = (beam(model.step, *each, beam_size=K, n_best=K, rules=rules, with_weights=True) for each in begun)
    for one, other in zip(itertools.chain(*plain), itertools.chain(*ahead), strict=True):
        assert (one.tokens, one.finished) == (other.tokens, other.finished)
        assert one.token_scores == pytest.approx(other.token_scores, abs=1e-9)
        close(one.weights, other.weights)


def test_only_a_search_over_few_symbols_and_without_dropout_computes_ahead():
    for symbols, count, training, there in (
        (23, 5, False, True),
        (23, 2, False, True),
        (23, 1, False, False),  # 4 steps of 3 hypotheses read at most 12 symbols
        (23, 0, False, False),
        (23, 5, True, False),
        (61, 5, False, False),
        (60, 5, False, True),
    ):
        model = make(fusion="early", dropout=0.5, target_vocabulary_size=symbols).train(training)
        assert (model.begin(SOURCE, hypotheses=count)[1].ahead is not None) == there, (symbols, count, training)


def test_contexts_are_projected_where_that_pays():
    for fusion in ("none", "early", "late", "late_feeding", "late_wide"):
        assert is_projected(make(**FUSIONS[fusion], **WIDE)), fusion
    assert is_projected(make(fusion="early", encoder_size=42))  # 12 x 7 positions = 2 x 42
    assert not is_projected(make(fusion="early", encoder_size=41))
    assert not is_projected(make(fusion="early", scope="local_m", **WIDE))  # windows copy rows
    memory, _ = make(fusion="early", target_vocabulary_size=11, **WIDE).begin(SOURCE, hypotheses=1)
    assert memory.values.shape[-1] == 122


def test_heads_are_not_projected_ahead():
    """Between their values and W c stands a matrix of their own."""
    model = make(fusion="early", heads=2, decoder_size=168)  # of so few positions, 84 numbers each
    assert not is_projected(model)
    check_steps(model)


def test_every_member_of_an_ensemble_computes_ahead():
    members = [make(fusion="early", seed=1), make(**FUSIONS["late_feeding"], seed=2)]
    _, states = Ensemble(members).begin(SOURCE, hypotheses=K)
    assert all(state.ahead is not None for state in states)


@pytest.mark.parametrize(
    ("settings", "n_best", "hypotheses"),
    [({"beam": 5}, 2, 5), ({"beam": 1}, 1, 1), ({"beam": 5, "sampling_temperature": 1.0}, 3, 3)],
)
def test_searches_ask_for_it(monkeypatch, settings, n_best, hypotheses):
    asked, begin = [], Model.begin
    monkeypatch.setattr(Model, "begin", lambda *args, **options: [asked.append(options), begin(*args, **options)][1])
    decoding = Decoding(PredictRecipe(max_length=3, **settings), (), ())
    decoding.search(make(fusion="early"), SOURCE, range(3), n_best=n_best, with_weights=False)
    assert asked == [{"hypotheses": hypotheses}]
