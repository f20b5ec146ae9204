"""``heedful.trace``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from heedful.api.run import Run, Runs, loaded
from heedful.data.batches import Example, collate
from heedful.data.codec import END_LABEL
from heedful.data.pairs import Pair
from heedful.data.texts import normalise
from heedful.data.vocabulary import UNKNOWN_LABEL, Vocabulary
from heedful.ensemble import Ensemble
from heedful.errors import DataError, RecipeError, RunError, excerpt
from heedful.model import Model
from heedful.tracing.follow import TOLERANCES, follow, in_precision

if TYPE_CHECKING:
    from heedful.tracing import Trace


def trace(
    run: Run | Runs,
    source: str,
    target: str | None = None,
    *,
    step: int = 1,
    attention_temperature: float | None = None,
    dtype: Literal["float64", "float32"] = "float64",
) -> Trace:
    """Every tensor of one decoding step in the paper's order and letters, and the step recomputed by NumPy alone.

    The numbers are the model's own. Beside each stands what its equation gives, in float64 and without PyTorch, from
    the other numbers and the weights; `Trace.agrees` says whether they are the same, ``trace["alpha"].value`` is one.

    Args:
        run: a run or its folder: see `heedful.load`; of one model.
        source: as one of the texts of `heedful.predict`; one JSON line where the recipe takes its tags from JSON.
        target: what is to be written; by default the model's own greedy answer, under the recipe's rules for answers.
        step: which symbol of the target is being written, from 1; the end symbol's step is the last.
        attention_temperature: of the attention weights, by default the recipe's.
        dtype: the precision to compute in; the weights are converted on a copy.

    Raises:
        RunError: the run cannot be loaded, or is an ensemble.
        DataError: the source is blank or lacks its columns, or there is no such step.
        RecipeError: an option does not fit the run.
    """
    run = loaded(run)
    model = _model(run, attention_temperature, dtype)
    if run.codec.source_features is not None:
        raise RunError(
            f"{run.folder}: a trace begins with the symbols of a text, and the sources of this run are features; "
            "look and diagnose tell of its attention"
        )
    if run.recipe.model.second is not None:
        raise RunError(
            f"{run.folder}: a trace follows one source, and this run has a second one "
            f"(model.second = {run.recipe.model.second!r}); look and diagnose tell of its attention"
        )
    pair = _pair(run, source, target)
    encoded = run.codec.encode_source(pair.source, pair.tags)
    notes = _notes(run, pair)
    if pair.target is None:
        symbols = _greedy(run, model, Example(encoded, None, 0))
        labels = run.codec.target_labels(symbols)
        if Vocabulary.END not in symbols and not run.codec.has_label:
            notes.append(f"the answer is cut at its longest, {len(symbols)} symbols, before its end symbol")
    else:
        symbols, labels = run.codec.encode_target(pair.target), run.codec.target_labels_of(pair.target)
    if not isinstance(step, int) or not 1 <= step <= len(symbols):
        raise DataError(
            f"step: expected 1 to {len(symbols)}, the symbols of the target {excerpt(' '.join(labels))}, got {step!r}"
        )
    vocabulary = run.codec.target_vocabulary
    return follow(
        model,
        encoded,
        symbols,
        step=step,
        target=labels,
        vocabulary=["(pad)", "(start)", END_LABEL, UNKNOWN_LABEL, *vocabulary.tokens(range(4, len(vocabulary)))],
        forced=pair.target is not None,
        notes=notes,
        dtype=dtype,
    )


def _model(run: Run, temperature: float | None, dtype: str) -> Model:
    if dtype not in TOLERANCES:
        raise RecipeError(f"dtype: expected one of {', '.join(TOLERANCES)}, got {dtype!r}")
    options = {} if temperature is None else {"attention_temperature": temperature}
    model = run.predictor.with_options(options).model
    if isinstance(model, Ensemble):
        raise RunError(f"a trace follows one model, got an ensemble of {len(model.models)}; trace each run alone")
    assert isinstance(model, Model)
    return in_precision(model, dtype)  # pyright: ignore[reportArgumentType]


def _pair(run: Run, source: str, target: str | None) -> Pair:
    """The texts as the run's data would have them."""
    for name, text in (("source", source), ("target", target)):
        if not isinstance(text, str | None) or (name == "source" and text is None):
            raise DataError(f"{name}: expected a text, got {excerpt(text)}")
    data = run.recipe.data
    from_json = bool(data.tag_columns) and isinstance(data.source_column, str)
    read = run.as_json_pair if from_json else run.as_pair
    pair = read(source, 1, place="source")
    if not pair.source.strip():
        raise DataError(f"source: expected a text, got a blank: {excerpt(source)}")
    return Pair(pair.source, None if target is None else normalise(target, data.normalisation), pair.tags, 1)


def _greedy(run: Run, model: Model, example: Example) -> list[int]:
    """The symbols of the model's own answer, the end symbol last if it is reached."""
    from heedful.search import greedy

    sequences = collate([example]).sources[0]
    memory, state = model.begin(sequences)
    decoding = run.predictor.decoding
    found = greedy(model.step, memory, state, rules=decoding.rules(sequences))[0]
    if not found:
        raise RunError(f"{run.folder}: no answer has a finite probability; are the run's weights damaged?")
    (best,) = found
    symbols = [*best.tokens, *[Vocabulary.END] * best.finished]
    if not symbols:
        raise RunError(f"{run.folder}: the recipe's rules for answers leave this source none")
    return symbols


def _notes(run: Run, pair: Pair) -> list[str]:
    """What a person should know about the texts."""
    codec, notes = run.codec, []
    for side, text, tokeniser, vocabulary in (
        ("source", pair.source, codec.source_tokeniser, codec.source_vocabulary),
        ("target", pair.target or "", codec.target_tokeniser, codec.target_vocabulary),
    ):
        tokens = tokeniser.split(text)
        if unknown := list(dict.fromkeys(vocabulary.unknown(tokens))):
            notes.append(
                f"{side} tokens that were never seen in training are read as unknown: {excerpt(unknown)[1:-1]}"
            )
        limit = run.recipe.data.max_length
        if limit is not None and len(tokens) > limit:
            notes.append(f"the {side} has {len(tokens)} tokens; in training none had more than {limit}")
    if codec.reverse_source:
        notes.append("the model reads the source from its last word to its first; places are those of the text")
    return notes
