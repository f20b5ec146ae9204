"""A comparison and its file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from comparison.sample import sample_comparison
from heedful.comparison import Comparison
from heedful.errors import DataError


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    return sample_comparison(sources=40)


def test_a_file_gives_back_what_was_saved(comparison, tmp_path):
    path = tmp_path / "comparison.json"
    comparison.save(path)
    assert Comparison.load(path) == comparison
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda value: value.update(version=2), "version"),
        (lambda value: value.pop("designs"), "designs"),
        (lambda value: value["budget"].update(seeds=["1"]), "budget.seeds.0"),
        (
            lambda value: value["examples"][0]["answers"][1]["alignment"].pop("weights"),
            "examples.0.answers.1.alignment",
        ),
        (lambda value: value["judged"][0]["errors"][0].update(other=1), "judged.0.errors.0.other"),
    ],
)
def test_what_is_no_comparison_is_refused(comparison, tmp_path, change, told):
    value = json.loads(comparison.model_dump_json())
    change(value)
    path = tmp_path / "comparison.json"
    path.write_text(json.dumps(value))
    with pytest.raises(DataError, match=rf"comparison.json: expected a comparison, version 1; {told}: "):
        Comparison.load(path)


def test_a_file_that_is_not_there_or_no_json(tmp_path):
    with pytest.raises(DataError, match=r"nowhere.json: cannot be read"):
        Comparison.load(tmp_path / "nowhere.json")
    (tmp_path / "text.json").write_text("no JSON")
    with pytest.raises(DataError, match=r"text.json: expected a comparison, version 1; the file"):
        Comparison.load(tmp_path / "text.json")


def test_the_part_that_decides(comparison):
    assert comparison.part.name == "test"
    assert comparison.judgement() is comparison.judged[3]
    assert comparison.judgement("token_error", "dev") is comparison.judged[1]


def test_no_torch():
    code = "import heedful.comparison.groups, sys; assert 'torch' not in sys.modules, 'torch'"
    subprocess.run([sys.executable, "-c", code], check=True)
