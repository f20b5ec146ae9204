"""Alignments as text and in files; links of two directions as one; how well links agree with gold."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.errors import DataError

if TYPE_CHECKING:
    from heedful.alignment import Alignment, LinkScores
    from heedful.options import Convention, EnsembleAverage, LinkRule

_PHARAOH = (".txt", ".txt.gz", ".pharaoh", ".pharaoh.gz")
_WEIGHTS = (".jsonl", ".jsonl.gz", ".json", ".json.gz", ".npz")


def align_lines(
    run: str,
    pairs: str,
    *,
    links: LinkRule,
    threshold: float | None,
    posterior: bool,
    convention: Convention | None,
    words: bool,
    swap: bool,
    out: Path | None,
    plot: Path | None,
    line: int,
    batch_size: int | None,
    ensemble_average: EnsembleAverage,
    attention_temperature: float | None,
    as_json: bool,
) -> None:
    """Align each pair; write Pharaoh lines or JSON, or a file of them, and draw one pair."""
    import heedful
    from heedful.alignment.rules import check_rule
    from heedful.cli.show import Counter, note, write

    check_rule(links, threshold)
    if out is not None:
        _check_out(out, as_json=as_json, links_asked=swap or links != "argmax" or threshold is not None)
    with Counter("aligning") as progress:
        alignments = heedful.align(
            run,
            pairs,
            posterior=posterior,
            convention=convention,
            words=words,
            batch_size=batch_size,
            ensemble_average=ensemble_average,
            attention_temperature=attention_temperature,
            progress=progress,
            message=note,
        )
    if plot is not None:
        _draw(alignments, plot, line)
    as_text = partial(_text, rule=links, threshold=threshold, swap=swap)
    if out is None:
        write(*(as_text(alignment, as_json=as_json) for alignment in alignments))
    else:
        _save(alignments, out, as_text)


def _text(alignment: Alignment, *, rule: LinkRule, threshold: float | None, swap: bool, as_json: bool) -> str:
    links = alignment.pharaoh(rule, threshold=threshold, swap=swap)
    return json.dumps({**alignment.to_json(), "links": links}, ensure_ascii=False) if as_json else links


def _check_out(out: Path, *, as_json: bool, links_asked: bool) -> None:
    """Refuse at once what could not be written after all the work."""
    name = out.name.lower()
    if not name.endswith((*_PHARAOH, *_WEIGHTS)):
        raise DataError(f"--out {out}: expected a name with one of {', '.join((*_PHARAOH, *_WEIGHTS))}")
    if as_json:
        raise DataError(f"--json is for standard output; --out {out} says by its name what is written")
    if name.endswith(".npz") and links_asked:
        raise DataError(f"--out {out}: .npz holds weights and no links; take .jsonl, or leave the links' options out")
    if not out.parent.is_dir():
        raise DataError(f"--out {out}: there is no folder {str(out.parent)!r}")


def _save(alignments: Sequence[Alignment], out: Path, as_text: partial[str]) -> None:
    from heedful.alignment import save_alignments
    from heedful.alignment.files import write_text
    from heedful.cli.show import say

    name = out.name.lower()
    if name.endswith(".npz"):
        save_alignments(alignments, out)
    else:
        as_json = not name.endswith(_PHARAOH)
        write_text(out, (as_text(alignment, as_json=as_json) for alignment in alignments))
    say(f"{out} has the alignments, {len(alignments)} in all")


def _draw(alignments: Sequence[Alignment], plot: Path, line: int) -> None:
    """Draw one alignment; that a font lacks letters is told like anything else."""
    from heedful.cli.show import note, say
    from heedful.plots import save

    if not 1 <= line <= len(alignments):
        raise DataError(f"--line must be from 1 to {len(alignments)}, the number of lines, got {line}")
    if not alignments[line - 1].target:
        raise DataError(f"line {line} was skipped, so there is nothing to draw")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save(alignments[line - 1], plot)
    for warning in caught:
        note(str(warning.message))
    say(f"{plot} shows line {line}")


def link_scores_table(scores: LinkScores) -> str:
    """Each rate on a line with its signature."""
    labels = {"aer": "AER", "precision": "precision", "recall": "recall", "f1": "F1"}
    return "\n".join(
        f"{label:16}{getattr(scores, name):7.2f} %  {name}|{scores.signature}" for name, label in labels.items()
    )
