"""``heedful.compare``: what is trained, answered, measured and told; what goes on; what is refused before training."""

from __future__ import annotations

import pytest

import heedful
from api.comparing import RECIPES, SETTINGS, compare_tiny, compared, quick_costs, words  # noqa: F401 - fixtures
from heedful.comparison import Comparison


def test_the_file_holds_what_is_returned(compared):
    found, out = compared
    assert Comparison.load(out / "comparison.json") == found
    assert tuple(design.name for design in found.designs) == RECIPES
    assert [run.folder for run in found.designs[1].runs] == ["early/seed-1", "early/seed-2"]
    assert {run.updates for design in found.designs for run in design.runs} == {8}
