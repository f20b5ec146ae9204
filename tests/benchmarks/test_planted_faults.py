"""The script that makes models with planted faults and counts what is found: two updates, one model, one verdict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def planted(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def run(*words):
    # In a process of its own: the planted parts would stand among the real ones in every test that comes after.
    command = [sys.executable, "-c", f"import planted_faults; [planted_faults.main(each) for each in {list(words)!r}]"]
    path = os.pathsep.join([str(BENCHMARKS), *sys.path])
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_model_is_made_once_and_judged(tmp_path):
    make = ["make", str(tmp_path), "--seed-base", "7", "--only", "frozen", "--limit", "1", "--updates", "2"]
    told = run(make, make, ["judge", str(tmp_path), "--out", str(tmp_path / "table.md")])
    (entry,) = map(json.loads, (tmp_path / "manifest.jsonl").read_text().splitlines())
    assert told.count("seed 11") == 1
    assert (tmp_path / entry["folder"] / "model.safetensors").exists()
    assert (entry["truth"], entry["fusion"], entry["seed"]) == ("frozen", "early", 11)
    found = json.loads((tmp_path / "table.json").read_text())
    assert found["confusion"]["frozen"] == {"frozen": 1}  # v is 0 after two updates as after two thousand
    assert "| frozen | 1 |" in (tmp_path / "table.md").read_text()


def test_counts_by_hand(planted):
    from planted.judge import figures, report

    made = [
        ("healthy", "early", "healthy"),
        ("healthy", "late", "healthy"),
        ("healthy", "late", "lazy"),
        ("lazy", "early", "lazy"),
        ("lazy", "late", "strange"),
    ]
    judged = [
        {"truth": truth, "fusion": fusion, "verdict": verdict, "monotonic": verdict != "lazy"}
        for truth, fusion, verdict in made
    ]
    found = figures(judged)
    assert found["confusion"]["healthy"] == {"healthy": 2, "lazy": 1}
    assert (found["right"], found["models"], found["right_percent"]) == (3, 5, 60)
    assert (found["false_alarms"], found["healthy"]) == (1, 3)
    assert (found["fusions"]["early"]["right"], found["fusions"]["late"]["right"]) == (2, 1)
    assert found["fusions"]["early"]["false_alarms"] == 0
    text = report(judged, failed=4)
    assert "| lazy | 2 |" in text
    assert "strange |" in text
    assert "all: 3 of 5 right (60.0 %); false alarms on 1 of 3 healthy ones (33.3 %)" in text
    assert "Of the healthy models 1 do tasks that are not monotonic." in text
    assert text.endswith("learned: 4.\n")


def test_each_task_writes_what_its_order_says(planted):
    import random

    from planted.tasks import TASKS, Texts, links, pairs

    for name, written in [
        ("reverse", "dcba"),
        ("swap", "badc"),
        ("rotate", "cdab"),
        ("odd_even", "acbd"),
        ("double", "aabbccdd"),
        ("shift", "BCDE"),
        ("spell", "zeroonetwothree"),
    ]:
        task = TASKS[name]
        assert task.write("abcd", task.order("abcd"), random.Random(1)) == written
    assert links("rotate", "abcde") == [(3, 0), (4, 1), (0, 2), (1, 3), (2, 4)]
    assert links("swap", "abc") == [(1, 0), (0, 1), (2, 2)]
    assert links("spell", "aj") == [(0, 0), (0, 1), (0, 2), (0, 3), (1, 4), (1, 5), (1, 6), (1, 7)]
    found = pairs(Texts("reverse", letters=2, shortest=1, longest=2), random.Random(3), 4, but=["a", "bb"])
    assert found == {source: source[::-1] for source in found}
    assert set(found) == {"b", "aa", "ab", "ba"}


def test_there_are_enough_models_of_each_kind(planted):
    from planted.recipes import TRUTHS, planted

    models = list(planted(11))
    assert {one.seed for one in models}.isdisjoint(one.seed for one in planted(11, attempt=1))
    for truth in TRUTHS:
        some = [one for one in models if one.plant.truth == truth]
        assert len(some) >= (20 if truth == "healthy" else 5)
        assert {one.fusion for one in some} == {"early", "late"}
    healthy = [one.task for one in models if one.plant.truth == "healthy"]
    assert 2 * sum(task in ("reverse", "swap", "rotate", "odd_even", "sort") for task in healthy) >= len(healthy)


@pytest.mark.parametrize(
    ("truth", "error", "agreement", "long_error", "why_not"),
    [
        ("healthy", 5.0, 0.8, None, None),
        ("healthy", 5.1, 1.0, None, "has not learned"),
        ("healthy", 0.0, 0.79, None, "looks elsewhere"),
        ("healthy", 0.0, None, None, None),
        ("lazy", 99.0, 0.1, None, None),
        ("late_collapse", 0.0, 0.1, 20.0, None),
        ("late_collapse", 0.0, 0.1, 19.9, "does not collapse"),
        ("late_collapse", 6.0, 1.0, 50.0, "has not learned"),
    ],
)
def test_which_models_count_is_told_by_their_training(planted, truth, error, agreement, long_error, why_not):
    from planted.make import refused

    quality = {"token_error": error, "agreement": agreement, "long_token_error": long_error}
    assert refused(truth, quality) == why_not
