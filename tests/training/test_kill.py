"""kill -9 at any moment after the first checkpoint: the run loads, and resumed it ends as one that was never killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from grid import daily
from training.cases import TINY

# Ten epochs, with dropout, mixed-in predictions, a schedule with a warm-up, validations within epochs, and patience.
SETTINGS: dict[str, Any] = {
    **TINY,
    "model.dropout": 0.3,
    "train.epochs": 10,
    "train.updates": "none",
    "train.batch_tokens": 230,
    "train.learning_rate": 0.05,
    "train.scheduled_sampling": 0.5,
    "train.label_smoothing": 0.1,
    "train.schedule": "cosine",
    "train.warmup_updates": 5,
    "train.validate_every": 0.7,
    "train.metric": "bleu",
    "train.patience": 20,
    "train.keep": 2,
    "train.checkpoint_minutes": 1e-9,  # after each update
}


class Killer:
    """The other end of `killing.Server`."""

    def __init__(self, pairs: Path, folder: Path) -> None:
        tests, source = Path(__file__).parents[1], Path(__file__).parents[2] / "src"
        path = os.pathsep.join([str(tests), str(source)])
        self.process = subprocess.Popen(
            [sys.executable, "-m", "training.killing"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )
        self._write({"pairs": str(pairs), "folder": str(folder), "settings": SETTINGS})
        self.straight = self.ask(do="straight")

    def ask(self, **request: Any) -> dict[str, Any]:
        self._write(request)
        assert self.process.stdout is not None
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer

    def _write(self, value: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value) + "\n")
        self.process.stdin.flush()

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def killer(pairs, tmp_path_factory):
    killer = Killer(pairs, tmp_path_factory.mktemp("killed"))
    yield killer
    killer.close()


def moment(killer: Killer, kind: str, rng: random.Random) -> tuple[str, float]:
    if kind == "seconds":
        return kind, rng.uniform(0, 1) * killer.straight["seconds"]
    if kind == "line":
        return kind, rng.randrange(killer.straight["lines"])
    return kind, rng.randrange(20)  # files that are seen while they are being written


def check(killer: Killer, name: str, moments: list[tuple[str, float]]) -> list[str]:
    """Kill and resume; the files that were being written when it was killed the last time."""
    straight, found = killer.straight, killer.ask(do="killed", name=name, moments=moments)
    assert found["loaded"] < 0
    for key in ("files", "tensors", "rows", "progress", "best", "recipe.toml", "vocabulary.json"):
        assert found[key] == straight[key], (key, moments)
    # Whatever was done twice was done in the same way: epoch, batch, learning rate, share of the budget, loss.
    expected = {update: rest for update, *rest in straight["events"]}
    assert {update for update, *_ in found["events"]} == set(expected)
    for update, *rest in found["events"]:
        assert rest == expected[update], moments
    return found["left"]


def test_the_straight_training_has_all_that_may_go_wrong(killer):
    straight = killer.straight
    assert straight["same_again"]  # the budget is in epochs, and two trainings are the same bits
    updates = [update for update, *_ in straight["events"]]
    assert updates == list(range(1, len(updates) + 1))
    assert len(updates) >= 30
    assert len({tuple(batch) for _, _, batch, *_ in straight["events"]}) > 20
    assert 10 <= len(straight["rows"]) < len(updates)
    assert {row["best"] for row in straight["rows"]} == {"0", "1"}
    assert len([name for name in straight["files"] if name.startswith("kept/")]) == 2


def test_five_epochs_and_five_more_are_ten(killer):
    """Parameters, optimiser, batches, learning rates, patience; killed after the last update of the fifth."""
    last = max(update for update, epoch, *_ in killer.straight["events"] if epoch == 5)
    assert len(killer.straight["events"]) > last + 10
    check(killer, "five", [("update", last)])


@pytest.mark.parametrize("kind", daily(["seconds", "line", "file"], ["line"]))
def test_killed_once(killer, kind):
    check(killer, f"once-{kind}", [moment(killer, kind, random.Random(f"once {kind}"))])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(50))
def test_killed_at_a_random_moment(killer, number):
    rng = random.Random(f"random {number}")
    check(killer, f"random-{number}", [moment(killer, rng.choice(["seconds", "line", "file"]), rng)])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(5))
def test_killed_and_killed_again(killer, number):
    rng = random.Random(f"twice {number}")
    first = ("line", rng.randrange(killer.straight["lines"] // 2))
    check(killer, f"twice-{number}", [first, ("line", rng.randrange(killer.straight["lines"] // 3))])


@pytest.mark.slow
def test_killed_while_a_file_is_written(killer):
    """Seldom is a process killed at the very moment, so it is tried until some were."""
    found: list[str] = []
    for number in range(25):
        found += check(killer, f"file-{number}", [("file", number)])
        if len(found) == 5:
            return
    pytest.fail(f"only {found} were being written")
