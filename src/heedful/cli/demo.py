"""``heedful demo``: the main job on real data, from nothing to heat maps and a report."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.answers import Prediction
    from heedful.api.run import Run

WORDS = ("attention", "alignment", "knowledge", "psychology", "heedful")


def run_demo(out: str, *, minutes: float) -> None:
    """Train on the built-in CMU dictionary, evaluate on words that were never seen, show and draw predictions."""
    import heedful
    from heedful.cli.show import Counter, TrainingProgress, scores_table, watched

    print(f"Learning English spelling -> sound from the CMU dictionary, {minutes:g} minutes.", file=sys.stderr)
    with watched(TrainingProgress) as reporter:
        folder = heedful.train(
            "cmudict",
            out=out,
            recipe="g2p",
            set={"train.minutes": minutes},
            overwrite=True,
            reporter=reporter,
        )
    run = heedful.load(folder)
    with Counter("evaluating on unseen words") as progress:
        scores = heedful.evaluate(run, "cmudict:test", progress=progress)
    print(f"\nOn {scores.sources:,} words never seen in training (beam {run.recipe.predict.beam}):\n")
    print(scores_table(scores))
    print("\nsequence error is what the literature calls WER, token error PER.\n")
    predictions = run.predict(list(WORDS))
    for word, prediction in zip(WORDS, predictions, strict=True):
        print(f"  {word:12} {prediction.text}")
    _draw(run, folder, predictions)


def _draw(run: Run, folder: Path, predictions: Sequence[Prediction]) -> None:
    import heedful
    from heedful.plots import save, save_many

    maps = folder / "heatmaps"
    maps.mkdir(exist_ok=True)
    alignments = [prediction.alignment for prediction in predictions if prediction.alignment is not None]
    for word, alignment in zip(WORDS, alignments, strict=True):
        save(alignment, maps / f"{word}.png")
    save_many(alignments, maps / "all.png")
    heedful.look(run, "cmudict:test", out=folder / "report.html", line="1-1000")
    print(f"\nWhere the model looked: {maps}/all.png, and one picture a word beside it.")
    print(f"On a thousand words:    {folder}/report.html, for your browser; no network is needed.")
    print(f"The model:              {folder}")
    print("Try next:")
    print(f"  echo serendipity | .venv/bin/heedful predict {folder}")
    print(f"  .venv/bin/heedful predict {folder} --n-best 3 FILE")
    print(f"  .venv/bin/heedful look {folder} cmudict:test --line 7 --out map.svg")
    print("  .venv/bin/heedful train YOUR.tsv --out runs/mine")
