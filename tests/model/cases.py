"""Tiny models with weights that matter, and batches of random sentences. All sizes are different primes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from grid import possible, unused
from heedful.attention import normalisers, scopes, scores
from heedful.data.batches import Batch, Sequences
from heedful.data.vocabulary import Vocabulary
from heedful.model import Model, Steps, build, fusions
from heedful.registry import Registry
from heedful.tensors import map_tensors

CELLS = ("gru", "lstm", "paper_gru")

SIZES = {
    "source_vocabulary_size": 29,
    "target_vocabulary_size": 23,
    "embedding_size": 5,
    "encoder_size": 7,
    "decoder_size": 11,
}

FUSIONS: dict[str, dict[str, Any]] = {
    "none": {"fusion": "none"},
    "none_start_only": {"fusion": {"name": "none", "every_step": False}},
    "early": {"fusion": "early"},
    "late": {},
    "late_feeding": {"input_feeding": True},
    "late_gate": {"combine": "gate"},
    "late_gate_feeding": {"combine": "gate", "input_feeding": True},
    "late_wide": {"input_feeding": True, "attentional_size": 13},
}
FUSIONS |= {
    name: {"fusion": name}
    for name in unused(fusions.names(), [given.get("fusion", "late") for given in FUSIONS.values()])
}
for _name in [name for name in FUSIONS if name.startswith("late")]:
    FUSIONS[_name] = {"fusion": {"name": "late", **FUSIONS[_name]}, "readout": "attentional"}

LOCAL_M = {"name": "local_m", "window": 2}
LOCAL_P = {"name": "local_p", "window": 2}
# Every score, scope and normaliser, each pair of them at least once.
ATTENTIONS: list[dict[str, Any]] = [
    {"score": {"name": "additive", "attention_size": 17}, "scope": "global", "normaliser": "softmax"},
    {"score": {"name": "additive", "bias": True}, "scope": LOCAL_M, "normaliser": "sparsemax"},
    {"score": "additive", "scope": LOCAL_P, "normaliser": "entmax15"},
    {"score": "concat", "scope": "global", "normaliser": "sparsemax"},
    {"score": "concat", "scope": {"name": "local_m", "window": 1}, "normaliser": "entmax15"},
    {"score": {"name": "concat", "attention_size": 3}, "scope": LOCAL_P, "normaliser": "softmax"},
    {"score": "general", "scope": "global", "normaliser": "entmax15"},
    {"score": "general", "scope": {"name": "local_m", "window": 3}, "normaliser": "softmax"},
    {"score": "general", "scope": {"name": "local_p", "attention_size": 3}, "normaliser": "sparsemax"},
    {"score": "location", "scope": "global", "normaliser": {"name": "softmax", "temperature": 0.7}},
    {"score": {"name": "location", "max_positions": 3}, "scope": "local_m", "normaliser": "sparsemax"},
    {"score": "location", "scope": LOCAL_P, "normaliser": "entmax15"},
    {"score": "linear", "scope": "global", "normaliser": "softmax"},
    {"score": {"name": "linear", "feature_map": "exp"}, "scope": "global", "normaliser": "softmax"},
    {"score": "dot", "decoder_size": 14, "scope": LOCAL_P, "normaliser": "softmax"},
    {"score": "dot", "decoder_size": 14, "scope": "global", "normaliser": "sparsemax"},
    {"score": "dot", "decoder_size": 14, "scope": "local_m", "normaliser": "entmax15"},
    {"score": "scaled_dot", "decoder_size": 14, "scope": "global", "normaliser": "softmax"},
    {"score": "scaled_dot", "decoder_size": 14, "scope": "local_m", "normaliser": "sparsemax"},
    {"score": "scaled_dot", "decoder_size": 14, "scope": "local_p", "normaliser": "entmax15"},
]


def _with_the_rest(given: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """And each registered part that is in none of them, beside the first others that it goes with."""
    kinds = {"score": scores, "scope": scopes, "normaliser": normalisers}
    for kind, registry in kinds.items():
        for name in unused(registry.names(), [options[kind] for options in given]):
            axes = [[name] if other == kind else _usual_first(its) for other, its in kinds.items()]
            together = (dict(zip(kinds, names, strict=True)) for names in itertools.product(*axes))
            fits = (
                one
                for one in together
                if possible(lambda options=one: build(**{**SIZES, "fusion": "early", **options}))
            )
            given = [*given, next(fits)]
    return given


def _usual_first(registry: Registry[Any]) -> list[str]:
    return sorted(registry.names(), key=lambda name: name not in ("general", "global", "softmax"))


ATTENTIONS = _with_the_rest(ATTENTIONS)


def name_of(options: dict[str, Any] | str) -> str:
    """A test id from options: the names of the parts. A name is one."""
    if isinstance(options, str):
        return options
    values = (value["name"] if isinstance(value, dict) else value for value in options.values())
    return "-".join(map(str, values))


def randomise(module: nn.Module, *, seed: int = 0, scale: float = 0.5) -> None:
    """Every parameter normal, so that no zero or orthogonal start hides a fault."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * scale)


def make(*, seed: int = 0, scale: float = 0.5, **options: Any) -> Model:
    """A tiny model in float64, in evaluation mode, all of its parameters random."""
    model = build(**{**SIZES, **options}).double().eval()
    randomise(model, seed=seed, scale=scale)
    return model


def soft(model: Model) -> Model:
    """A normaliser that walks in evaluation, where it has no gradient, takes expectations instead, and without noise in
    training; others are left as they are."""
    if model.attention is not None and model.attention.core.normaliser.walks:
        normaliser: Any = model.attention.core.normaliser
        normaliser.soft, normaliser.noise = True, 0.0
    return model


def listen(model: Model) -> None:
    """Of a decoder without recurrence, random parameters make most of its own words: so it hears the source louder, and
    ends more readily. Others are left as they are."""
    fusion = model.decoder.fusion
    if not fusion.recurrent:
        with torch.no_grad():
            for name, parameter in fusion.named_parameters():
                if name in ("attention.output_projection.weight", "combine.weight"):
                    parameter.mul_(4.0)
            model.decoder.output.bias[Vocabulary.END] += 5.0  # pyright: ignore


def sequences(rows: Sequence[Sequence[int]], *, positions: bool = False, extra: int = 0) -> Sequences:
    """Rows of ids, padded to the longest and `extra` more. Words count from 1; END has no position."""
    width = max(map(len, rows)) + extra
    tokens = torch.full((len(rows), width), Vocabulary.PAD)
    places = torch.zeros_like(tokens)
    mask = torch.zeros(tokens.shape, dtype=torch.bool)
    for index, row in enumerate(rows):
        tokens[index, : len(row)] = torch.tensor(row)
        mask[index, : len(row)] = True
        words = [place + 1 if word != Vocabulary.END else 0 for place, word in enumerate(row)]
        places[index, : len(row)] = torch.tensor(words)
    segments = (places + 2) // 3  # words in threes
    return Sequences(tokens, mask, places, segments) if positions else Sequences(tokens, mask, torch.zeros_like(places))


def words(length: int, size: int, generator: torch.Generator) -> list[int]:
    """`length` ids that end in END; a single id is END alone for a target or one word for a source."""
    drawn = torch.randint(Vocabulary.UNKNOWN, size, (length,), generator=generator).tolist()
    return [*drawn[:-1], Vocabulary.END]


def rows_of(lengths: Sequence[int], size: int, *, seed: int = 0) -> list[list[int]]:
    """A row of ids for each length."""
    generator = torch.Generator().manual_seed(seed)
    return [words(length, size, generator) for length in lengths]


def batch_of(
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    extra_source: int = 0,
    extra_target: int = 0,
) -> Batch:
    """Rows of ids as a batch, with so many columns of padding more than it needs."""
    source = sequences(sources, positions=True, extra=extra_source)
    return Batch((source,), sequences(targets, extra=extra_target), tuple(range(len(sources))))


def random_batch(
    source_lengths: Sequence[int] = (5, 2, 7),
    target_lengths: Sequence[int] = (3, 6, 4),
    *,
    seed: int = 0,
) -> Batch:
    """A batch of random sentences of the given lengths, END counted."""
    sources = rows_of(source_lengths, SIZES["source_vocabulary_size"], seed=seed)
    targets = rows_of(target_lengths, SIZES["target_vocabulary_size"], seed=seed + 1)
    return batch_of(sources, targets)


def inputs_of(batch: Batch) -> Tensor:
    """What teacher forcing reads: the start symbol, then all target tokens but the last."""
    assert batch.target is not None
    tokens = batch.target.tokens
    return torch.cat([torch.full_like(tokens[:, :1], Vocabulary.START), tokens[:, :-1]], dim=1)


def unrolled(model: Model, batch: Batch) -> tuple[Tensor, Steps]:
    """Logits (B, T, Y) and what the steps leave behind, under teacher forcing."""
    memory, state = model.begin(*batch.sources)
    steps = model.decoder.unroll(inputs_of(batch), memory, state)
    return model.decoder.logits(steps), steps


def one(batch: Batch, index: int) -> Batch:
    """Sentence `index` alone, without its padding."""
    assert batch.target is not None
    parts = []
    for part in (*batch.sources, batch.target):
        length = int(part.mask[index].sum())
        parts.append(map_tensors(lambda tensor, end=length: tensor[index : index + 1, :end], part))
    *sources, target = parts
    return Batch(tuple(sources), target, (index,))


def close(actual: Tensor | None, expected: Tensor | None, *, tolerance: float = 1e-10) -> None:
    """Equal up to rounding, in shape and type too."""
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)
