"""What a design costs: speeds and peak memory, each in a process that does nothing else, with nothing beside it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from heedful.api.comparing.answers import key_of
from heedful.api.comparing.processes import Processes
from heedful.comparison import Cost
from heedful.files import write_atomically
from heedful.recipes import Recipe, as_toml
from heedful.series import Finished, digest_of

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
    alone = Processes(threads)
    trained = alone.ask({"do": "train", "recipe": recipe.model_dump(), "pairs": pairs, "dev": dev})
    predicted = alone.ask({"do": "predict", "run": str(finished.folder), "pairs": test})
    cost = Cost(
        parameters=finished.parameters,
        train_tokens_per_second=trained["speed"],
        sentences_per_second=predicted["speed"],
        train_memory=trained["memory"],
        predict_memory=predicted["memory"],
    )
    write_atomically(path, json.dumps({"key": key, "cost": cost.model_dump()}, indent=1) + "\n")
    return cost


def processor() -> str:
    """The name that Linux has for the processor, else the architecture."""
    import platform

    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
