"""A search as a person sees it: a line for each trial, and at the end what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.cli.show import above

if TYPE_CHECKING:
    from heedful.training import Update
    from heedful.tuning import Trial, Tuning

_UNITS = {"bleu": "", "chrf": "", "loss": " nats a token"}  # all else is in percent
_STATES = {"complete": "", "pruned": "stopped early", "failed": "failed"}


class TuneProgress:
    """A reporter for people: a bar while a trial is trained, a row of a table when it ended."""

    def __init__(self, screen: Any) -> None:
        self._bar = screen
        self._task = screen.add_task("starting", total=1.0, state="")
        self._headed = False

    def message(self, text: str) -> None:
        above(self._bar, text)

    def begun(self, number: int, values: dict[str, Any]) -> None:
        self._bar.update(self._task, completed=0.0, description=f"trial {number}", state="")

    def update(self, update: Update) -> None:
        self._bar.update(self._task, completed=update.share, state=f"loss {update.loss:.3f}")

    def ended(self, trial: Trial) -> None:
        if not self._headed:
            self._headed = True
            for row in _head(list(trial.values)):
                self.message(row)
        self.message(_row(trial))
        if trial.reason is not None:
            self.message(f"       {trial.reason}")


def _head(keys: list[str]) -> list[str]:
    """Two lines: the last part of a key, cut at its first underscore."""
    names = [key.rpartition(".")[2].partition("_") for key in keys]
    upper = "".join(f"{first:>{_width(key)}}" for key, (first, _, _) in zip(keys, names, strict=True))
    lower = "".join(f"{rest:>{_width(key)}}" for key, (_, _, rest) in zip(keys, names, strict=True))
    return [f"{'':5} {'dev':>7} {'':7}{upper}", f"{'trial':>5} {'':>7} {'minutes':>7}{lower}"]


def _width(key: str) -> int:
    first, _, rest = key.rpartition(".")[2].partition("_")
    return max(len(first), len(rest), 7) + 2


def _row(trial: Trial) -> str:
    value = "-" if trial.value is None else f"{trial.value:.2f}"
    cells = "".join(f"{shown(cell):>{_width(key)}}" for key, cell in trial.values.items())
    return f"{trial.number:>5} {value:>7} {trial.seconds / 60:>7.2f}{cells}  {_STATES[trial.state]}".rstrip()


def shown(value: Any) -> str:
    """A value as a recipe writes it, a part by its name."""
    if value is None:
        return "?"
    if isinstance(value, dict):
        return f"{value.get('name', '')}..."
    return str(value).lower() if isinstance(value, bool) else str(value)


def tuned_text(found: Tuning) -> str:
    """The best values beside the recipe's, how much each key mattered, and what can be done with the recipe."""
    states = [trial.state for trial in found.trials]
    return "\n".join(
        [
            *_verdict(found),
            "",
            *_values(found),
            *(f"{key}: the best is at an end of {found.ranges[key]}; --range may go further" for key in found.at_ends),
            "",
            f"{len(states)} trials: {states.count('complete')} complete, {states.count('pruned')} stopped early, "
            f"{states.count('failed')} failed; {found.ended}",
            f"{found.file} written; train with it: heedful train PAIRS --recipe {found.file} --out RUN",
        ]
    )


def _verdict(found: Tuning) -> list[str]:
    own, best, unit = found.trials[0], found.best, _UNITS.get(found.metric, " %")
    name, pairs = found.metric.replace("_", " "), f"{found.development_pairs:,} development pairs"
    if best.number == 0:
        return [f"nothing was better than the recipe itself: {name} {best.value:.2f}{unit} on {pairs}"]
    line = f"trial {best.number} is the best: {name} {best.value:.2f}{unit} on {pairs}"
    if own.value is None:
        return [line, "the recipe itself could not be trained to its end"]
    return [line, f"the recipe itself: {own.value:.2f}{unit}, a difference of {abs(own.value - (best.value or 0)):.2f}"]


def _values(found: Tuning) -> list[str]:
    own, shares = found.trials[0].values, dict(found.importance)
    keys = [key for key in shares if key in own] or list(own)
    width = max(map(len, keys))
    rows = [f"{'':{width}}  {'recipe':>10}  {'best':>10}" + ("  importance" if shares else "")]
    for key in keys:
        share = f"  {shares[key]:10.2f}" if shares else ""
        rows.append(f"{key:{width}}  {shown(own[key]):>10}  {shown(found.best.values[key]):>10}{share}")
    return rows if shares else [*rows, "(too few trials are complete to say what mattered)"]
