"""``heedful.align``."""

from __future__ import annotations

import os

from heedful.alignment import Alignment
from heedful.api.links import check_path
from heedful.api.run import Run, Runs, loaded
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from heedful.data.tokens import Tokeniser
from heedful.errors import RunError, SizeError
from heedful.notes import Message, skipped
from heedful.options import Convention, EnsembleAverage, ScoringOptions
from heedful.predictor import Progress
from heedful.training.reading import read


def align(
    run: Run | Runs,
    pairs: str | os.PathLike[str],
    *,
    posterior: bool = False,
    convention: Convention | None = None,
    words: bool = False,
    second: bool = False,
    batch_size: int | None = None,
    ensemble_average: EnsembleAverage = "probabilities",
    attention_temperature: float | None = None,
    progress: Progress | None = None,
    message: Message | None = None,
) -> list[Alignment]:
    """Where the model looks while it writes the given targets (forced decoding), pair by pair.

    Where the run's ``data.bad_lines`` lets a line be skipped, its alignment is empty. An `Alignment` tells its links by
    several rules (`Alignment.links`, `Alignment.pharaoh`); `heedful.alignment.save_alignments` writes them all.

    Args:
        run: as in `heedful.predict`.
        pairs: as in `heedful.train`.
        posterior: tell where each word came from now that it is known, rather than where the model looked before it
            wrote it: by Bayes' rule, see `heedful.model.posterior.posterior`. Slower, and usually the better links.
        convention: read the rows as about the "predicted" or the "input" word, instead of as the model says: see
            `Alignment.read_as`.
        words: merge the pieces of words, on each side whose tokens are pieces (BPE, characters, graphemes), and leave
            tags and end symbols out: see `Alignment.words`.
        second: tell where it looks in the second source, where the model looks at two.
        batch_size: as in `heedful.predict`, as the next two.
        ensemble_average: see there.
        attention_temperature: see there.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines that were skipped.

    Raises:
        RunError: the run cannot be loaded, or its model has no attention, or none to a second source.
        DataError: the pairs cannot be read.
        SizeError: there is no such convention, or one is asked for beside `posterior`, or the second source is.
    """
    import numpy as np

    if posterior and convention is not None:
        raise SizeError("posterior alignments are always about the predicted word; leave convention out")
    if posterior and second:
        raise SizeError("posterior alignments are those to the first source; leave second or posterior out")
    check_path(pairs, "pairs", "a file of pairs or the name of a built-in corpus")
    run = loaded(run, ensemble_average)
    if not run.predictor.model.has_attention:
        raise RunError(f"{run.folder}: its model has no attention (fusion 'none'), so there is nothing to align")
    if second and run.recipe.model.second not in ("concat", "gate"):
        raise RunError(
            f"{run.folder}: its model does not look at a second source; that of model.second = 'concat' or 'gate' does"
        )
    if convention == "input" and run.codec.has_label:
        raise SizeError(
            f"{run.folder}: convention 'input' does not go with data.target_tokens = 'label': the one row is about the "
            "label, since no word is read before it"
        )
    nothing = Alignment.of((), (), np.zeros((0, 0)))  # of a line that was skipped
    if convention is not None:
        nothing.read_as(convention)  # refused before the work, if there is none of that name
    predictor = run.predictor.with_options({"attention_temperature": attention_temperature}, known=ScoringOptions)
    corpus = read(pairs, run.recipe.data, features_size=run.codec.features_size)
    if message is not None and (text := skipped(corpus)):
        message(text)
    forced = predictor.force(corpus.pairs, batch_size=batch_size, posterior=posterior, progress=progress)
    # A line for a line: what was skipped has nothing.
    by_line = dict.fromkeys((line for line, _ in corpus.skipped), nothing)
    for pair, prediction in zip(corpus.pairs, forced, strict=True):
        alignment = (prediction.second_alignment if second else prediction.alignment) or nothing
        if convention is not None:
            alignment = alignment.read_as(convention)
        by_line[pair.line] = _in_words(alignment, pair, run.codec, second=second) if words else alignment
    return [by_line[line] for line in sorted(by_line)]


def _in_words(alignment: Alignment, pair: Pair, codec: Codec, *, second: bool) -> Alignment:
    """The same over words; those of the texts are the labels."""
    tokeniser, text = (codec.second_tokeniser, pair.second) if second else (codec.source_tokeniser, pair.source)
    assert tokeniser is not None
    source, target = _in_pieces(tokeniser), _in_pieces(codec.target_tokeniser)
    if not source and not target:
        return alignment.without_special()
    side = "both" if source and target else "source" if source else "target"
    return alignment.words(side=side, source_text=text, target_text=pair.target)


def _in_pieces(tokeniser: Tokeniser) -> bool:
    """Whether its tokens are pieces of a text, spaces too, rather than the words of it, or all of it."""
    labels = tokeniser.labels("a b")
    return len(labels) > 1 and "".join(labels) == "a b"
