"""One recipe for many small tasks, untuned: how many words of the development sets are wrong, language by language?

python benchmarks/languages.py TRAIN DEV --out DIR [--recipe small] [--set KEY=VALUE ...] [--languages L ...]
    [--seeds 1 2] [--jobs 2] [--rows FILE]
python benchmarks/languages.py TRAIN DEV --out DIR --best-of "KEY=VALUE KEY=VALUE" "KEY=VALUE" ... [...]

TRAIN and DEV are folders of TSV files, LANG_train.tsv and LANG_dev.tsv (SIGMORPHON 2020, task 1: words and sounds).
Each training is a run of its own, DIR/LANG/seed-N, on one thread; what is finished is not done again, and what was
stopped goes on. Prints the sequence error (WER) on DEV of every model, the means over seeds, and those of all seeds
together as one ensemble; macro averages with and without Korean, whose syllables are many to one.

With --best-of every language is trained with each of these settings (quoted as in a shell), and the best of them on DEV
is what counts: what tuning by language comes to. A row that is ready stands in DIR/rows.json, or FILE: it is not made
again, whether its runs are still there or not.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import heedful
from heedful.errors import DataError, HeedfulError
from heedful.files import write_atomically
from heedful.recipes import load, parse
from heedful.series import Finished, Trial, Unwatched, digest_of, make_trial, run_series


def main() -> None:
    options = _options()
    try:
        table = Table(options)
        table.fill(options.jobs)
    except (HeedfulError, OSError) as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        print("stopped; the same command goes on", file=sys.stderr)
        raise SystemExit(130) from None
    print(table.text())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    parser.add_argument("dev", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", default="small")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--best-of", nargs="+", default=[], metavar="SETTINGS")
    parser.add_argument("--languages", nargs="+", default=[], metavar="L")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], metavar="N")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rows", type=Path, metavar="FILE")
    return parser.parse_args()


class Rows:
    """Rows that are ready, in a file, with what they are rows of.

    Args:
        path: of the file; it need not be there yet.
        of: recipe, seeds and columns of the table.
        data: of each language that is asked for, a digest.

    Raises:
        DataError: what the file holds is of other settings or data, or no such thing.
    """

    def __init__(self, path: Path, of: dict[str, Any], data: dict[str, str]) -> None:
        self._path, self._of, self._data = path, of, data
        self._rows: dict[str, Any] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            return
        try:
            known = json.loads(path.read_text("utf-8"))
            known["recipe"] = parse(known["recipe"], str(path)).model_dump(mode="json")  # keys that are new since then
            self._rows = known.pop("rows")
            same = all(row["data"] == data.get(language, row["data"]) for language, row in self._rows.items())
            same &= all(len(row["errors"]) == len(of["columns"]) for row in self._rows.values())
        except (ValueError, AttributeError, KeyError, TypeError) as error:
            raise DataError(f"{path}: expected rows as they were written, got {error!r}") from None
        if known != of or not same:
            raise DataError(f"{path}: has rows of other settings or data than asked for; name another --rows")

    def __contains__(self, language: str) -> bool:
        return language in self._rows

    def __getitem__(self, language: str) -> list[float]:
        return self._rows[language]["errors"]

    def __setitem__(self, language: str, errors: list[float]) -> None:
        self._rows[language] = {"data": self._data[language], "errors": errors}
        write_atomically(self._path, json.dumps({**self._of, "rows": self._rows}, indent=1) + "\n")


class Table(Unwatched):
    """A row for each language, made as soon as the last of its models is trained."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._languages = options.languages or sorted(path.name[:-10] for path in options.train.glob("*_train.tsv"))
        if not self._languages:
            raise DataError(f"{options.train}: expected a folder with files LANG_train.tsv, found none")
        for path in (path for language in self._languages for path in self._files(language)):
            if not Path(path).is_file():
                raise DataError(f"{path}: no such file")
        self._settings: dict[int, list[str]] = {0: []}
        if options.best_of:
            self._settings = {number: _words(text) for number, text in enumerate(options.best_of, start=1)}
        seeds = [f"seed {seed}" for seed in options.seeds]
        self._heads = [*options.best_of, "best"] if options.best_of else [*seeds, "mean", "all together"]
        recipe = load(options.recipe, options.set).model_dump(mode="json")
        of = {"recipe": recipe, "seeds": options.seeds, "columns": self._heads}
        data = {language: digest_of(",".join(self._files(language))) for language in self._languages}
        self._rows = Rows(options.rows or options.out / "rows.json", of, data)
        self._runs: dict[str, dict[tuple[int, int], Path]] = defaultdict(dict)

    def fill(self, jobs: int) -> None:
        """Train what is missing."""
        trials = [trial for language in self._languages if language not in self._rows for trial in self._of(language)]
        run_series(trials, out=self._options.out, jobs=jobs, watcher=self)

    def _files(self, language: str) -> tuple[str, str]:
        return str(self._options.train / f"{language}_train.tsv"), str(self._options.dev / f"{language}_dev.tsv")

    def _of(self, language: str) -> list[Trial]:
        given, (pairs, dev) = self._options, self._files(language)
        return [
            make_trial(
                f"{language}/settings-{number}" if number else language,
                given.recipe,
                pairs=pairs,
                dev=dev,
                seed=seed,
                set=[*given.set, *settings],
            )
            for number, settings in self._settings.items()
            for seed in given.seeds
        ]

    def ended(self, trial: Trial, finished: Finished) -> None:
        language, _, settings = trial.name.partition("/settings-")
        runs = self._runs[language]
        runs[int(settings or 0), trial.seed] = finished.folder
        print(f"{trial}: {finished.updates} updates, {finished.minutes:.1f} minutes", flush=True)
        if len(runs) == len(self._options.seeds) * len(self._settings):
            self._rows[language] = self._row(self._files(language)[1], runs)

    def _row(self, dev: str, runs: dict[tuple[int, int], Path]) -> list[float]:
        seeds = self._options.seeds
        errors = {
            number: [heedful.evaluate(runs[number, seed], dev).sequence_error for seed in seeds]
            for number in self._settings
        }
        if self._options.best_of:
            means = [statistics.mean(each) for each in errors.values()]
            return [*means, min(means)]
        together = heedful.evaluate([runs[0, seed] for seed in seeds], dev).sequence_error
        return [*errors[0], statistics.mean(errors[0]), together]

    def text(self) -> str:
        """In Markdown."""
        return in_markdown(self._heads, {language: self._rows[language] for language in self._languages})


def in_markdown(heads: Sequence[str], rows: Mapping[str, Sequence[float]]) -> str:
    """A row for each language, and averages."""
    lines = [f"| language | {' | '.join(heads)} |", f"| --- |{' --: |' * len(heads)}"]
    lines += [_line(language, row) for language, row in rows.items()]
    for name, left_out in {"macro": "", "macro without kor": "kor"}.items():
        if chosen := [row for language, row in rows.items() if language != left_out]:
            lines.append(_line(name, [statistics.mean(column) for column in zip(*chosen, strict=True)]))
    return "\n".join(lines)


def _words(settings: str) -> list[str]:
    try:
        return shlex.split(settings)
    except ValueError as error:
        raise DataError(f"--best-of: expected settings quoted as in a shell, got {settings!r}: {error}") from None


def _line(name: str, values: Sequence[float]) -> str:
    return f"| {name} | {' | '.join(f'{value:.2f}' for value in values)} |"


if __name__ == "__main__":
    main()
