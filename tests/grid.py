"""Which combinations of registered parts tests go over, so that a part that is registered is tested everywhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import pytest

from heedful.errors import HeedfulError

Names = tuple[str, ...]


def possible(make: Callable[..., object], *names: str) -> bool:
    """Whether these parts go together: `make` does not refuse them."""
    try:
        make(*names)
    except HeedfulError:
        return False
    return True


def covering(axes: Sequence[Sequence[str]], works: Callable[[Names], bool]) -> list[Names]:
    """Few combinations, one name of each axis, in which any two names that go together are together at least once."""
    left = {names: set(itertools.combinations(enumerate(names), 2)) for names in itertools.product(*axes)}
    left = {names: pairs for names, pairs in left.items() if works(names)}
    wanted, taken = set().union(*left.values()), []
    while wanted:
        best = max(left, key=lambda names: len(left[names] & wanted))
        taken.append(best)
        wanted -= left[best]
    return taken


def daily(values: Iterable[Any], few: Collection[Any]) -> list[Any]:
    """All of `values`, each what a test is asked for once: those in `few` every time, the others with SLOW=1."""
    return [value if value in few else pytest.param(value, marks=pytest.mark.slow) for value in values]


def spanning(combinations: Sequence[Names]) -> list[Names]:
    """Few of the combinations, in which each name of each axis is at least once."""
    taken, seen = [], set()
    for names in combinations:
        if not seen.issuperset(enumerate(names)):
            taken.append(names)
            seen.update(enumerate(names))
    return taken


def in_turn(*axes: Iterable[Any]) -> list[Any]:
    """The product of the axes, for a test of several arguments: of each axis each member at least once every time (the
    first with the first, the second with the second, the shorter axes again and again), all others with SLOW=1."""
    lists = [list(axis) for axis in axes]
    few = {tuple(n % len(own) for own in lists) for n in range(max(map(len, lists)))}
    return [
        pytest.param(
            *(own[n] for own, n in zip(lists, places, strict=True)),
            marks=() if places in few else pytest.mark.slow,
        )
        for places in itertools.product(*(range(len(own)) for own in lists))
    ]


def unused(names: Sequence[str], used: Sequence[object]) -> list[str]:
    """Those of `names` that no specification in `used`, a name or a table with a name, is of."""
    there = {spec["name"] if isinstance(spec, dict) else spec for spec in used}
    return [name for name in names if name not in there]
