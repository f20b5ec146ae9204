"""Hierarchical attention finds the sentence that it is asked for, in documents of as many as 50.

Each sentence begins with a key of its own, then come three words and a full stop. A tag names a key; the answer is the
words of that sentence. Documents to learn from have 2 to 50 sentences; those that it is judged by, all as many.
"""

import random

import numpy as np
import pytest
import torch

from heedful.data.batches import Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.model import build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe

WORDS = [f"w{number}" for number in range(23)]


def documents(rng, count, sentences, *, keys):
    """`count` pairs of so many sentences each, with keys of so many different ones."""
    found = []
    for line in range(1, count + 1):
        own = rng.sample([f"k{number}" for number in range(keys)], sentences)
        texts = [rng.choices(WORDS, k=3) for _ in own]
        asked = rng.randrange(sentences)
        source = " ".join(f"{key} {' '.join(words)} ." for key, words in zip(own, texts, strict=True))
        found.append(Pair(source, " ".join(texts[asked]), (own[asked],), line))
    return found


def learned(*, most, keys, updates, batch, decoder_size):
    """Its weight in the right sentence, row by row, and the share of answers that are right; 40 unseen documents.

    Documents to learn from grow from 3 sentences to `most`, which they reach after five ninths of the updates.
    """
    rng = random.Random(3)
    whitespace = ("whitespace", {})
    tokens = {"source_tokens": whitespace, "target_tokens": whitespace, "segments": ("marks", {})}
    codec = Codec.build(documents(rng, 300, most, keys=keys), **tokens)
    torch.manual_seed(5)
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        embedding_size=32,
        encoder_size=32,
        decoder_size=decoder_size,
        fusion={"name": "late", "input_feeding": True},
        encoder="hierarchical",
        score="general",
        scope="hierarchical",
    )
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = 0.01 * (1 - update / updates)
        longest = max(3, round(most * min(1.0, 1.8 * update / updates) ** 2))
        pairs = documents(rng, batch, rng.randint(2, longest), keys=keys)
        loss = model(
            collate([Example(codec.encode_source(p.source, p.tags), codec.encode_target(p.target), 0) for p in pairs])
        )
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    pairs = documents(rng, 40, most, keys=keys)
    predictor = Predictor(model.eval(), codec, PredictRecipe(beam=1))
    shares = []
    for pair, answer in zip(pairs, predictor.force(pairs), strict=True):
        right = 1 + [sentence.split()[0] for sentence in pair.source.split(" .")[:-1]].index(pair.tags[0])
        segments = np.array(answer.alignment.source_segments)
        shares += answer.alignment.weights[:-1, segments == right].sum(-1).tolist()  # the last row writes the end
    exact = [found[0].text == pair.target for found, pair in zip(predictor.predict(pairs), pairs, strict=True)]
    return np.array(shares), np.mean(exact)


def test_it_finds_the_sentence_among_six():
    shares, exact = learned(most=6, keys=7, updates=350, batch=32, decoder_size=64)
    assert shares.mean() >= 0.9
    assert exact >= 0.9


@pytest.mark.slow
def test_it_finds_the_sentence_among_fifty():
    shares, exact = learned(most=50, keys=61, updates=1800, batch=20, decoder_size=128)
    assert shares.mean() >= 0.9
    assert exact >= 0.9
