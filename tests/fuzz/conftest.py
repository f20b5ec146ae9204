"""Where a hanging example shows its stacks; and runs to ask, which nobody may change."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fuzz import watch
from fuzz.folders import Folder
from training.cases import spelled, train_tiny, words, write_pairs


@pytest.fixture(scope="session", autouse=True)
def _terminal(request):
    capture = request.config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        descriptor = os.dup(2)
    watch.terminal_is(descriptor)
    yield
    watch.terminal_is(2)
    os.close(descriptor)


@pytest.fixture(scope="session")
def trained(tmp_path_factory) -> dict[str, Path]:
    """Small runs of different kinds that have learned a little, each with its pairs beside it."""
    folder = tmp_path_factory.mktemp("trained")
    pairs = write_pairs(folder / "words.tsv", ((word, spelled(word)) for word in words(60)))
    tagged = write_pairs(
        folder / "tagged.tsv",
        ((word, word.upper() if tag == "UP" else word, f"{tag};{tag}2") for word in words(30) for tag in ("UP", "LOW")),
    )
    return {
        "letters": train_tiny(pairs, folder / "letters", set={"train.updates": 90, "train.validate_every": 9.0}),
        "tags": train_tiny(
            tagged,
            folder / "tags",
            set={"data.tag_columns": [3], "data.target_tokens": "characters", "data.source_min_count": 5},
        ),
        "pieces": train_tiny(
            pairs,
            folder / "pieces",
            set={
                "data.source_tokens": {"name": "bpe", "vocabulary_size": 270},
                "data.target_tokens": {"name": "bpe", "vocabulary_size": 270},
                "data.reverse_source": True,
                "model.fusion": "late",
                "model.score": "general",
                "model.scope": "local_p",
                "model.normaliser": "sparsemax",
                "model.cell": "lstm",
                "model.decoder_layers": 2,
            },
        ),
        "fixed": train_tiny(pairs, folder / "fixed", set={"model.fusion": "none", "train.updates": 5}),
    }


@pytest.fixture(scope="session")
def folders(trained, tmp_path_factory) -> dict[str, Folder]:
    """Copies of the runs, to be changed."""
    place = tmp_path_factory.mktemp("copies")
    return {name: Folder(run, place / name) for name, run in trained.items()}
