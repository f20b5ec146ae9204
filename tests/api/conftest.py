"""A trained run for the tests of the Python functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.comparing import compared, quick_costs, words  # noqa: F401 - fixtures
from cli.conftest import cli, refused  # noqa: F401 - fixtures


@pytest.fixture(scope="session")
def folder(speller: Path) -> Path:
    return speller


@pytest.fixture(scope="session")
def run(folder: Path):
    import heedful

    return heedful.load(folder)
