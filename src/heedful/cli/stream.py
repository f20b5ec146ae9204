"""Text in, text out: a line for a line, in order, with bounded memory."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heedful.errors import DataError

if TYPE_CHECKING:
    from heedful.api import Run
    from heedful.data.pairs import Pair
    from heedful.predictor import Prediction


def predict_lines(
    run: str,
    file: Path | None,
    *,
    beam: int | None,
    n_best: int,
    length_penalty: float | None,
    batch_size: int | None,
    as_json: bool,
) -> None:
    """Predict each line of `file` or of standard input, and write the answers to standard output."""
    from heedful.api.run import check_beam, load
    from heedful.cli.show import Counter, note, write
    from heedful.notes import Notes

    loaded = load(run)
    pairs_read = _pairs(file, loaded)
    width = check_beam(beam, n_best, loaded.recipe.predict.beam)
    size = loaded.recipe.predict.batch_size if batch_size is None else batch_size
    notes = Notes(loaded.codec)
    with Counter("predicting") as progress:
        for pairs in _chunks(pairs_read, 16 * size):
            answers = loaded.predictor.predict(
                pairs,
                beam_size=width,
                n_best=n_best,
                length_penalty=length_penalty,
                batch_size=size,
                with_alignment=as_json,
                progress=progress,
            )
            for pair, found in zip(pairs, answers, strict=True):
                notes.add(pair, found)
                write(_object(pair, found, n_best) if as_json else found[0].text.replace("\n", " "))
    notes.tell(note)


def align_lines(run: str, pairs: str, *, plot: Path | None, line: int, batch_size: int | None, as_json: bool) -> None:
    """Align each pair; write Pharaoh lines or JSON, and draw one pair."""
    import heedful
    from heedful.cli.show import Counter, note, write

    with Counter("aligning") as progress:
        alignments = heedful.align(run, pairs, batch_size=batch_size, progress=progress, message=note)
    if plot is not None:
        if not 1 <= line <= len(alignments):
            raise DataError(f"--line must be from 1 to {len(alignments)}, the number of pairs, got {line}")
        from heedful.look import save

        save(alignments[line - 1], plot)
        print(f"{plot} shows pair {line}", file=sys.stderr)
    for alignment in alignments:
        write(json.dumps(alignment.to_json(), ensure_ascii=False) if as_json else alignment.pharaoh())


def score_lines(run: str, pairs: str, *, length_penalty: float | None, batch_size: int | None, as_json: bool) -> None:
    """Score each pair's target; write one number a line, or JSON."""
    import heedful
    from heedful.cli.show import Counter, note, write

    with Counter("scoring") as progress:
        scored = heedful.score(
            run, pairs, length_penalty=length_penalty, batch_size=batch_size, progress=progress, message=note
        )
    for prediction in scored:
        write(json.dumps(_answer(prediction), ensure_ascii=False) if as_json else f"{prediction.score:.6f}")


def _pairs(file: Path | None, run: Run) -> Iterable[Pair]:
    """The sources to predict: numbered lines of text (only LF and CR LF end one), or JSON lines."""
    from heedful.training.train import read

    if file is not None and (not file.exists() or file.is_dir()):
        raise DataError(f"no such file: {str(file)!r}")
    if file is None and sys.stdin is None:
        raise DataError("standard input is closed; name a file")
    if file is not None and file.name.lower().removesuffix(".gz").endswith((".jsonl", ".json")):
        # A line for a line: here a bad one is always an error.
        data = run.recipe.data.model_copy(update={"bad_lines": "error"})
        return read(file, data, need_target=False).pairs
    name = str(file) if file is not None else "standard input"
    return (run.as_pair(text, line) for line, text in _decoded(name, file))


def _decoded(name: str, file: Path | None) -> Iterator[tuple[int, str]]:
    try:
        stream = sys.stdin.buffer if file is None else open(file, "rb")  # noqa: SIM115
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror or error}") from None
    with stream:
        for number, raw in enumerate(stream, start=1):
            raw = raw.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            try:
                yield number, raw.decode("utf-8")
            except UnicodeDecodeError as error:
                raise DataError(
                    f"{name}:{number}: expected UTF-8, got the byte 0x{raw[error.start]:02x} "
                    f"at offset {error.start} of the line"
                ) from None


def _chunks(pairs: Iterable[Pair], size: int) -> Iterator[list[Pair]]:
    chunk: list[Pair] = []
    for pair in pairs:
        chunk.append(pair)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


def _object(pair: Pair, found: Sequence[Prediction], n_best: int) -> str:
    answers = [_answer(prediction) for prediction in found]
    head: dict[str, Any] = {"line": pair.line, "source": pair.source}
    whole = {**head, "answers": answers} if n_best > 1 else {**head, **answers[0]}
    return json.dumps(whole, ensure_ascii=False)


def _answer(prediction: Prediction) -> dict[str, Any]:
    return {
        "text": prediction.text,
        "tokens": list(prediction.tokens),
        "score": prediction.score,
        "log_probability": prediction.log_probability,
        "token_scores": list(prediction.token_scores),
        "alignment": None if prediction.alignment is None else prediction.alignment.pharaoh(),
        "finished": prediction.finished,
    }
