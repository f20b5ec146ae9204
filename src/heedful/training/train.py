"""Setting a training up: data, vocabularies, model, optimiser; then the loop."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from heedful.data.batches import Example
from heedful.data.codec import Codec
from heedful.data.pairs import Corpus, Pair
from heedful.data.split import split, spread
from heedful.errors import DataError, RecipeError, RunError
from heedful.model import Model
from heedful.notes import few, skipped
from heedful.recipes import DataRecipe, Recipe, TrainRecipe, load
from heedful.recipes.load import Settings
from heedful.runs import load_description, make_model, prepare_folder, save_description, save_recipe
from heedful.training.checkpoint import Store
from heedful.training.events import Reporter, Silent
from heedful.training.guide import Guide
from heedful.training.log import Log
from heedful.training.loop import Loop
from heedful.training.optimisers import make_optimiser
from heedful.training.reading import read
from heedful.training.validate import Validator, greedy_predictor


def train(
    pairs: str | os.PathLike[str],
    *,
    recipe: str | os.PathLike[str] | Recipe | None,
    out: str | os.PathLike[str],
    dev: str | os.PathLike[str] | None,
    links: str | os.PathLike[str] | None,
    set: Settings,
    resume: bool,
    overwrite: bool,
    reporter: Reporter,
) -> Path:
    """See `heedful.train`. Returns the run's folder."""
    if resume and overwrite:
        raise RunError("resume goes on with a run and overwrite throws it away; choose one")
    if resume and recipe is not None:
        raise RecipeError(
            "a run that is resumed goes on with its own recipe; leave recipe away, and change [train] by set"
        )
    described = load_description(out) if resume else None
    recipe = load(described.recipe, _only_training(set)) if described else load(recipe or "g2p", set)
    accelerator = _accelerator(recipe)
    if not accelerator.is_main_process:
        reporter = Silent()
    corpus = _corpus(pairs, recipe.data, reporter)
    guide = None if links is None else _guide(links, corpus, recipe)
    train_pairs, dev_pairs = _parts(corpus, dev, recipe.data, reporter)
    train_pairs = _short_enough(train_pairs, recipe.data, reporter)
    codec = described.codec if described else make_codec(train_pairs, recipe.data)
    # Whatever training draws, the caller's random state is as it was before.
    with torch.random.fork_rng():
        torch.manual_seed(recipe.train.seed)
        # A recipe that does not fit is told here, before anything is written.
        model = make_model(recipe, codec)
        greedy_predictor(model, codec, recipe)
        examples = encode(train_pairs, codec)
        if guide is not None:
            examples = guide.onto(examples, train_pairs, codec, model)
        if described is None and accelerator.is_main_process:
            save_description(prepare_folder(out, overwrite=overwrite), recipe, codec)
        accelerator.wait_for_everyone()
        _report_sizes(train_pairs, dev_pairs, codec, reporter)
        _report_rarity(train_pairs, codec, reporter)
        _report_guide(links, recipe, reporter)
        loop = _loop(recipe, codec, model, Path(out), train_pairs, examples, dev_pairs, accelerator, reporter)
        if resume:
            loop.restore()
            if accelerator.is_main_process:
                save_recipe(Path(out), recipe)
        loop.run()
    accelerator.wait_for_everyone()
    accelerator.end_training()  # several processes part in order; one that just left would abort the others
    return Path(out)


def _guide(links: str | os.PathLike[str], corpus: Corpus, recipe: Recipe) -> Guide:
    if recipe.data.source_features is not None:
        raise RecipeError("links guide attention to words, and where data.source_features is set a source has none")
    return Guide.read(links, corpus, precision=recipe.train.precision)


def _loop(
    recipe: Recipe,
    codec: Codec,
    model: Model,
    folder: Path,
    train_pairs: Sequence[Pair],
    examples: Sequence[Example],
    dev_pairs: Sequence[Pair],
    accelerator: Any,
    reporter: Reporter,
) -> Loop:
    reporter.message(f"{sum(p.numel() for p in model.parameters()):,} parameters on {accelerator.device}")
    wrapped, optimiser = accelerator.prepare(model, make_optimiser(model, recipe.train))
    data = {"pairs": digest(train_pairs), "development pairs": digest(dev_pairs)}
    if any(example.guide for example in examples):
        data["links"] = digest([example.guide for example in examples])
    return Loop(
        accelerator=accelerator,
        model=model,
        wrapped=wrapped,
        optimiser=optimiser,
        recipe=recipe,
        examples=examples,
        lines=[pair.line for pair in train_pairs],
        validator=Validator(codec, recipe, spread(dev_pairs, recipe.train.validation_size)),
        store=Store(folder, model, optimiser, accelerator.scaler, recipe, codec, data),
        log=Log(folder, tensorboard=recipe.train.tensorboard and accelerator.is_main_process),
        reporter=reporter,
    )


def make_codec(pairs: Sequence[Pair], data: DataRecipe) -> Codec:
    """Tokenisers and vocabularies from the training pairs."""

    def spec(part: Any) -> tuple[str, dict[str, Any]]:
        options = part.model_dump()
        return options.pop("name"), options

    return Codec.build(
        pairs,
        source_tokens=spec(data.source_tokens),
        target_tokens=spec(data.target_tokens),
        source_min_count=data.source_min_count,
        target_min_count=data.target_min_count,
        source_max_size=data.source_max_size,
        target_max_size=data.target_max_size,
        reverse_source=data.reverse_source,
        source_features=None if data.source_features is None else data.source_features.model_dump(),
        second_source_tokens=None if data.second_source_column is None else spec(data.second_source_tokens),
        segments=None if data.segments is None else spec(data.segments),
    )


def encode(pairs: Sequence[Pair], codec: Codec) -> list[Example]:
    """Ids of both sides, or the features of the source."""
    return [Example.of(pair, codec, index) for index, pair in enumerate(pairs)]


def digest(values: Iterable[Sequence[Any]]) -> str:
    """One number for the pairs, or the links of each, and their order."""
    total = hashlib.sha256()
    for value in values:
        total.update(repr((*value[:3], *value.asked[2:]) if isinstance(value, Pair) else value).encode("utf-8"))
        if isinstance(value, Pair) and value.features is not None:  # of the same name, but perhaps not the same file
            total.update(repr(value.features[1:]).encode("ascii") + value.features.values.tobytes())
    return total.hexdigest()


def _corpus(
    location: str | os.PathLike[str], data: DataRecipe, reporter: Reporter, features_size: int | None = None
) -> Corpus:
    """All pairs there; what was skipped is told."""
    corpus = read(location, data, features_size=features_size)
    if text := skipped(corpus):
        reporter.message(text)
    return corpus


def _parts(
    corpus: Corpus, dev: str | os.PathLike[str] | None, data: DataRecipe, reporter: Reporter
) -> tuple[Sequence[Pair], Sequence[Pair]]:
    """Pairs to train on and to develop on; what stands on both sides is told."""
    if dev is None:
        if data.dev_share == 0:
            raise DataError("nothing to validate on: data.dev_share is 0, and no dev pairs are given")
        return split(corpus.pairs, data.dev_share)
    train_pairs, features = corpus.pairs, corpus.pairs[0].features
    size = None if features is None else features.values.shape[1]
    dev_pairs = _corpus(dev, data, reporter, size).pairs
    known = {pair.asked for pair in train_pairs}
    if both := sum(pair.asked in known for pair in dev_pairs):
        reporter.message(f"{both:,} of {len(dev_pairs):,} development sources are trained on too")
    return train_pairs, dev_pairs


def _short_enough(pairs: Sequence[Pair], data: DataRecipe, reporter: Reporter) -> Sequence[Pair]:
    """Pairs with at most `max_length` tokens on any side, as a tokeniser that learned from all of them cuts them; of
    features so many vectors."""
    if data.max_length is None:
        return pairs
    codec = make_codec(pairs, data)
    limit = data.max_length

    def fits(pair: Pair) -> bool:
        second = [] if codec.second_tokeniser is None else codec.second_tokeniser.split(pair.second or "")
        target = codec.target_tokeniser.split(pair.target or "")
        return max(codec.source_size(pair), len(second), len(target)) <= limit

    short = [pair for pair in pairs if fits(pair)]
    if not short:
        raise DataError(f"all {len(pairs)} training pairs are longer than data.max_length = {limit} tokens")
    if len(short) < len(pairs):
        kept = {pair.line for pair in short}
        lines = few([pair.line for pair in pairs if pair.line not in kept])
        reporter.message(
            f"{len(pairs) - len(short)} pairs of more than {limit} tokens left out of training (lines {lines})"
        )
    return short


def _report_sizes(train: Sequence[Pair], dev: Sequence[Pair], codec: Codec, reporter: Reporter) -> None:
    side = codec.source_features
    source = f"{len(codec.source_vocabulary):,} source" if side is None else f"{side.size:,} features of a source"
    reporter.message(
        f"{len(train):,} pairs to train on, {len(dev):,} for development; "
        f"{source} and {len(codec.target_vocabulary):,} target symbols"
    )
    texts = [
        ("target", codec.target_vocabulary, [codec.target_tokeniser.split(pair.target or "") for pair in dev]),
    ]
    if side is None:
        split = codec.source_tokeniser.split
        texts.insert(0, ("source", codec.source_vocabulary, [split(pair.source) for pair in dev]))
    if codec.second_tokeniser is not None and codec.second_vocabulary is not None:
        split = codec.second_tokeniser.split
        texts.append(("second source", codec.second_vocabulary, [split(pair.second or "") for pair in dev]))
    for name, vocabulary, tokens in texts:
        total = sum(map(len, tokens))
        unknown = [token for row in tokens for token in vocabulary.unknown(row)]
        if unknown:
            shown = few(map(repr, sorted(set(unknown))), 5)
            reporter.message(f"{len(unknown):,} of {total:,} {name} tokens for development are unknown: {shown}")


def _report_rarity(pairs: Sequence[Pair], codec: Codec, reporter: Reporter) -> None:
    """Symbols that were not separated look like a vocabulary in which most symbols occur once."""
    counts: dict[str, int] = {}
    for pair in pairs:
        for token in codec.target_tokeniser.split(pair.target or ""):
            counts[token] = counts.get(token, 0) + 1
    once = sum(count == 1 for count in counts.values())
    if len(pairs) >= 50 and once > 0.5 * len(counts) > 0:
        reporter.message(
            f"warning: {once:,} of {len(counts):,} target symbols occur only once; is data.target_tokens right? "
            f"The first target is {pairs[0].target!r}, cut into {codec.target_tokeniser.split(pairs[0].target or '')}"
        )


def _report_guide(links: object, recipe: Recipe, reporter: Reporter) -> None:
    """One of the two that guided attention needs is of no effect without the other."""
    weight, usual = recipe.train.guided_attention, TrainRecipe.model_fields["guided_attention"].default
    if links is not None and weight == 0:
        reporter.message("warning: train.guided_attention is 0, so the links have no say")
    elif links is None and weight not in (0, usual):
        reporter.message("warning: train.guided_attention is of no effect without links")


def _only_training(settings: Settings) -> Settings:
    keys = list(settings) if isinstance(settings, dict) else [str(s).partition("=")[0] for s in settings]
    for key in keys:
        if not str(key).strip().startswith("train."):
            raise RecipeError(f"a run that is resumed may only change settings of [train], got {key!r}")
    return settings


def _accelerator(recipe: Recipe) -> Any:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    if recipe.train.tensorboard and not find_spec("tensorboard"):
        raise RecipeError("train.tensorboard needs the package tensorboard: pip install 'heedful[tensorboard]'")
    # The state is one per process and would keep an earlier training's precision.
    AcceleratorState._reset_state()
    return Accelerator(cpu=recipe.train.device == "cpu", mixed_precision=recipe.train.precision)
