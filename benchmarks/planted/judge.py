"""Diagnosing the models, and the confusion matrix."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import heedful
from heedful.files import write_atomically
from planted.make import FAILED, read_manifest
from planted.recipes import TRUTHS


def judge(folder: Path, *, out: Path | None, tell: Callable[[str], object]) -> None:
    """Diagnose every model in the manifest, tell what was not judged as it was made, and then the table."""
    judged = []
    for entry in read_manifest(folder):
        diagnosis = heedful.diagnose(folder / entry["folder"], folder / entry["data"]).as_json()
        judged.append({**entry, **diagnosis})
        if diagnosis["verdict"] != entry["truth"]:
            tell(f"{entry['folder']} ({entry['how']}): judged {diagnosis['verdict']}; {diagnosis['evidence']}")
    text = report(judged, failed=len(read_manifest(folder, FAILED)))
    tell("\n" + text)
    if out is not None:
        write_atomically(out, text)
        write_atomically(out.with_suffix(".json"), json.dumps({**figures(judged), "models": judged}, indent=1) + "\n")


def figures(judged: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The confusion matrix, truth -> verdict -> models, and shares in percent: over all, and by fusion."""
    fusions = {name: [one for one in judged if one["fusion"] == name] for name in ("early", "late")}
    return {
        "confusion": {truth: dict(_verdicts(judged, truth)) for truth in TRUTHS},
        **_shares(judged),
        "fusions": {name: _shares(some) for name, some in fusions.items() if some},
    }


def _verdicts(judged: Sequence[dict[str, Any]], truth: str) -> Counter[str]:
    return Counter(one["verdict"] for one in judged if one["truth"] == truth)


def _shares(judged: Sequence[dict[str, Any]]) -> dict[str, Any]:
    healthy = [one for one in judged if one["truth"] == "healthy"]
    right = sum(one["verdict"] == one["truth"] for one in judged)
    alarms = sum(one["verdict"] != "healthy" for one in healthy)
    return {
        "models": len(judged),
        "right": right,
        "right_percent": 100 * right / len(judged) if judged else None,
        "healthy": len(healthy),
        "false_alarms": alarms,
        "false_alarms_percent": 100 * alarms / len(healthy) if healthy else None,
    }


def report(judged: Sequence[dict[str, Any]], *, failed: int) -> str:
    """The figures as Markdown; rows are what a model was made to be, columns what it was judged to be."""
    every = figures(judged)
    columns = [*TRUTHS, *sorted({one["verdict"] for one in judged} - set(TRUTHS))]
    lines = [
        "| made to be | models | " + " | ".join(column.replace("_", " ") for column in columns) + " |",
        "| --- |" + " --- |" * (1 + len(columns)),
    ]
    for truth, verdicts in every["confusion"].items():
        cells = [str(verdicts.get(column, "") or "") for column in columns]
        lines.append(f"| {truth.replace('_', ' ')} | {sum(verdicts.values())} | {' | '.join(cells)} |")
    other = sum(not one["monotonic"] for one in judged if one["truth"] == "healthy")
    rows = [("all", every), *every["fusions"].items()]
    lines += ["", *(_line(name, shares) for name, shares in rows)]
    lines += [
        "",
        f"Of the healthy models {other} do tasks that are not monotonic. Made again with another seed, because of",
        f"the rules in `benchmarks/planted/make.py` for what has learned: {failed}.",
    ]
    return "\n".join(lines) + "\n"


def _line(name: str, shares: dict[str, Any]) -> str:
    text = f"- {name}: {shares['right']} of {shares['models']} right ({shares['right_percent']:.1f} %)"
    if shares["healthy"]:
        share = f"{shares['false_alarms_percent']:.1f} %"
        text += f"; false alarms on {shares['false_alarms']} of {shares['healthy']} healthy ones ({share})"
    return text
