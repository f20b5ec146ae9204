"""``heedful demo image``: pictures in, digits out, and where the model looked for each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.alignment import Alignment
    from heedful.api.run import Run

DRAWN = 6


def run_image_demo(out: str, *, minutes: float) -> None:
    """Train on strips of handwritten digits, judge on digits that were never seen, and draw where the model looks."""
    import heedful
    from heedful.cli.show import Counter, TrainingProgress, scores_table, watched, write
    from heedful.data.digits import strips

    print(f"Learning to read strips of handwritten digits, {minutes:g} minutes.", file=sys.stderr)
    with watched(TrainingProgress) as reporter:
        settings = {"train.minutes": minutes}
        folder = heedful.train(
            "digits", dev="digits:dev", out=out, recipe="image", set=settings, overwrite=True, reporter=reporter
        )
    run = heedful.load(folder)
    with Counter("reading unseen digits") as progress:
        scores = heedful.evaluate(run, "digits:test", progress=progress)
    with Counter("looking") as progress:
        alignments = heedful.align(run, "digits:test", progress=progress)
    hits, digits = _hits(alignments, [strip.spans for strip in strips("test")])
    write(
        f"\nOn {scores.sources:,} strips of digits never seen in training (beam {run.recipe.predict.beam}):\n",
        scores_table(scores),
        "\ntoken error is the share of digits that are wrong.",
        f"The largest weight lies on the digit that is written for {100 * hits / digits:.1f} % of {digits:,} digits.",
    )
    _draw(run, alignments)


def _hits(alignments: list[Alignment], spans: list[tuple[tuple[int, int], ...]]) -> tuple[int, int]:
    """How many digits are looked for where they are, of how many."""
    from heedful.alignment import found_inside

    found = [inside for each in zip(alignments, spans, strict=True) for inside in found_inside(*each)]
    return sum(found), len(found)


def _draw(run: Run, alignments: list[Alignment]) -> None:
    """Each of some strips over its heat map, and a page of them all."""
    from heedful.api.sources import picture_of
    from heedful.cli.show import write
    from heedful.data.digits import strips
    from heedful.plots import save, save_many

    folder, maps = run.folder, run.folder / "heatmaps"
    maps.mkdir(exist_ok=True)
    side = run.codec.source_features
    assert side is not None
    shown = alignments[:DRAWN]
    pictures = [picture_of(side.reader.features(strip.picture), side.reader) for strip in strips("test")[:DRAWN]]
    for number, (alignment, picture) in enumerate(zip(shown, pictures, strict=True), start=1):
        save(alignment, maps / f"test-{number}.png", picture=picture)
    save_many(shown, maps / "all.png", pictures=pictures)
    write(
        f"\nWhere the model looked: {maps}/all.png, and one picture a strip beside it.",
        f"The model:              {folder}",
        "Try next:",
        f"  .venv/bin/heedful evaluate {folder} digits:test",
        f"  .venv/bin/heedful align {folder} digits:test --json",
        "  .venv/bin/heedful train YOUR.tsv --recipe image --out runs/mine   (lines: path of a picture, TAB, its text)",
    )
