"""``heedful.evaluate``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from heedful.api.run import Run, check_beam, loaded
from heedful.data.pairs import Corpus
from heedful.evaluation import Scores, evaluate_texts
from heedful.notes import Message, Notes, skipped
from heedful.predictor import Prediction, Progress
from heedful.training.train import read


def evaluate(
    run: Run | str | os.PathLike[str],
    pairs: str | os.PathLike[str],
    *,
    beam: int | None = None,
    length_penalty: float | None = None,
    batch_size: int | None = None,
    progress: Progress | None = None,
    message: Message | None = None,
) -> Scores:
    """Answer each source of `pairs` and score the answers against its targets.

    Args:
        run: a run, or its folder.
        pairs: as in `heedful.train`.
        beam: as in `heedful.predict`, as the next two.
        length_penalty: see there.
        batch_size: see there.
        progress: called with the number of sentences just done.
        message: called with what a person should know: lines skipped, symbols unknown, answers cut.

    Raises:
        RunError: the run cannot be loaded.
        DataError: the pairs cannot be read.
    """
    run = loaded(run)
    corpus = read(pairs, run.recipe.data)
    width = check_beam(beam, 1, run.recipe.predict.beam)
    penalty = run.recipe.predict.length_penalty if length_penalty is None else length_penalty
    answers = run.predictor.predict(
        corpus.pairs,
        beam_size=width,
        length_penalty=penalty,
        batch_size=batch_size,
        progress=progress,
    )
    if message is not None:
        _tell(run, corpus, answers, message)
    return evaluate_texts(
        [(pair.source, pair.tags) for pair in corpus.pairs],
        [best.text for best, *_ in answers],
        [pair.target or "" for pair in corpus.pairs],
        target_split=run.codec.target_tokeniser.split,
        search=f"beam:{width}|lp:{penalty:g}" if width > 1 else "greedy",
        token_name=run.recipe.data.target_tokens.name,
        bleu_tokenizer=run.recipe.predict.bleu_tokenizer,
    )


def _tell(run: Run, corpus: Corpus, answers: Sequence[Sequence[Prediction]], message: Message) -> None:
    notes = Notes(run.codec)
    for pair, found in zip(corpus.pairs, answers, strict=True):
        notes.add(pair, found)
    notes.tell(message)
    if text := skipped(corpus):
        message(text)
