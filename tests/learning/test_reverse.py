"""It learns a task whose alignment is known, and the model without attention does not.

Strings of letters are to be reversed; both models have the same sizes and see the same batches. The fixed vector is too
small to hold 30 letters; attention only has to learn where to look: letter S + 1 - t at step t. With SLOW=1 it is 30
letters; otherwise 9, which take a twentieth of the time, and attention alone.
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


def strings(rng, count, length):
    texts = ["".join(rng.choice("abcdefghij") for _ in range(length)) for _ in range(count)]
    return [Pair(text, text[::-1], (), line) for line, text in enumerate(texts, start=1)]


def trained(codec: Codec, *, longest: int, updates: int, size: int, **parts) -> Model:
    torch.manual_seed(5)
    rng = random.Random(7)
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        embedding_size=32,
        encoder_size=size,
        decoder_size=size,
        **parts,
    )
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = 0.005 * (1 - update / updates)
        pairs = strings(rng, 32, rng.randint(2, longest))
        loss = model(
            collate([Example(codec.encode_source(p.source), codec.encode_target(p.target), p.line) for p in pairs])
        )
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval()


def task(length: int) -> tuple[Codec, list[Pair]]:
    rng = random.Random(11)
    codec = Codec.build(strings(rng, 100, length), target_tokens=("characters", {}))
    return codec, strings(rng, 100, length)


def exact(model, codec, pairs):
    answers = Predictor(model, codec, PredictRecipe(beam=1)).predict(pairs)
    return sum(found[0].text == pair.target for found, pair in zip(answers, pairs, strict=True)) / len(pairs)


ALL = {"longest": 30, "updates": 2000, "size": 64}
FEW = {"longest": 9, "updates": 500, "size": 32}


@pytest.mark.parametrize("how", [FEW, pytest.param(ALL, marks=pytest.mark.slow)], ids=["9", "30"])
def test_attention_learns_to_reverse_and_looks_at_the_anti_diagonal(how):
    length = how["longest"]
    codec, pairs = task(length)
    model = trained(codec, **how, fusion="late", score="general", readout="attentional")
    assert exact(model, codec, pairs) >= 0.95
    forced = Predictor(model, codec, PredictRecipe()).force(pairs)
    links = [link for prediction in forced for link in prediction.alignment.links()]
    assert len(links) == length * len(pairs)
    assert sum(source + target == length - 1 for source, target in links) >= 0.95 * len(links)


@pytest.mark.slow
def test_the_fixed_vector_does_not_learn_it():
    codec, pairs = task(ALL["longest"])
    assert exact(trained(codec, **ALL, fusion="none"), codec, pairs) <= 0.5
