"""A process that does one job: it comes as JSON by standard input, the result goes out as JSON."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any


def answer(job: dict[str, Any]) -> dict[str, Any]:
    """What a run answers, and the character of its attention; both are kept beside the run."""
    from heedful.api.comparing.answers import answered
    from heedful.api.comparing.data import Split
    from heedful.runs import load_description
    from heedful.series import Finished
    from heedful.training.reading import read

    _, recipe, codec = load_description(job["first"])
    held = {name: read(job[name], recipe.data) for name in ("dev", "test")}
    answered(
        Finished(**{**job["finished"], "folder": Path(job["finished"]["folder"])}),
        Split("", job["dev"], job["test"], job["links"], held),
        out=Path(job["out"]),
        target_split=codec.target_tokeniser.split,
        token_name=recipe.data.target_tokens.name,
        key=job["key"],
        begun=lambda: None,
    )
    return {}


def measure(job: dict[str, Any]) -> dict[str, Any]:
    """A speed, and the peak memory of this process."""
    from heedful.api.comparing import measure

    speed = {"train": measure.train, "predict": measure.predict}[job["do"]](job)
    return {"speed": speed, "memory": measure.peak_memory()}


DO = {"answer": answer, "train": measure, "predict": measure}


def main() -> None:
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print goes with the errors
    job = json.loads(sys.stdin.read())
    from heedful.errors import HeedfulError

    try:
        result = DO[job["do"]](job)
    except HeedfulError as error:
        result = {"error": [type(error).__name__, str(error)]}
    with out:
        json.dump(result, out)


if __name__ == "__main__":
    main()
