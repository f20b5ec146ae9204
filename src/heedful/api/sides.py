"""What one run, or one file of alignments, has to show: heat maps by the lines of a file."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heedful.alignment import Alignment, load_alignments
from heedful.answers import Prediction
from heedful.api.run import Run
from heedful.api.sources import picture_of
from heedful.data.pairs import Corpus, Pair
from heedful.data.texts import normalise
from heedful.errors import DataError, RecipeError, RunError
from heedful.notes import Message, Notes, skipped
from heedful.options import ScoringOptions, option_types
from heedful.plots.picture import Picture
from heedful.plots.report import Entry, Map
from heedful.predictor import Predictor, Progress
from heedful.recipes import PredictRecipe, Recipe
from heedful.training.reading import read

Facts = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Lines:
    """Which lines are wanted: ranges, both ends with them; all where there is none."""

    ranges: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, line: int | str | Iterable[int | str]) -> Lines:
        """Of ``7``, ``"3,7-9"``, or a list of such.

        Raises:
            DataError: that is none.
        """
        if not isinstance(line, int | str | Iterable):
            raise DataError(f"line: expected numbers from 1 and ranges, as in 3,7-9, got {line!r}")
        parts = [line] if isinstance(line, int | str) else list(line)
        ranges = []
        for text in (text for part in parts for text in str(part).split(",")):
            found = re.fullmatch(r"\s*([1-9]\d{0,17})\s*(?:-\s*([1-9]\d{0,17})\s*)?", text)
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
            if first > last:
                raise DataError(f"line: expected numbers from 1 and ranges, as in 3,7-9, got {text!r}")
            ranges.append((first, last))
        return cls(tuple(ranges))

    def __contains__(self, line: int) -> bool:
        return not self.ranges or any(first <= line <= last for first, last in self.ranges)

    def check(self, name: str, last: int, shown: Iterable[int]) -> None:
        """Refuse a number behind the last line, or of a line that has nothing to show."""
        shown = set(shown)
        for first, to in self.ranges:
            if first > last:
                raise DataError(f"{name}: line must be from 1 to {last}, the number of lines, got {first}")
            if first == to and first not in shown:
                raise DataError(f"{name}: line {first} is blank or was skipped, so there is nothing to draw")


@dataclass(frozen=True)
class Wanted:
    """What is to be shown, of whichever run; see `heedful.look`.

    `most` is how many pairs a page holds, None where there is no end of it; `compared`, whether there are two sides.
    """

    pairs: str | os.PathLike[str] | None
    lines: Lines
    source: str | None
    target: str | None
    n_best: int | None
    batch_size: int | None
    search: Mapping[str, Any]
    most: int | None
    compared: bool
    progress: Progress | None
    message: Message | None

    @property
    def answers(self) -> int:
        """How many to each source."""
        return 1 if self.n_best is None else self.n_best


@dataclass(frozen=True)
class Side:
    """What there is to show.

    Attributes:
        name: of the run's folder, or of the file.
        facts: what a reader must know.
        entries: by line, those that a page has room for.
        wanted: all lines that are wanted and can be shown.
        lines: how many lines there are in all.
    """

    name: str
    facts: Facts
    entries: dict[int, Entry]
    wanted: frozenset[int]
    lines: int


def of_file(path: str | os.PathLike[str], wanted: Wanted) -> Side:
    """The alignments that were saved in `path`, the first as line 1; empty ones are left out."""
    alignments = load_alignments(path)
    filled = {line: one for line, one in enumerate(alignments, start=1) if one.weights.size}
    chosen = [line for line in filled if line in wanted.lines]
    wanted.lines.check(os.fspath(path), len(alignments), chosen)
    entries = {line: _saved(line, filled[line]) for line in chosen[: wanted.most]}
    facts = (("alignments", os.fspath(path)),)
    return Side(Path(path).name, facts, entries, frozenset(chosen), len(alignments))


def _saved(line: int, alignment: Alignment) -> Entry:
    words = source_words(alignment)
    target = alignment.target[:-1] if alignment.target_end else alignment.target
    return Entry(line, _joined(words), None, (Map(alignment, text=_joined(target)),))


def source_words(alignment: Alignment) -> list[str]:
    """The labels of the source's words, without tags and end symbol."""
    return [label for label, place in zip(alignment.source, alignment.source_positions, strict=True) if place]


def spelled(text: str) -> str:
    """What sources have in common however they are cut into tokens.

    Spaces do not count, nor does how accents are encoded, nor how often a letter beyond ASCII is repeated: labels of
    its bytes name it several times.
    """
    return re.sub(r"([^\x00-\x7f])\1+", r"\1", "".join(unicodedata.normalize("NFKC", text).split()))


def _joined(labels: Sequence[str]) -> str:
    """Labels as a line to read: letters without spaces, words with."""
    return ("" if all(len(label) == 1 for label in labels) else " ").join(labels)


def of_run(run: Run, wanted: Wanted) -> Side:
    """Where `run` looks while it writes the given targets, or its own answers."""
    if not run.predictor.model.has_attention:
        raise RunError(f"{run.folder}: its model has no attention (fusion 'none'), so there is nothing to look at")
    forced, corpus = _read(run, wanted)
    predictor = _predictor(run, wanted, forced)
    filled = [pair for pair in corpus.pairs if pair.source.strip() and pair.line in wanted.lines]
    lines = max([pair.line for pair in corpus.pairs] + [line for line, _ in corpus.skipped])
    wanted.lines.check(corpus.name, lines, (pair.line for pair in filled))
    chosen = filled[: wanted.most]
    if wanted.message is not None and (text := skipped(corpus)):
        wanted.message(text)
    answers = _answers(predictor, chosen, wanted, forced=forced)
    _tell(run, chosen, answers, wanted)
    side = run.codec.source_features
    entries = {
        pair.line: Entry(
            pair.line,
            _shown(pair),
            pair.target,
            _maps(found, wanted, None if side is None else picture_of(pair.features, side.reader)),
        )
        for pair, found in zip(chosen, answers, strict=True)
    }
    facts = _facts(run, predictor, corpus, forced=forced)
    return Side(run.folder.name or str(run.folder), facts, entries, frozenset(pair.line for pair in filled), lines)


def _shown(pair: Pair) -> str:
    second = [] if pair.second is None else ["|", pair.second]
    return " ".join([*map("[{}]".format, pair.tags), pair.source, *second])


def _read(run: Run, wanted: Wanted) -> tuple[bool, Corpus]:
    """Whether the targets are given, and the pairs."""
    data = run.recipe.data
    if wanted.source is not None:
        pair = run.as_pair(wanted.source, 1, place="source")
        given = None if wanted.target is None else normalise(wanted.target, data.normalisation)
        if not pair.source.strip() or (given is not None and not given.strip()):
            raise DataError(f"expected a text as {'target' if pair.source.strip() else 'source'}, got a blank")
        return given is not None and wanted.n_best is None, Corpus("", (pair._replace(target=given),), ())
    assert wanted.pairs is not None
    size = run.codec.features_size
    corpus = read(wanted.pairs, data, features_size=size, need_target=False)
    forced = wanted.n_best is None and any(pair.target is not None for pair in corpus.pairs)
    if forced and any(pair.target is None or not pair.source.strip() for pair in corpus.pairs):
        corpus = read(wanted.pairs, data, features_size=size)  # which refuses or skips those, as the recipe says
    if not any(pair.source.strip() for pair in corpus.pairs):
        raise DataError(f"{corpus.name}: expected at least one line to look at, got none")
    return forced, corpus


def _predictor(run: Run, wanted: Wanted, forced: bool) -> Predictor:
    """With the options of the call: those of scoring where targets are given, else all."""
    if not forced:
        return run.predictor.with_options(wanted.search, n_best=wanted.answers)
    known = option_types(ScoringOptions)
    for name, value in wanted.search.items():
        if value is not None and name in option_types() and name not in known:
            raise RecipeError(f"{name} is about answers that are searched for, but targets are given: add n_best")
    return run.predictor.with_options(wanted.search, known=ScoringOptions)


def _answers(predictor: Predictor, pairs: Sequence[Pair], wanted: Wanted, *, forced: bool) -> list[list[Prediction]]:
    if forced:
        found = predictor.force(pairs, batch_size=wanted.batch_size, progress=wanted.progress)
        return [[prediction] for prediction in found]
    return predictor.predict(
        pairs,
        n_best=wanted.answers,
        batch_size=wanted.batch_size,
        with_alignment=True,
        progress=wanted.progress,
    )


def _tell(run: Run, pairs: Sequence[Pair], answers: Sequence[Sequence[Prediction]], wanted: Wanted) -> None:
    """Say what was unknown or cut, and of which run where there are two."""
    message = wanted.message
    if message is None:
        return
    notes = Notes(run.codec)
    for pair, several in zip(pairs, answers, strict=True):
        notes.add(pair, several)
    notes.tell((lambda text: message(f"{run.folder}: {text}")) if wanted.compared else message)


def _maps(found: Sequence[Prediction], wanted: Wanted, picture: Picture | None) -> tuple[Map, ...]:
    """The answers to one source; an answer without a symbol has nothing to draw."""
    maps = []
    for place, one in enumerate(found, start=1):
        caption = f"answer {place}" if wanted.answers > 1 else ""
        both = [(one.alignment, caption, picture)]
        if one.second_alignment is not None:
            both = [
                (one.alignment, _with(caption, "source"), picture),
                (one.second_alignment, _with(caption, "second source"), None),
            ]
        maps += [
            Map(each, one.text, said, one.score, under)
            for each, said, under in both
            if each is not None and each.weights.size
        ]
    return tuple(maps)


def _with(caption: str, source: str) -> str:
    return f"{caption}, {source}" if caption else source


def _facts(run: Run, predictor: Predictor, corpus: Corpus, *, forced: bool) -> Facts:
    settings, usual = predictor.settings, PredictRecipe()
    scoring = [name for name in option_types(ScoringOptions) if getattr(settings, name) != getattr(usual, name)]
    signature = "|".join(["forced", *(f"{name}:{getattr(settings, name)}" for name in scoring)])
    return (
        ("run", str(run.folder)),
        ("model", _model(run.recipe)),
        ("targets", "as given (forced decoding)" if forced else "the model's own answers"),
        ("signature", signature if forced else predictor.signature()),
        *((("data", corpus.name),) if corpus.name else ()),
        *((("skipped", f"{len(corpus.skipped)} bad lines"),) if corpus.skipped else ()),
    )


def _model(recipe: Recipe) -> str:
    """Its attention in words."""
    model = recipe.model
    parts: Callable[[str], str] = lambda key: getattr(model, key).name  # noqa: E731
    reads = ", reads the source backwards" if recipe.data.reverse_source else ""
    return (
        f"{parts('fusion')} fusion, {parts('score')} score, {parts('scope')} scope, {parts('normaliser')}; "
        f"{model.cell}, {'bidirectional' if model.bidirectional else 'unidirectional'} encoder{reads}"
    )
