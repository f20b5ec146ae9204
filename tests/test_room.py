"""Memory that does not suffice: refused before it is asked for, or told once the allocator has said so."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
import torch

from heedful import room
from heedful.errors import MemoryShortage, TrainingError
from heedful.room import Asked, Whole, available, room_for

CPU = torch.device("cpu")


def held(asked: Asked, action, **options) -> None:
    with room_for("7 pairs", asked, device=CPU, remedy="take fewer", **options):
        action()


def test_what_cannot_fit_is_refused_before_it_starts(monkeypatch):
    monkeypatch.setattr(room, "available", lambda device: 2e9)
    with pytest.raises(TrainingError) as caught:
        held(Asked(3, 10_000, 11_000, Whole(1)), lambda: pytest.fail("it has started"), error=TrainingError)
    assert str(caught.value) == (
        "not enough memory for 7 pairs: attention over 3 sentences x 10,000 steps x 11,000 positions needs at least "
        "2.64 GB, and there are 2.00 GB; take fewer"
    )
    done = []
    held(Asked(3, 10_000, 11_000), lambda: done.append(1))  # windows
    held(Asked(2, 10_000, 11_000, Whole(1)), lambda: done.append(1))
    assert len(done) == 2


@pytest.mark.parametrize(
    ("whole", "gigabytes"), [(Whole(1, 2, 3), "5.2"), (Whole(0, 2), "1.9"), (Whole(0, 0, 3), "2.4")]
)
def test_texts_that_ask_themselves_count(whole, gigabytes, monkeypatch):
    monkeypatch.setattr(room, "available", lambda device: 1e9)
    with pytest.raises(MemoryShortage, match=rf"needs at least {gigabytes}\d GB"):
        held(Asked(1, 10_000, 11_000, whole), lambda: pytest.fail("it has started"))


def fail(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    "action",
    [
        lambda: torch.empty(1 << 50),
        lambda: np.empty(1 << 50),
        lambda: fail(torch.OutOfMemoryError("CUDA out of memory.")),
        lambda: fail(MemoryError()),
    ],
    ids=["torch", "numpy", "gpu", "python"],
)
def test_what_the_allocator_says_is_told_in_our_words(action):
    with pytest.raises(MemoryShortage) as caught:
        held(Asked(3, 0, 11_000), action)
    assert str(caught.value) == "not enough memory for 7 pairs, 3 sentences x 11,000 positions; take fewer"
    assert caught.value.__suppress_context__  # no traceback within a traceback


def test_other_errors_are_what_they_were():
    with pytest.raises(RuntimeError, match=r"^something else$"):
        held(Asked(3, 5, 7), lambda: fail(RuntimeError("something else")))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux promises more than it has")
def test_what_there_is_is_less_than_the_machine_has():
    import os

    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 1 << 28 < available(CPU) < 2 * whole
    assert math.isinf(available(torch.device("mps"))) or available(torch.device("mps")) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process are of Linux")
def test_a_process_with_a_limit():
    import resource
    from pathlib import Path

    before, most = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * os_page() + (64 << 20), most))
    try:
        with pytest.raises(MemoryShortage, match=r"^not enough memory for 7 pairs: attention over 1 sentences"):
            held(Asked(1, 8000, 8000, Whole(1)), lambda: torch.zeros(1, 8000, 8000))
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (before, most))


def os_page() -> int:
    import resource

    return resource.getpagesize()
