"""``heedful.diagnose``."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from heedful.alignment import read_wa
from heedful.alignment.agreement import LinkSets
from heedful.alignment.links import placed_lines
from heedful.api.links import Links, check_path, links_of, named
from heedful.api.run import Run, Runs, loaded
from heedful.data.pairs import Corpus
from heedful.data.split import spread
from heedful.diagnosis import Diagnosis, Others, Subject, examine, temperatures_of
from heedful.ensemble import Ensemble
from heedful.errors import DataError, RunError, excerpt
from heedful.model import Model
from heedful.notes import Message, skipped
from heedful.predictor import Progress, check_count
from heedful.training.reading import read

Tags = str | os.PathLike[str] | Sequence[Sequence[str]]
"""A file of tags with spaces between them, a line for a pair; or the tags of each pair."""


def diagnose(
    run: Run | Runs,
    pairs: str | os.PathLike[str],
    *,
    sure: Links | None = None,
    possible: Links | None = None,
    wa: str | os.PathLike[str] | None = None,
    links: Links | None = None,
    source_tags: Tags | None = None,
    target_tags: Tags | None = None,
    sweep: str | None = None,
    size: int | None = 500,
    batch_size: int | None = None,
    attention_temperature: float | None = None,
    progress: Progress | None = None,
    message: Message | None = None,
) -> Diagnosis:
    """Whether attention is healthy: measures over the pairs, experiments on the model, and a verdict in words.

    See docs/diagnose.md for the measures, the verdicts and how far they can be trusted. Links and tags are of words: of
    tokens, or of what stands between white space where tokens are pieces of words (BPE).

    Args:
        run: a run's folder, or a loaded run; one model, no ensemble.
        pairs: as in `heedful.train`; best ones that were not trained on.
        sure: gold links that must be there: a Pharaoh file, a line for a pair; or the links of each pair.
        possible: gold links that may be there, in the same form.
        wa: gold of both kinds in the format of NAACL 2003: see `heedful.alignment.read_wa`.
        links: the links of a statistical aligner, in the same form as `sure`.
        source_tags: the parts of speech of the source's words.
        target_tags: and of the target's, in the same tag set.
        sweep: ``"attention_temperature"``, to measure at several of them; ``"attention_temperature=0.5,1,2"`` at these.
        size: at most so many pairs, evenly spread; None for all.
        batch_size: as in `heedful.predict`.
        attention_temperature: see `heedful.options.SearchOptions`.
        progress: called with the number of sentences just done; each is looked at a dozen times or more.
        message: called with what a person should know: lines that were skipped, and how many pairs were left out.

    Raises:
        RunError: the run cannot be loaded, has no attention, or is an ensemble.
        DataError: pairs, links or tags cannot be read, or do not fit together.
        RecipeError: there is no such temperature, or nothing of that name to sweep.
    """
    check_count("size", 1 if size is None else size, most=None)
    if not isinstance(sweep, str | None):
        raise DataError(f"sweep: expected a text such as 'attention_temperature=0.5,1,2', got {excerpt(sweep)}")
    temperatures = temperatures_of(sweep)
    check_path(pairs, "pairs", "a file of pairs or the name of a built-in corpus")
    run = loaded(run)
    predictor = run.predictor.with_options({"attention_temperature": attention_temperature})
    model = _one_model(run, predictor.model)
    corpus = read(pairs, run.recipe.data, features_size=run.codec.features_size)
    places = spread(range(len(corpus.pairs)), size)
    if message is not None:
        for text in filter(None, (skipped(corpus), _left_out(corpus, places))):
            message(text)
    others = _others(corpus, places, sure, possible, wa, links, source_tags, target_tags)
    subject = Subject(
        model,
        run.codec,
        predictor.settings,
        [corpus.pairs[place] for place in places],
        predictor.settings.batch_size if batch_size is None else batch_size,
        run.recipe.data.normalisation,
        progress,
    )
    return examine(subject, others, temperatures=temperatures)


def _one_model(run: Run, model: Any) -> Model:
    if isinstance(model, Ensemble):
        raise RunError(
            "expected one run to diagnose, got several; each has its own attention: diagnose them one by one"
        )
    if not model.has_attention:
        raise RunError(f"{run.folder}: its model has no attention (fusion 'none'), so there is nothing to diagnose")
    return model


def _left_out(corpus: Corpus, places: Sequence[int]) -> str | None:
    if len(places) == len(corpus.pairs):
        return None
    return f"{len(places)} of {len(corpus.pairs)} pairs looked at, evenly spread; size sets how many"


def _others(
    corpus: Corpus,
    places: Sequence[int],
    sure: Links | None,
    possible: Links | None,
    wa: str | os.PathLike[str] | None,
    links: Links | None,
    source_tags: Tags | None,
    target_tags: Tags | None,
) -> Others:
    """What there is about each of the pairs at `places`."""
    if (wa is not None and sure is not None) or (possible is not None and sure is None):
        raise DataError("expected gold links either as sure, with possible if there are any, or as wa")
    if (source_tags is None) != (target_tags is None):
        raise DataError("expected tags of both sides or of none: source_tags and target_tags go together")
    lines = [corpus.pairs[place].line for place in places]
    count = len(corpus.pairs) + len(corpus.skipped)

    def chosen(given: Any, read_it: Callable[..., Any], what: str) -> Any:
        if given is None:
            return None
        entries = read_it(given, what=what)
        if len(entries) != count:
            raise DataError(
                f"{named(given, what)}: expected {count} lines, one for each of {corpus.name}, got {len(entries)}"
            )
        return [entries[line - 1] for line in lines]

    must, may = (sure, possible) if wa is None else _read_wa(wa, corpus, count)
    files = {"sure": sure, "possible": possible, "links": links, "source_tags": source_tags, "target_tags": target_tags}
    return Others(
        chosen(must, links_of, "sure"),
        chosen(may, links_of, "possible"),
        chosen(links, links_of, "links"),
        chosen(source_tags, _tags_of, "source_tags"),
        chosen(target_tags, _tags_of, "target_tags"),
        _places(files, wa),
    )


def _places(files: Mapping[str, object], wa: str | os.PathLike[str] | None) -> dict[str, str]:
    """What stands before the number of a line, where something in it is wrong: the names of those that are files."""
    places = {name: f"{os.fspath(file)}:" for name, file in files.items() if isinstance(file, str | os.PathLike)}
    return places if wa is None else places | dict.fromkeys(("sure", "possible"), f"{os.fspath(wa)}, sentence ")


def _read_wa(path: str | os.PathLike[str], corpus: Corpus, count: int) -> tuple[LinkSets, LinkSets]:
    check_path(path, "wa", "a file of gold links in the format of NAACL 2003")
    must, may = read_wa(path, sentences=count)
    if len(must) != count:
        raise DataError(
            f"{os.fspath(path)}: expected gold for each of the {count} lines of {corpus.name}, got it for {len(must)} "
            f"sentences; where the last has no links, say so with the line '{count} 0 0'"
        )
    return must, may


def _tags_of(tags: Tags, *, what: str) -> Sequence[Sequence[str]]:
    if isinstance(tags, str | os.PathLike):
        return [line.split() for _, line in placed_lines(tags)]
    return tags
