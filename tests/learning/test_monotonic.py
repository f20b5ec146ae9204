"""Monotonic attention learns a task whose alignment is known, and looks at S + T places at most to solve it.

Each letter is written once, twice or three times, as its kind wants: "abc" -> "ABBCCC". So each symbol belongs
to the letter that it comes from, and the walk has to stay where it is, or to go on.
"""

import random

import pytest
import torch

from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.model import Model, build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe

LETTERS = "abcdefghi"
FEW = {"longest": 5, "updates": 150}
ALL = {"longest": 12, "updates": 350}


def times(letter: str) -> int:
    return 1 + LETTERS.index(letter) % 3


def strings(rng: random.Random, count: int, longest: int) -> list[Pair]:
    texts = ["".join(rng.choices(LETTERS, k=rng.randint(1, longest))) for _ in range(count)]
    targets = ["".join(letter.upper() * times(letter) for letter in text) for text in texts]
    return [Pair(text, target, (), line) for line, (text, target) in enumerate(zip(texts, targets, strict=True), 1)]


def links(pair: Pair) -> list[tuple[int, int]]:
    """Of each symbol, the letter that it comes from."""
    origins = [place for place, letter in enumerate(pair.source) for _ in range(times(letter))]
    return [(place, row) for row, place in enumerate(origins)]


def trained(codec: Codec, *, longest: int, updates: int, **parts) -> Model:
    torch.manual_seed(5)
    rng = random.Random(7)
    sizes = {"embedding_size": 16, "encoder_size": 32, "decoder_size": 32}
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        **sizes,
        **parts,
    )
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = 0.01 * (1 - update / updates)
        examples = [
            Example(codec.encode_source(p.source), codec.encode_target(p.target), 0) for p in strings(rng, 32, longest)
        ]
        loss = model(collate(examples))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval()


def evaluated(model: Model, codec: Codec, pair: Pair) -> tuple[str, int]:
    """The greedy answer, and how many scores it took."""
    count = []
    hook = model.attention.score.register_forward_hook(lambda module, given, scores: count.append(scores.numel()))
    answer = Predictor(model, codec, PredictRecipe(beam=1)).predict([pair])[0][0]
    hook.remove()
    return answer.text, sum(count)


@pytest.mark.parametrize("how", [FEW, pytest.param(ALL, marks=pytest.mark.slow)], ids=["5", "12"])
def test_monotonic_attention_learns_it_and_looks_at_no_more_than_source_and_target(how):
    rng, longest = random.Random(11), how["longest"]
    codec = Codec.build(strings(rng, 200, longest), target_tokens=("characters", {}))
    pairs = strings(rng, 100, longest)
    model = trained(codec, **how, fusion="early", score="general", normaliser={"name": "monotonic", "bias": 0.0})
    exact = 0
    for pair in pairs:
        text, evaluations = evaluated(model, codec, pair)
        exact += text == pair.target
        assert evaluations <= len(pair.source) + 1 + len(text) + 1  # with the end symbols
    assert exact >= 95
    forced = Predictor(model, codec, PredictRecipe()).force(pairs)
    found = [
        set(prediction.alignment.links()) & set(links(pair)) for prediction, pair in zip(forced, pairs, strict=True)
    ]
    assert sum(map(len, found)) >= 0.95 * sum(len(pair.target) for pair in pairs)
