"""A trained run for the tests of the Python functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.comparing import compared, quick_costs, words  # noqa: F401 - fixtures
from cli.conftest import cli, refused  # noqa: F401 - fixtures
from training.cases import spelling_pairs, train_tiny


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_pairs(tmp_path_factory.mktemp("pairs") / "words.tsv")


@pytest.fixture(scope="session")
def folder(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned a little: its answers differ from word to word. Not to be changed."""
    settings = {"train.updates": 120, "train.batch_tokens": 300, "model.encoder_size": 16, "model.decoder_size": 16}
    settings["train.validate_every"] = 5.0
    return train_tiny(pairs, tmp_path_factory.mktemp("run") / "run", set=settings)


@pytest.fixture(scope="session")
def run(folder: Path):
    import heedful

    return heedful.load(folder)
