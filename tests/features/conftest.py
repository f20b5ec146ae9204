"""A run on each kind of features, and the command line as in its own tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import cli, refused  # noqa: F401 - fixtures
from heedful.data.features import readers

from .cases import manifest, train_on

FRONTS = {"array": {"name": "pyramid", "levels": 1}, "audio": "linear", "image": {"name": "convolution", "stride": 2}}
"""So that runs shorten by 2, 1 and 2."""


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """For each reader its pairs and a run that has learned a little. Not to be changed."""
    found = {}
    for kind in readers.names():
        folder = tmp_path_factory.mktemp(kind)
        pairs = manifest(folder, kind)
        settings = {"train.updates": 30, "train.batch_tokens": 300, "train.validate_every": 9.0}
        found[kind] = pairs, train_on(pairs, folder / "run", kind, front=FRONTS.get(kind, "linear"), set=settings)
    return found
