"""A trained run, and the command line called in this process."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from api.comparing import quick_costs, words  # noqa: F401 - fixtures


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
    def json(self) -> list[Any]:
        return [json.loads(line) for line in self.lines]


Cli = Callable[..., Done]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsysbinary: pytest.CaptureFixture[bytes]) -> Cli:
    """``cli("predict", run, stdin=b"abc")``: the exit code and what was written. A traceback is an exception here."""
    from heedful.cli import run

    def call(*arguments: object, stdin: bytes = b"") -> Done:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="ascii"))
        capsysbinary.readouterr()
        code = run([str(argument) for argument in arguments])
        out, err = capsysbinary.readouterr()
        return Done(code, out, err.decode("utf-8"))

    return call


@pytest.fixture
def refused(cli: Cli) -> Callable[..., str]:
    """``refused("predict", "nowhere")``: the one line that standard error must hold, behind the program's name."""

    def call(*arguments: object, stdin: bytes = b"") -> str:
        done = cli(*arguments, stdin=stdin)
        assert (done.code, done.out) == (2, b""), done
        assert done.err.startswith("heedful: "), done.err
        assert done.err.count("\n") == 1, done.err
        return done.err.removeprefix("heedful: ").removesuffix("\n")

    return call


@pytest.fixture(scope="session")
def run(speller: Path) -> Path:
    return speller
