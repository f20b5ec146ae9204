"""Alignments as text and in files; links of two directions as one; how well links agree with gold."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from heedful.errors import DataError

if TYPE_CHECKING:
    from heedful.alignment import Alignment, LinkScores
    from heedful.options import Convention, EnsembleAverage, LinkRule
    from heedful.plots import Picture

_PHARAOH = (".txt", ".txt.gz", ".pharaoh", ".pharaoh.gz")


def align_lines(
    run: str,
    pairs: str,
    *,
    links: LinkRule,
    threshold: float | None,
    posterior: bool,
    convention: Convention | None,
    words: bool,
    second: bool,
    swap: bool,
    out: Path | None,
    plot: Path | None,
    line: int | None,
    batch_size: int | None,
    ensemble_average: EnsembleAverage,
    attention_temperature: float | None,
    as_json: bool,
) -> None:
    """Align each pair; write Pharaoh lines or JSON, or a file of them, and draw one pair."""
    import heedful
    from heedful.alignment.files import JSON_LINES
    from heedful.alignment.rules import check_rule
    from heedful.api.sources import picture_of_line
    from heedful.cli.show import Counter, note, write

    check_rule(links, threshold)
    _check_plot(plot, line)
    if swap and (as_json or (out is not None and out.name.lower().endswith(JSON_LINES))):
        raise DataError("--swap turns links, but not the weights that JSON has beside them: leave one of the two out")
    if out is not None:
        _check_out(out, as_json=as_json, links_asked=swap or links != "argmax" or threshold is not None)
    loaded = heedful.load(run, ensemble_average=ensemble_average)
    with Counter("aligning") as progress:
        alignments = heedful.align(
            loaded,
            pairs,
            posterior=posterior,
            convention=convention,
            words=words,
            second=second,
            batch_size=batch_size,
            attention_temperature=attention_temperature,
            progress=progress,
            message=note,
        )
    if plot is not None:
        drawn = 1 if line is None else line
        _draw(alignments, plot, drawn, None if second else partial(picture_of_line, loaded, pairs))
    as_text = partial(_text, rule=links, threshold=threshold, swap=swap, posterior=posterior)
    if out is None:
        write(*(as_text(alignment, as_json=as_json) for alignment in alignments))
    else:
        _save(alignments, out, as_text)


def _text(
    alignment: Alignment, *, rule: LinkRule, threshold: float | None, swap: bool, posterior: bool, as_json: bool
) -> str:
    links = alignment.pharaoh(rule, threshold=threshold, swap=swap)
    if not as_json:
        return links
    more = {"posterior": True} if posterior else {}
    return json.dumps({**alignment.to_json(), "links": links, **more}, ensure_ascii=False)


def _check_plot(plot: Path | None, line: int | None) -> None:
    from heedful.plots.heatmap import SUFFIXES

    if plot is None:
        if line is not None:
            raise DataError("--line says which pair --plot draws: add --plot FILE, or leave --line out")
        return
    if not plot.name.lower().endswith(SUFFIXES):
        raise DataError(f"--plot {plot}: expected a name with one of {', '.join(SUFFIXES)}")
    if not plot.parent.is_dir():
        raise DataError(f"--plot {plot}: there is no folder {str(plot.parent)!r}")


def _check_out(out: Path, *, as_json: bool, links_asked: bool) -> None:
    """Refuse at once what could not be written after all the work."""
    from heedful.alignment.files import JSON_LINES, NPZ

    name, known = out.name.lower(), (*_PHARAOH, *JSON_LINES, *NPZ)
    if not name.endswith(known):
        raise DataError(f"--out {out}: expected a name with one of {', '.join(known)}")
    if as_json:
        raise DataError(f"--json is for standard output; --out {out} says by its name what is written")
    if name.endswith(NPZ) and links_asked:
        raise DataError(f"--out {out}: .npz holds weights and no links; take .jsonl, or leave the links' options out")
    if not out.parent.is_dir():
        raise DataError(f"--out {out}: there is no folder {str(out.parent)!r}")


def _save(alignments: Sequence[Alignment], out: Path, as_text: partial[str]) -> None:
    from heedful.alignment import save_alignments
    from heedful.alignment.files import NPZ, write_text
    from heedful.cli.show import say

    name = out.name.lower()
    if name.endswith(NPZ):
        save_alignments(alignments, out)
    else:
        as_json = not name.endswith(_PHARAOH)
        write_text(out, (as_text(alignment, as_json=as_json) for alignment in alignments))
    say(f"{out} has the alignments, {len(alignments)} in all")


def _draw(
    alignments: Sequence[Alignment], plot: Path, line: int, picture_of: Callable[[int], Picture | None] | None
) -> None:
    """Draw one alignment, under what its source is where that is no text; that a font lacks letters is told like
    anything else."""
    from heedful.cli.show import note, say
    from heedful.plots import save

    if not 1 <= line <= len(alignments):
        raise DataError(f"--line must be from 1 to {len(alignments)}, the number of lines, got {line}")
    if not alignments[line - 1].target:
        raise DataError(f"line {line} was skipped, so there is nothing to draw")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        save(alignments[line - 1], plot, picture=None if picture_of is None else picture_of(line))
    for warning in caught:
        note(str(warning.message))
    say(f"{plot} shows line {line}")


def link_scores_table(scores: LinkScores) -> str:
    """Each rate on a line with its signature; one that is divided by nothing in words."""
    labels = {"aer": "AER", "precision": "precision", "recall": "recall", "f1": "F1"}
    reason = "there are no sure links" if scores.links else "there are no links"
    lines = []
    for name, label in labels.items():
        rate = getattr(scores, name)
        value = f"{rate:7.2f} %" if rate == rate else f"not defined: {reason}"
        lines.append(f"{label:16}{value}  {name}|{scores.signature}")
    return "\n".join(lines)


def links_of(links: str) -> str | list[frozenset[tuple[int, int]]]:
    """The name of a file as it is; for ``-`` the links on standard input."""
    from heedful.alignment.links import decoded_lines, parse_links

    if links != "-":
        return links
    return [parse_links(line, place=place) for place, line in decoded_lines(sys.stdin.buffer.read(), "standard input")]
