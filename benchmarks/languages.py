"""One recipe for many small tasks, untuned: how many words of the development sets are wrong, language by language?

python benchmarks/languages.py TRAIN DEV --out DIR [--recipe g2p] [--set KEY=VALUE ...] [--languages L ...]
    [--seeds 1 2] [--jobs 2]

TRAIN and DEV are folders of TSV files, LANG_train.tsv and LANG_dev.tsv (SIGMORPHON 2020, task 1: words and sounds).
Each training is a run of its own, DIR/LANG/seed-N, on one thread; what is finished is not done again, and what was
stopped goes on. Prints the sequence error (WER) on DEV of every model, the means over seeds, and those of all seeds
together as one ensemble; macro averages with and without Korean, whose syllables are many to one.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import heedful
from heedful.series import make_trial, run_series


def main() -> None:
    options = _options()
    trials = [
        make_trial(
            language,
            options.recipe,
            pairs=options.train / f"{language}_train.tsv",
            dev=options.dev / f"{language}_dev.tsv",
            seed=seed,
            set=options.set,
        )
        for language in options.languages or sorted(path.name[:-10] for path in options.train.glob("*_train.tsv"))
        for seed in options.seeds
    ]
    runs: dict[str, list[Path]] = {}
    for finished in run_series(trials, out=options.out, jobs=options.jobs):
        runs.setdefault(finished.name, []).append(finished.folder)
    print(f"| language | {' | '.join(f'seed {seed}' for seed in options.seeds)} | mean | all together |")
    print(f"| --- |{' --: |' * (len(options.seeds) + 2)}")
    rows = {}
    for language, folders in runs.items():
        dev = options.dev / f"{language}_dev.tsv"
        errors = [heedful.evaluate(folder, dev).sequence_error for folder in folders]
        rows[language] = [*errors, statistics.mean(errors), heedful.evaluate(folders, dev).sequence_error]
        print(_row(language, rows[language]), flush=True)
    for name, left_out in {"macro": "", "macro without kor": "kor"}.items():
        if chosen := [row for language, row in rows.items() if language != left_out]:
            print(_row(name, [statistics.mean(column) for column in zip(*chosen, strict=True)]))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", default="g2p")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--languages", nargs="+", default=[], metavar="L")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def _row(name: str, values: list[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.2f}' for value in values)} |"


if __name__ == "__main__":
    main()
