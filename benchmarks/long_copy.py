"""Copies of 500 words: does attention find its place where it may not look everywhere, or weighs by sums alone?

python benchmarks/long_copy.py [PART ...] [--seeds N ...] [--length S] [--updates U]

Texts are words drawn from 50, and the target is the source: word t comes from word t. PART is any of the names in
PARTS, by default all. Of each: the share of texts that are copied without a mistake, the token error, the share of
words whose largest weight lies where it has to, and minutes of training.

Models of GRUs learn from texts of 20 to 100 words, and answer unseen ones of 500: a place is found by the words before
it, so nothing that is learned depends on the length. The others are small Transformers, whose states know their places;
their texts grow while they learn, to the length that is asked for or beyond it. `linear` has learned places, and five
numbers for each (see `Kernel`). `linear_places` has one number for each, and a start that is made by hand: number d of
a query and of a key is its product with place d, so that a place is found before anything is learned, if not sharply.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any, NamedTuple

import torch

from heedful.data.batches import Batch, Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.evaluation.metrics import evaluate_texts
from heedful.model import Model, build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe

SHORTEST, LONGEST = 20, 100
PLACES = 2000  # that are learned
MOST = PLACES * 4 // 5  # texts grow beyond it, and have an end symbol
TOKENS = 2400  # a batch
UPDATES = 2500
TESTED = 100
WORDS = [f"w{number}" for number in range(50)]
TOGETHER = 20  # texts of the test in a batch


class Part(NamedTuple):
    """What is learned, and by which model."""

    options: dict[str, Any]
    size: int = 64
    growing: float = 0.0  # up to which length texts grow, over the one that is asked for; 0: they do not
    rate: float = 0.01
    numbers: int = 0  # of the score linear, for each place
    by_hand: bool = False  # see above


def _places(positions: str, *, embedding_size: int) -> dict[str, Any]:
    """A Transformer."""
    layers = {"positions": positions, "max_positions": PLACES, "feed_forward_size": 128}
    return {
        "encoder": {"name": "self_attention", **layers},
        "fusion": {"name": "transformer", **layers},
        "readout": "state",
        "embedding_size": embedding_size,
    }


_STRIDES = {"scope": {"name": "strided", "width": 3, "stride": 32}}
_LEARNED = _places("learned", embedding_size=128)
PARTS = {
    "global": Part({}),
    "window": Part({"scope": {"name": "window", "width": 3}}),
    "block": Part({"scope": {"name": "block", "width": 4}}),
    "strided": Part(_STRIDES),
    "strided_places": Part({**_STRIDES, **_places("sinusoidal", embedding_size=32)}, growing=1.0, rate=0.003),
    "linear": Part(_LEARNED, size=128, growing=1.2, rate=0.003, numbers=5),
    "linear_places": Part(_LEARNED, size=128, growing=1.0, rate=0.003, numbers=1, by_hand=True),
}


def part_of(name: str, length: int) -> Part:
    """As it is for texts of this length."""
    part = PARTS[name]
    if not part.numbers:
        return part
    score = {"name": "linear", "attention_size": part.numbers * (length + 2), "feature_map": "exp"}
    return part._replace(options={**part.options, "score": score})


def main() -> None:
    options = _options()
    print(
        "| part | seed | exact | token error | weight at its place | minutes |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name in options.parts:
        part = part_of(name, options.length)
        for seed in options.seeds:
            start = time.perf_counter()
            model, codec = learned(part, seed=seed, updates=options.updates, length=options.length)
            minutes = (time.perf_counter() - start) / 60
            tested = texts(random.Random(f"test {seed}"), TESTED, options.length)
            exact, error, place = judged(model, codec, tested)
            figures = f"{exact:.0f} % | {error:.3f} % | {place:.2f} %"
            print(f"| {name} | {seed} | {figures} | {minutes:.1f} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS), metavar="PART")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5], metavar="N")
    parser.add_argument("--length", type=int, default=500, metavar="S")
    parser.add_argument("--updates", type=int, default=UPDATES, metavar="U")
    options = parser.parse_args()
    if not SHORTEST <= options.length <= MOST:
        parser.error(f"--length must be from {SHORTEST} to {MOST}, got {options.length}")
    return options


def texts(rng: random.Random, count: int, length: int) -> list[Pair]:
    drawn = [" ".join(rng.choices(WORDS, k=length)) for _ in range(count)]
    return [Pair(text, text, (), line) for line, text in enumerate(drawn, start=1)]


def learned(part: Part, *, seed: int, updates: int, length: int) -> tuple[Model, Codec]:
    whitespace, words = ("whitespace", {}), " ".join(WORDS)
    codec = Codec.build([Pair(words, words, (), 1)], source_tokens=whitespace, target_tokens=whitespace)
    torch.manual_seed(seed)
    rng = random.Random(f"train {seed}")
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        **{"embedding_size": 32, "fusion": "late", "score": "general", **part.options},
        encoder_size=part.size,
        decoder_size=part.size,
    )
    if part.by_hand:
        find_places(model)
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(updates):
        words, rate = next_of(part, rng, update / updates, length)
        optimiser.param_groups[0]["lr"] = part.rate * rate
        loss = model(_batch(codec, texts(rng, TOKENS // words, words)))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval(), codec


def next_of(part: Part, rng: random.Random, share: float, length: int) -> tuple[int, float]:
    """The length of the next texts, and the share of the learning rate, when this share of the updates is done."""
    if not part.growing:
        return rng.randint(SHORTEST, LONGEST), 1 - share
    longest = int(SHORTEST + (part.growing * length - SHORTEST) * min(1.0, 2.5 * share))
    return rng.randint(longest // 2, longest), min(1.0, 20 * share, 1.6 * (1 - share))


def find_places(model: Any) -> None:
    """Make number d of queries and of keys a product with place d of their side."""
    score = model.attention.core.score
    for projection, inputs in (
        (score.query_projection, model.decoder.fusion.inputs),
        (score.key_projection, model.encoder.inputs),
    ):
        places = inputs.learned.weight.detach()[: len(projection.weight)]
        projection.weight.detach().copy_(places / places.norm(dim=1, keepdim=True))


def _batch(codec: Codec, pairs: list[Pair]) -> Batch:
    return collate([Example(codec.encode_source(p.source), codec.encode_target(p.target), p.line) for p in pairs])


def judged(model: Model, codec: Codec, pairs: list[Pair]) -> tuple[float, float, float]:
    """The share of right copies, the token error, the share of words that are looked for at their place; in percent."""
    predictor = Predictor(model, codec, PredictRecipe(beam=1))
    answers = [found[0].text for found in predictor.predict(pairs, batch_size=TOGETHER)]
    sources = [pair.source for pair in pairs]
    scores = evaluate_texts(sources, answers, sources, target_split=str.split)
    right = words = 0
    for forced in predictor.force(pairs, batch_size=TOGETHER):
        assert forced.alignment is not None
        right += sum(source == target for source, target in forced.alignment.links())
        words += len(forced.alignment.target) - 1  # the end symbol has no place
    return 100 - scores.sequence_error, scores.token_error, 100 * right / words


if __name__ == "__main__":
    main()
