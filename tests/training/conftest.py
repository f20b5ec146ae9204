"""A file of pairs for the tests of training."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.cases import spelling_pairs


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_pairs(tmp_path_factory.mktemp("pairs") / "words.tsv")
