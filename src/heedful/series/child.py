"""One training in a process of its own: a job comes as JSON by standard input, events go out as lines of JSON."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

_SECONDS = 0.2
"""Between updates that are told."""


class _Line:
    """A watcher that writes. What others print goes with the errors, so that events stay alone."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        self._told = 0.0

    def say(self, **event: Any) -> None:
        self._out.write(json.dumps(event) + "\n")
        self._out.flush()

    def began(self, trial: Any, *, resumed: bool) -> None:
        pass  # whoever began it knows

    def message(self, trial: Any, text: str) -> None:
        self.say(message=text)

    def update(self, trial: Any, update: Any) -> None:
        if time.monotonic() - self._told > _SECONDS:
            self._told = time.monotonic()
            self.say(update=update._asdict())

    def validated(self, trial: Any, validated: Any) -> None:
        self.say(validated=validated._asdict())

    def ended(self, trial: Any, finished: Any) -> None:
        self.say(finished={key: value for key, value in asdict(finished).items() if key != "folder"})


def main() -> int:
    """Exit codes: 0; 2 for an error that is told; 130 for Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # told to stop, it stops as by Ctrl-C
    line = _Line()
    job = json.loads(sys.stdin.read())
    from heedful.errors import HeedfulError
    from heedful.recipes import parse
    from heedful.series.run import train_here
    from heedful.series.trial import Trial

    sys.path += [folder for folder in job["path"] if folder not in sys.path]
    for module in job["modules"]:  # those that registered the recipe's parts
        importlib.import_module(module)
    recipe = parse(job["recipe"], "recipe")
    trial = Trial(job["name"], recipe, job["pairs"], job["dev"], job["links"])
    try:
        train_here(trial, Path(job["folder"]), job["resume"], line)
    except HeedfulError as error:
        line.say(error=[type(error).__name__, str(error).removeprefix(f"{trial}: ")])
        return 2
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, BrokenPipeError):  # stopped, or nobody listens any more
        os._exit(130)
