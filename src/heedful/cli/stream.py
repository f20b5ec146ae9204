"""Text in, text out: a line for a line, in order, with bounded memory."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from heedful.errors import DataError

if TYPE_CHECKING:
    from io import BufferedIOBase

    from heedful.alignment import Alignment
    from heedful.answers import Prediction
    from heedful.api.run import Run
    from heedful.data.codec import Codec
    from heedful.data.pairs import Pair
    from heedful.notes import Notes
    from heedful.options import EnsembleAverage, ScoringOptions, SearchOptions

_AHEAD = 16
"""Batches that are read ahead: sentences of one length are then found to be answered together."""


def predict_lines(
    run: str,
    file: Path | None,
    *,
    n_best: int,
    batch_size: int | None,
    ensemble_average: EnsembleAverage,
    as_json: bool,
    with_weights: bool,
    search: SearchOptions,
) -> None:
    """Predict each line of `file` or of standard input, and write the answers to standard output as they come."""
    from heedful.api.run import load
    from heedful.cli.show import Counter, check_output, write

    check_output()
    loaded = load(run, ensemble_average=ensemble_average)
    size = loaded.recipe.predict.batch_size if batch_size is None else batch_size
    answer = partial(
        loaded.predictor.with_options(search, n_best=n_best).predict,
        n_best=n_best,
        batch_size=size,
        with_alignment=as_json,
    )
    answer([])  # an option that makes no sense is refused before anything is read
    with _noted(loaded.codec) as notes, Counter("predicting", shown=not _typed(file)) as progress:
        ahead = _AHEAD if loaded.codec.source_features is None else 1  # files are larger than lines
        for pairs in _chunks(file, loaded, ahead * size):
            answers = answer(pairs, progress=progress)
            for pair, found in zip(pairs, answers, strict=True):
                notes.add(pair, found)
            if as_json:
                write(*(_object(*each, n_best, with_weights) for each in zip(pairs, answers, strict=True)))
            else:
                write(*(one_line(best.text) for best, *_ in answers))


def one_line(text: str) -> str:
    """`text` with a space for each line break (LF, CR LF or CR), which would be the end of a line of output."""
    return re.sub("\r\n?|\n", " ", text)


def score_lines(
    run: str,
    pairs: str,
    *,
    batch_size: int | None,
    ensemble_average: EnsembleAverage,
    as_json: bool,
    scoring: ScoringOptions,
) -> None:
    """Score each pair's target; write one number a line, or JSON."""
    import heedful
    from heedful.cli.show import Counter, note, write

    with Counter("scoring") as progress:
        scored = heedful.score(
            run,
            pairs,
            batch_size=batch_size,
            ensemble_average=ensemble_average,
            with_alignment=as_json,
            progress=progress,
            message=note,
            **scoring,
        )
    for prediction in scored:
        # The end symbol has a score even where nothing else has: without any, the line was skipped.
        scored_line = bool(prediction.token_scores)
        if as_json:
            none = {} if scored_line else {"score": None, "log_probability": None}
            write(json.dumps({**_answer(prediction), **none}, ensure_ascii=False))
        else:
            write(f"{prediction.score:.6f}" if scored_line else "")


@contextmanager
def _noted(codec: Codec) -> Iterator[Notes]:
    """Notes that are told at the end, also where that is an error or Ctrl-C; but not where nobody reads any more."""
    from heedful.cli.show import note
    from heedful.notes import Notes

    notes = Notes(codec)
    try:
        yield notes
    except BrokenPipeError:
        raise SystemExit(0) from None
    except SystemExit:  # the same, found out by writing
        raise
    except BaseException:
        notes.tell(note)
        raise
    notes.tell(note)


def _typed(file: Path | None) -> bool:
    """Whether a person types the lines or reads the answers as they come: a bar would be in the way."""
    return sys.stdout.isatty() or (file is None and sys.stdin is not None and sys.stdin.isatty())


def _chunks(file: Path | None, run: Run, most: int) -> Iterator[Sequence[Pair]]:
    """The sources to predict as they come, at most `most` at once: lines of text, or JSON lines."""
    from heedful.cli.chunks import read_chunks
    from heedful.cli.show import output_descriptor

    name = str(file) if file is not None else "standard input"
    is_json = name.lower().removesuffix(".gz").endswith((".jsonl", ".json"))
    read = run.as_json_pair if is_json else run.as_pair
    folder = "" if file is None else str(file.parent)

    def parse(text: str, number: int) -> Pair:
        return read(text, number, place=f"{name}:{number}", folder=folder)

    with _opened(file) as stream:
        yield from read_chunks(stream, name, parse, most=most, output=output_descriptor())


def _opened(file: Path | None) -> AbstractContextManager[BufferedIOBase]:
    """`file`, or standard input, which is not closed."""
    if file is None:
        if sys.stdin is None:
            raise DataError("standard input is closed; name a file")
        return nullcontext(cast("BufferedIOBase", sys.stdin.buffer))
    if file.is_dir():
        raise DataError(f"{file}: expected a file, got a folder")
    try:
        return open(file, "rb")
    except FileNotFoundError:
        raise DataError(f"no such file: {str(file)!r}") from None
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror or error}") from None


def _object(pair: Pair, found: Sequence[Prediction], n_best: int, with_weights: bool) -> str:
    answers = [_answer(prediction, with_weights=with_weights) for prediction in found]
    second = {} if pair.second is None else {"second_source": pair.second}
    head: dict[str, Any] = {"line": pair.line, "source": pair.source, **second}
    whole = {**head, "answers": answers} if n_best > 1 else {**head, **answers[0]}
    return json.dumps(whole, ensure_ascii=False)


def _answer(prediction: Prediction, *, with_weights: bool = False) -> dict[str, Any]:
    alignment = prediction.alignment
    weights = {"weights": None if alignment is None else alignment.to_json()} if with_weights else {}
    return {
        "text": prediction.text,
        "tokens": list(prediction.tokens),
        "score": prediction.score,
        "log_probability": prediction.log_probability,
        "token_scores": list(prediction.token_scores),
        "alignment": None if alignment is None else alignment.pharaoh(),
        **weights,
        **_second(prediction.second_alignment, with_weights=with_weights),
        "finished": prediction.finished,
    }


def _second(alignment: Alignment | None, *, with_weights: bool) -> dict[str, Any]:
    """Of a model that looks at two sources."""
    if alignment is None:
        return {}
    weights = {"second_weights": alignment.to_json()} if with_weights else {}
    return {"second_alignment": alignment.pharaoh(), **weights}
