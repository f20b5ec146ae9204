"""The centre that local attention predicts is where it has to be: on a task whose alignment is known, and no diagonal.

Strings of up to 30 letters are to be reversed, so the letter that step t writes stands at S + 1 - t. Windows reach 3
letters to either side, which is too few to solve it unless they lie right.
"""

import random

import pytest
import torch

from heedful.attention import LocalP
from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.model import Model, build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe

LONGEST = 30
UPDATES = 800


def strings(rng: random.Random, count: int, length: int | None = None) -> list[Pair]:
    lengths = [length or rng.randint(2, LONGEST) for _ in range(count)]
    texts = ["".join(rng.choices("abcdefghij", k=letters)) for letters in lengths]
    return [Pair(text, text[::-1], (), line) for line, text in enumerate(texts, start=1)]


def batch_of(codec: Codec, pairs: list[Pair]):
    return collate([Example(codec.encode_source(p.source), codec.encode_target(p.target), p.line) for p in pairs])


def untrained(codec: Codec, seed: int) -> Model:
    torch.manual_seed(seed)
    return build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        embedding_size=32,
        encoder_size=32,
        decoder_size=64,
        fusion="late",
        score="general",
        scope={"name": "local_p", "window": 3},
    )


def train(model: Model, codec: Codec, seed: int) -> None:
    rng = random.Random(seed + 100)
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(UPDATES):
        optimiser.param_groups[0]["lr"] = 0.01 * (1 - update / UPDATES)
        loss = model(batch_of(codec, strings(rng, 32, rng.randint(2, LONGEST))))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()


@torch.no_grad()
def distances(model: Model, codec: Codec, pairs: list[Pair]) -> torch.Tensor:
    """|p_t - (S + 1 - t)| at every step that writes a letter."""
    seen = []
    assert isinstance(model.attention.scope, LocalP)
    # LocalP multiplies the weights by exp(-(j - p_t)^2 / (2 sigma^2)): its inputs say what p_t is.
    hook = model.attention.scope.register_forward_hook(lambda scope, given, window: seen.append(given))
    model.eval().force(batch_of(codec, pairs))
    hook.remove()
    ((query, memory, _),) = seen
    scope = model.attention.scope
    share = torch.sigmoid(torch.tanh(query @ scope.query_projection.weight.T) @ scope.v)
    centres = memory.lengths.unsqueeze(1) * share  # p_t = S sigmoid(v_p . tanh(W_p s_t))
    rows = [row[: len(p.source)] - torch.arange(len(p.source), 0, -1) for row, p in zip(centres, pairs, strict=True)]
    return torch.cat(rows).abs()


@pytest.mark.slow
def test_the_predicted_centre_is_within_a_position_of_the_true_one():
    seed = 5
    codec = Codec.build(strings(random.Random(11), 100), target_tokens=("characters", {}))
    model, pairs = untrained(codec, seed), strings(random.Random(13), 100)
    assert distances(model, codec, pairs).mean() >= 3
    train(model, codec, seed)
    found = distances(model, codec, pairs)
    assert found.mean() <= 1
    assert (found <= 1).double().mean() >= 0.8
    answers = Predictor(model, codec, PredictRecipe(beam=1)).predict(pairs)
    assert sum(answer[0].text == pair.target for answer, pair in zip(answers, pairs, strict=True)) >= 90
