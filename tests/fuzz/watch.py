"""What all fuzz tests share: how many examples they try, that none may hang, and what an error must look like."""

from __future__ import annotations

import faulthandler
import functools
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings

from heedful.errors import HeedfulError

SECONDS = 60  # far more than any example takes, on the slowest machine

Test = Callable[..., None]


class HangError(Exception):
    """An example did not end."""


def fuzz(*, short: int, slow: int, **strategies: Any) -> Callable[[Test], Test]:
    """A hypothesis test of `short` examples, or of `slow` where SLOW=1, each of them watched."""

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def watched(*fixtures: Any, **arguments: Any) -> None:
            with watch():
                test(*fixtures, **arguments)

        count = slow if os.environ.get("SLOW") in ("1", "new") else short
        tested = settings(max_examples=count)(given(**strategies)(watched))
        # Some examples are long on purpose; if one fails, its failure is what should be seen.
        return pytest.mark.filterwarnings("ignore:Generating overly large repr")(tested)

    return decorate


@contextmanager
def watch(seconds: float = SECONDS) -> Iterator[None]:
    """An example that takes longer fails, with its values shown; one that hangs outside of Python, where no exception
    can reach it, ends the whole process a little later with the stacks of its threads."""

    def late(*_: object) -> None:
        raise HangError(f"still at work after {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(seconds + SECONDS, exit=True, file=_terminal)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


_terminal: int = 2


def terminal_is(descriptor: int) -> None:
    """Where stacks go: pytest has put a file in the place of standard error."""
    global _terminal
    _terminal = descriptor


def message_of(error: HeedfulError, *names: object) -> str:
    """The message of an error, which must be one line that any terminal can show, and say one of the `names`."""
    message = str(error)
    assert message, type(error)
    assert message.isprintable(), message
    assert not names or any(str(name) in message for name in names), message
    return message
