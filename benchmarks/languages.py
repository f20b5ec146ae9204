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
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "16")

import heedful


class Task(NamedTuple):
    language: str
    train: Path
    dev: Path
    folder: Path  # of the language's runs
    seed: int

    @property
    def run(self) -> Path:
        return self.folder / f"seed-{self.seed}"


def main() -> None:
    options = _options()
    languages = options.languages or sorted(path.name.split("_")[0] for path in options.train.glob("*_train.tsv"))
    tasks = [
        Task(
            language,
            options.train / f"{language}_train.tsv",
            options.dev / f"{language}_dev.tsv",
            options.out / language,
            seed,
        )
        for language in languages
        for seed in options.seeds
    ]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        errors = dict(
            zip(
                tasks,
                pool.map(trained, tasks, *zip(*[(options.recipe, options.set)] * len(tasks), strict=True)),
                strict=True,
            )
        )
        together = dict(
            zip(
                languages,
                pool.map(ensemble, [[task for task in tasks if task.language == language] for language in languages]),
                strict=True,
            )
        )
    for line in table(languages, errors, together, options.seeds):
        print(line)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", default="g2p")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--languages", nargs="+", default=[])
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def trained(task: Task, recipe: str, settings: list[str]) -> float:
    """Train unless it is done already; the sequence error on the development set."""
    import torch

    torch.set_num_threads(1)
    if not (task.run / "done").exists():
        begun = (task.run / "checkpoint.safetensors").exists()
        settings = [] if begun else [*settings, f"train.seed={task.seed}"]
        heedful.train(
            task.train,
            dev=task.dev,
            out=task.run,
            recipe=None if begun else recipe,
            set=settings,
            resume=begun,
            overwrite=not begun,
        )
        (task.run / "done").touch()
    return heedful.evaluate(task.run, task.dev).sequence_error


def ensemble(tasks: list[Task]) -> float:
    import torch

    torch.set_num_threads(1)
    return heedful.evaluate([task.run for task in tasks], tasks[0].dev).sequence_error


def table(languages: list[str], errors: dict[Task, float], together: dict[str, float], seeds: list[int]) -> list[str]:
    def of(language: str) -> list[float]:
        return [error for task, error in errors.items() if task.language == language]

    rows = {language: [*of(language), statistics.mean(of(language)), together[language]] for language in languages}
    lines = [
        f"| language | {' | '.join(f'seed {seed}' for seed in seeds)} | mean | ensemble of {len(seeds)} |",
        f"| --- |{' --: |' * (len(seeds) + 2)}",
    ]
    kept = {"macro": languages, "macro without kor": [language for language in languages if language != "kor"]}
    for name, chosen in kept.items():
        if chosen:
            rows[name] = [
                statistics.mean(column) for column in zip(*(rows[language] for language in chosen), strict=True)
            ]
    return [*lines, *(f"| {name} | {' | '.join(f'{value:.2f}' for value in row)} |" for name, row in rows.items())]


if __name__ == "__main__":
    main()
