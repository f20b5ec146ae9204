"""What people see while they wait, and when they have waited. Progress goes to standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

if TYPE_CHECKING:
    from heedful.evaluation import Scores
    from heedful.training import Update, Validated


def bar(*columns: str, shown: bool = True) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        *(TextColumn(column, markup=False) for column in columns),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not (shown and console.is_terminal),
    )


Watcher = TypeVar("Watcher")


@contextmanager
def watched(kind: Callable[[Any], Watcher]) -> Iterator[Watcher]:
    """What reports on trainings, made with the bar that it moves, while that is on the screen."""
    with bar("{task.percentage:>3.0f}%", "{task.fields[state]}") as screen:
        yield kind(screen)


def above(screen: Any, text: str) -> None:
    """A line that stays, above what moves."""
    screen.console.print(text, markup=False, emoji=False, soft_wrap=True)


class Counter:
    """A bar that counts sentences; a context whose value is called with each count."""

    def __init__(self, what: str, *, shown: bool = True) -> None:
        self._bar = bar("{task.completed:,.0f} sentences", shown=shown)
        self._task = self._bar.add_task(what, total=None)

    def __enter__(self) -> Counter:
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def __call__(self, count: int) -> None:
        self._bar.advance(self._task, count)


class TrainingProgress:
    """A reporter for people: a bar while training runs, a line for each validation."""

    def __init__(self, screen: Any) -> None:
        self._bar = screen
        self._task = screen.add_task("starting", total=1.0, state="")

    def message(self, text: str) -> None:
        above(self._bar, text)

    def update(self, update: Update) -> None:
        self._bar.update(
            self._task,
            completed=update.share,
            description=f"epoch {update.epoch}",
            state=f"loss {update.loss:.3f}  {update.tokens_per_second:,.0f} tokens/s",
        )

    def validated(self, validated: Validated) -> None:
        scores = validated.scores
        self.message(
            f"epoch {validated.epoch:5.2f}  {validated.seconds / 60:5.1f} min  "
            f"loss {validated.train_loss:.3f} train {validated.dev_loss:.3f} dev  "
            f"sequence error {scores['sequence_error']:.1f} %  token error {scores['token_error']:.1f} %  "
            f"BLEU {scores['bleu']:.1f}" + ("  best" if validated.best else "")
        )


def write(*texts: str) -> None:
    """Lines on standard output, at once, as UTF-8 whatever the locale.

    Whoever reads us may stop when it has enough: that is no error, and ends the command quietly.

    Raises:
        RunError: the lines cannot be written, for instance to a full disk.
    """
    from heedful.errors import RunError

    check_output()
    try:
        rest = memoryview("".join(text + "\n" for text in texts).encode("utf-8", "backslashreplace"))
        while rest:  # with PYTHONUNBUFFERED a write may take a part and say so
            rest = rest[sys.stdout.buffer.write(rest) :]
        sys.stdout.buffer.flush()
    except OSError as error:
        _give_up(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise SystemExit(0) from None
        raise RunError(f"standard output: cannot be written: {error.strerror}") from None


def check_output() -> None:
    """Whether there is a standard output, for what would work long before it writes.

    Raises:
        RunError: it is closed.
    """
    from heedful.errors import RunError

    if sys.stdout is None:
        raise RunError("standard output: cannot be written: it is closed")


def output_descriptor() -> int | None:
    """The descriptor of standard output, if it has one."""
    try:
        return sys.stdout.fileno()
    except OSError:
        return None


def say(text: str) -> None:
    """A line on standard error, where there is one; nobody need listen."""
    if sys.stderr is None:  # print would take standard output, where every line is an answer
        return
    try:
        print(text, file=sys.stderr)
    except OSError:
        _give_up(sys.stderr)


def note(text: str) -> None:
    """What a person should know, beside the output."""
    say(f"heedful: {text}")


def _give_up(stream: TextIO) -> None:
    """Send nowhere what could not be written: it would be tried again when the interpreter ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def trained(folder: Path) -> None:
    """Where the run is, and what can be done with it."""
    from heedful.runs import load_description

    say(f"The run is in {folder}. Try:")
    commands = [f"predict {folder} FILE", f"evaluate {folder} PAIRS"]
    if load_description(folder).recipe.model.fusion.name != "none":  # it has attention
        commands += [f"look {folder} PAIRS --out report.html", f"diagnose {folder} PAIRS"]
    for command in commands:
        say(f"  heedful {command}")


def scores_table(scores: Scores) -> str:
    """Each score on a line with its signature; of labels, which are right or wrong, only how many are."""
    names = {
        "sequence_error": "sequence error",
        "sequence_error_by_line": "  by line",
        "token_error": "token error",
        "token_error_by_line": "  by line",
        "word_error": "word error",
        "bleu": "BLEU",
        "chrf": "chrF",
    }
    rows = []
    if "|tok:label|" in scores.signature:
        names = {"sequence_error": "label error", "sequence_error_by_line": "  by line"}
        rows.append(f"{'accuracy':16}{scores.accuracy:7.2f} %  accuracy|{scores.signature}")
    for key, label in names.items():
        unit = "  " if key in ("bleu", "chrf") else " %"
        rows.append(f"{label:16}{getattr(scores, key):7.2f}{unit}  {scores.signatures[key]}")
    return "\n".join(rows)


def recipe_list() -> str:
    """Each built-in recipe with its first line of comment."""
    from heedful.recipes import built_in

    rows = [f"{name:16}{text.splitlines()[0].lstrip('# ')}" for name, text in built_in().items()]
    return "\n".join([*rows, "", "heedful recipes copy NAME TO writes one to a file, for you to edit."])
