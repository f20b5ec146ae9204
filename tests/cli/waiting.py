"""For tests of what must not hang."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

PATIENCE = 60
"""Seconds after which something hangs, however busy the machine is."""


def soon(call: Callable[[], Any]) -> Any:
    """The value of `call`, or its exception; a failure where it hangs."""
    found: list[tuple[Any, BaseException | None]] = []

    def run() -> None:
        try:
            found.append((call(), None))
        except BaseException as error:
            found.append((None, error))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found, "it hangs"
    value, error = found[0]
    if error is not None:
        raise error
    return value
