"""Copies of 500 words, learned from short ones: does attention find its place where it may not look everywhere?

python benchmarks/long_copy.py [PART ...] [--seeds N ...] [--length S] [--updates U]

Texts are words drawn from 50, and the target is the source: word t comes from word t. Models learn from texts of 20 to
100 words, and answer unseen ones of 500. A place is found by the words before it, so nothing that is learned depends on
the length. PART is any of the names in PARTS, by default all. Of each: the share of texts that are copied without a
mistake, the token error, the share of words whose largest weight lies where it has to, and minutes of training.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Mapping
from typing import Any

import torch

from heedful.data.batches import Batch, Example, collate
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.evaluation.metrics import evaluate_texts
from heedful.model import Model, build
from heedful.predictor import Predictor
from heedful.recipes import PredictRecipe

WORDS = [f"w{number}" for number in range(50)]
SHORTEST, LONGEST = 20, 100
TOKENS = 2400  # a batch
UPDATES = 2500
TESTED = 100
TOGETHER = 20  # texts of the test in a batch
PARTS: dict[str, dict[str, Any]] = {
    "global": {},
    "window": {"scope": {"name": "window", "width": 3}},
    "block": {"scope": {"name": "block", "width": 4}},
    "strided": {"scope": {"name": "strided", "width": 3, "stride": 32}},
}


def main() -> None:
    options = _options()
    print(
        "| part | seed | exact | token error | weight at its place | minutes |\n| --- | --- | --- | --- | --- | --- |"
    )
    for part in options.parts:
        for seed in options.seeds:
            start = time.perf_counter()
            model, codec = learned(PARTS[part], seed=seed, updates=options.updates)
            minutes = (time.perf_counter() - start) / 60
            exact, error, place = judged(model, codec, texts(random.Random(f"test {seed}"), TESTED, options.length))
            figures = f"{exact:.0f} % | {error:.3f} % | {place:.2f} %"
            print(f"| {part} | {seed} | {figures} | {minutes:.1f} |", flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS), metavar="PART")
    parser.add_argument("--seeds", type=int, nargs="+", default=[5], metavar="N")
    parser.add_argument("--length", type=int, default=500, metavar="S")
    parser.add_argument("--updates", type=int, default=UPDATES, metavar="U")
    return parser.parse_args()


def texts(rng: random.Random, count: int, length: int) -> list[Pair]:
    drawn = [" ".join(rng.choices(WORDS, k=length)) for _ in range(count)]
    return [Pair(text, text, (), line) for line, text in enumerate(drawn, start=1)]


def learned(parts: Mapping[str, Any], *, seed: int, updates: int) -> tuple[Model, Codec]:
    whitespace = ("whitespace", {})
    all_words = Pair(" ".join(WORDS), " ".join(WORDS), (), 1)
    codec = Codec.build([all_words], source_tokens=whitespace, target_tokens=whitespace)
    torch.manual_seed(seed)
    rng = random.Random(f"train {seed}")
    model = build(
        source_vocabulary_size=len(codec.source_vocabulary),
        target_vocabulary_size=len(codec.target_vocabulary),
        embedding_size=32,
        encoder_size=64,
        decoder_size=64,
        fusion="late",
        score="general",
        **parts,
    )
    optimiser = torch.optim.Adam(model.parameters())
    for update in range(updates):
        optimiser.param_groups[0]["lr"] = 0.01 * (1 - update / updates)
        length = rng.randint(SHORTEST, LONGEST)
        loss = model(_batch(codec, texts(rng, TOKENS // length, length)))
        optimiser.zero_grad()
        (loss.total / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
    return model.eval(), codec


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
