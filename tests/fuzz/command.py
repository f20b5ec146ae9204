"""The command line, called in this process any number of times in one test."""

from __future__ import annotations

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple


class Done(NamedTuple):
    """How a command ended."""

    code: int
    out: bytes
    err: str

    @property
    def lines(self) -> list[bytes]:
        """The lines of standard output; each must have its end."""
        *lines, rest = self.out.split(b"\n")
        assert rest == b"", f"no end of line behind {rest!r}"
        return lines

    @property
    def objects(self) -> list[Any]:
        """Each line read as JSON; what only Python takes for JSON, such as NaN, is none."""
        return [json.loads(line, parse_constant=_refuse) for line in self.lines]

    @property
    def message(self) -> str:
        """The one line that must stand in standard error."""
        lines = self.notes
        assert len(lines) == 1, self.err
        return lines[0]

    @property
    def notes(self) -> list[str]:
        """What standard error says, line by line, without the program's name."""
        *lines, rest = self.err.split("\n")
        assert rest == ""
        for line in lines:
            assert line.startswith("heedful: "), self.err
            assert line.isprintable(), self.err
        return [line.removeprefix("heedful: ") for line in lines]


def call(*arguments: object, stdin: bytes = b"") -> Done:
    """Run ``heedful ARGUMENTS``. A traceback is an exception here."""
    from heedful.cli import run

    out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace", write_through=True)
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii")
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = run([str(argument) for argument in arguments])
    finally:
        sys.stdin = before
    out.flush()
    return Done(code, out.buffer.getvalue(), err.buffer.getvalue().decode("utf-8"))  # pyright: ignore


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")
