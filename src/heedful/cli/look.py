"""``heedful look``: heat maps and reports in files."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal

from heedful.options import EnsembleAverage, SearchOptions


def look_at(
    run: str,
    pairs: str | None,
    *,
    out: str,
    line: Sequence[str],
    source: str | None,
    target: str | None,
    n_best: int | None,
    against: str | None,
    theme: Literal["light", "dark"] | None,
    batch_size: int | None,
    ensemble_average: EnsembleAverage,
    search: SearchOptions,
) -> None:
    """Draw; tell what the file shows, and whatever else a person should know."""
    import logging

    import heedful
    from heedful.cli.show import Counter, note, say

    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of fonts that it found under another weight
    with Counter("looking") as progress, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = heedful.look(
            run,
            pairs,
            out=out,
            line=line,
            source=source,
            target=target,
            n_best=n_best,
            against=against,
            theme=theme,
            batch_size=batch_size,
            ensemble_average=ensemble_average,
            progress=progress,
            message=note,
            **search,
        )
    for warning in caught:  # of letters that no font has
        note(str(warning.message))
    maps, lines = len(report.alignments), len(report.entries)
    of = "" if maps == lines else f" of {lines:,} {'line' if lines == 1 else 'lines'}"
    say(f"{out} shows {maps:,} heat {'map' if maps == 1 else 'maps'}{of}")
