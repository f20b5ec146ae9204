"""A comparison that takes seconds: words to their letters, tiny models, costs measured in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.comparison import Comparison
from training.cases import spelling_pairs

SETTINGS: dict[str, Any] = {
    "data.dev_share": 0.2,
    "data.target_tokens": "whitespace",
    "model.embedding_size": 5,
    "model.encoder_size": 7,
    "model.decoder_size": 14,
    "train.batch_tokens": 150,
    "train.learning_rate": 0.02,
    "predict.beam": 1,
}
RECIPES = ("fixed", "early", "late_dot")


def compare_tiny(pairs: Path | str, out: Path, **arguments: Any) -> Comparison:
    usual: dict[str, Any] = {"recipes": RECIPES, "base": "tiny", "seeds": (1, 2), "updates": 8}
    settings = {**SETTINGS, **arguments.pop("set", {})}
    return heedful.compare(pairs, out=out, **{**usual, **arguments}, set=settings)


def ask_here(processes: Any, job: dict[str, Any]) -> dict[str, Any]:
    """In place of a process of its own, which takes seconds to begin."""
    from heedful.api.comparing.child import DO

    return {**DO[job["do"]](job), "memory": 100.0}


@pytest.fixture(scope="session")
def quick_costs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("heedful.api.comparing.processes.Processes.ask", ask_here)
        patch.setattr("heedful.api.comparing.measure.UPDATES", 2)
        yield


@pytest.fixture(scope="session")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_pairs(tmp_path_factory.mktemp("words") / "words.tsv", 150)


@pytest.fixture(scope="session")
def compared(words, quick_costs, tmp_path_factory) -> tuple[Comparison, Path]:
    """(what was found, its folder). Not to be changed."""
    out = tmp_path_factory.mktemp("compared") / "out"
    return compare_tiny(words, out), out
