"""Which combinations of registered parts tests go over, so that a part that is registered is tested everywhere."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

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


def unused(names: Sequence[str], used: Sequence[object]) -> list[str]:
    """Those of `names` that no specification in `used`, a name or a table with a name, is of."""
    there = {spec["name"] if isinstance(spec, dict) else spec for spec in used}
    return [name for name in names if name not in there]
