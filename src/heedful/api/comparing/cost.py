"""What a design costs: speeds and peak memory, each in a process that does nothing else, with nothing beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heedful.api.comparing.answers import key_of
from heedful.comparison import Cost
from heedful.errors import RunError
from heedful.files import write_atomically
from heedful.recipes import Recipe, as_toml
from heedful.series import Finished, digest_of
from heedful.series.parent import environment

FILE = "cost.json"


def cost_of(
    finished: Finished,
    recipe: Recipe,
    *,
    pairs: str,
    dev: str,
    test: str,
    threads: int | None,
    key: str,
    begun: Callable[[], object],
) -> Cost:
    """Measured now, or read where it was measured before.

    Args:
        finished: the design's run that answers.
        threads: of the processes; None for as many as PyTorch takes.
        key: of the machine.
        begun: called if there is something to measure.
    """
    path = finished.folder.parent / FILE
    key = key_of([key, as_toml(recipe), *map(digest_of, (pairs, dev, test)), threads])
    try:
        kept = json.loads(path.read_bytes())
        if kept["key"] == key:
            return Cost.model_validate_json(json.dumps(kept["cost"]))
    except (OSError, ValueError, KeyError, TypeError):
        pass  # it is measured again
    begun()
    trained = _ask({"do": "train", "recipe": recipe.model_dump(), "pairs": pairs, "dev": dev}, threads)
    predicted = _ask({"do": "predict", "run": str(finished.folder), "pairs": test}, threads)
    cost = Cost(
        parameters=finished.parameters,
        train_tokens_per_second=trained["speed"],
        sentences_per_second=predicted["speed"],
        train_memory=trained["memory"],
        predict_memory=predicted["memory"],
    )
    write_atomically(path, json.dumps({"key": key, "cost": cost.model_dump()}, indent=1) + "\n")
    return cost


def _ask(job: dict[str, Any], threads: int | None) -> dict[str, Any]:
    command = [sys.executable, "-m", "heedful.api.comparing.measure"]
    done = subprocess.run(
        command, input=json.dumps(job), env=environment(threads), capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode:
        told = " ".join(done.stderr.split()[-60:])
        raise RunError(f"{job['do']}: could not be measured, its process ended with code {done.returncode}: {told}")
    return json.loads(done.stdout)


def processor() -> str:
    """The name that Linux has for the processor, else the architecture."""
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
