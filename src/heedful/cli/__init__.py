"""The command line: parse, call, print. It mirrors `heedful`'s functions, verb for verb."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """The program ``heedful``. Exit codes: 0; 2 for bad input, with one message; 130 for Ctrl-C."""
    # PyTorch's CPU library keeps compiled products and LSTMs for each of the last 1,024 shapes: up to a gigabyte, and
    # no faster.
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
    sys.exit(run(sys.argv[1:]))


_STOPPED = {
    "train": "stopped; what was saved is whole",
    "compare": "stopped; the same command goes on where it was",
    "tune": "stopped; the same command goes on",
}


def run(arguments: list[str]) -> int:
    """Run one command; returns the exit code."""
    from heedful.cli.commands import app
    from heedful.cli.show import note
    from heedful.errors import HeedfulError

    try:
        app(arguments, prog_name="heedful")
    except HeedfulError as error:
        note(str(error))
        return 2
    except SystemExit as stop:  # how the parser ends a command, whether it went well or not
        if stop.code == 130:
            note(_STOPPED.get(arguments[0] if arguments else "", "stopped"))
        return int(stop.code or 0)
    return 0
