"""It learns a task whose alignment is known, and the model without attention does not.

Strings of up to 30 letters are to be reversed; both models have the same sizes and see the same batches. The fixed
vector is too small to hold 30 letters; attention only has to learn where to look: letter 31 - t at step t.
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

LENGTH = 30
UPDATES = 2000


def strings(rng, count, length):
    texts = ["".join(rng.choice("abcdefghij") for _ in range(length)) for _ in range(count)]
    return [Pair(text, text[::-1], (), line) for line, text in enumerate(texts, start=1)]


def trained(codec: Codec, **parts) -> Model:
    torch.manual_seed(5)
    rng = random.Random(7)
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        embedding_size=32,
        encoder_size=64,
        decoder_size=64,
        **parts,
    )
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(UPDATES):
        optimiser.param_groups[0]["lr"] = 0.005 * (1 - update / UPDATES)
        pairs = strings(rng, 32, rng.randint(2, LENGTH))
        loss = model(
            collate([Example(codec.encode_source(p.source), codec.encode_target(p.target), p.line) for p in pairs])
        )
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval()


@pytest.fixture(scope="module")
def task():
    rng = random.Random(11)
    codec = Codec.build(strings(rng, 100, LENGTH), target_tokens=("characters", {}))
    return codec, strings(rng, 100, LENGTH)


def exact(model, codec, pairs):
    answers = Predictor(model, codec, PredictRecipe(beam=1)).predict(pairs)
    return sum(found[0].text == pair.target for found, pair in zip(answers, pairs, strict=True)) / len(pairs)


def test_attention_learns_to_reverse_and_looks_at_the_anti_diagonal(task):
    codec, pairs = task
    model = trained(codec, fusion="late", score="general", readout="attentional")
    assert exact(model, codec, pairs) >= 0.95
    forced = Predictor(model, codec, PredictRecipe()).force(pairs)
    links = [link for prediction in forced for link in prediction.alignment.links()]
    assert len(links) == LENGTH * len(pairs)
    assert sum(source + target == LENGTH - 1 for source, target in links) >= 0.95 * len(links)


def test_the_fixed_vector_does_not_learn_it(task):
    codec, pairs = task
    assert exact(trained(codec, fusion="none"), codec, pairs) <= 0.5
