"""The mean of weights is a run like any other, and only weights that fit together have one."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import heedful
from heedful.api.average import average
from heedful.errors import RunError
from heedful.runs import load_tensors, save_tensors
from training.cases import resume, train_tiny, words, write_pairs

SETTINGS = {"train.updates": 9, "train.validate_every": 0.5, "train.keep": 3}


@pytest.fixture(scope="module")
def kept(pairs, tmp_path_factory) -> Path:
    return train_tiny(pairs, tmp_path_factory.mktemp("kept") / "run", set=SETTINGS)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "kept").iterdir())


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(folder: Path, act: Any) -> str:
    before = contents(folder)
    with pytest.raises(RunError) as caught:
        act()
    assert contents(folder) == before
    return str(caught.value)


def test_each_weight_is_the_mean(kept, tmp_path):
    """Of three that were kept: in double precision, and rounded once."""
    out = average(files(kept), out=tmp_path / "mean")
    assert out == tmp_path / "mean"
    assert sorted(path.name for path in out.iterdir()) == ["model.safetensors", "recipe.toml", "vocabulary.json"]
    mean, about = load_tensors(out / "model.safetensors")
    parts = [load_tensors(path)[0] for path in files(kept)]
    assert len(parts) == about["averaged"] == 3
    for name, tensor in mean.items():
        one, two, three = (part[name].double() for part in parts)
        assert torch.equal(tensor, ((one + two + three) / 3).float()), name
        assert not torch.equal(one, two)
    for name in ("recipe.toml", "vocabulary.json"):
        assert (out / name).read_bytes() == (kept / name).read_bytes()
    assert heedful.load(out).predict(["abc"])[0].score < 0


def test_the_mean_of_large_numbers_is_not_infinite(kept, tmp_path):
    """Two of 3e38 do not fit into single precision together."""
    path = files(kept)[0]
    tensors, about = load_tensors(path)
    name = sorted(tensors)[0]
    tensors[name][:] = 3e38
    large = shutil.copytree(kept, tmp_path / "run")
    save_tensors(large / "kept" / path.name, tensors, about)
    out = average([large / "kept" / path.name] * 2, out=tmp_path / "mean")
    assert torch.equal(load_tensors(out / "model.safetensors")[0][name], tensors[name])


@pytest.mark.parametrize("times", [1, 2, 3, 7])
def test_a_run_with_itself_is_the_same_bits(kept, tmp_path, times):
    out = average([kept] * times, out=tmp_path / "mean")
    before, after = (load_tensors(folder / "model.safetensors")[0] for folder in (kept, out))
    assert before.keys() == after.keys()
    assert all(torch.equal(before[name].view(torch.int32), after[name].view(torch.int32)) for name in before)
    for text in ("abc", "fedcba"):
        assert heedful.load(out).predict([text])[0].text == heedful.load(kept).predict([text])[0].text


def test_a_run_is_its_best_weights(kept, tmp_path, monkeypatch):
    """And a path may be relative, or text."""
    monkeypatch.chdir(kept.parent)
    first = average(["run", "run/kept/000009.safetensors"], out=tmp_path / "one")
    second = average([kept / "model.safetensors", Path("run/kept/000009.safetensors")], out=tmp_path / "two")
    assert contents(first) == contents(second)
    monkeypatch.chdir(kept / "kept")
    third = average([os.path.join("..", "model.safetensors"), "000009.safetensors"], out=tmp_path / "three")
    assert contents(first) == contents(third)


def test_a_mean_can_be_averaged_but_not_resumed(kept, pairs, tmp_path):
    out = average([kept], out=tmp_path / "mean")
    average([out, kept], out=tmp_path / "again")
    message = refused(out, lambda: resume(pairs, out))
    assert (
        message == f"{out / 'checkpoint.safetensors'}: is missing, so there is nothing to resume; train without resume"
    )
    assert "holds a run already" in refused(out, lambda: train_tiny(pairs, out))


def test_a_run_is_not_averaged_over(kept, tmp_path):
    out = shutil.copytree(kept, tmp_path / "run")
    assert "holds a run already" in refused(out, lambda: average([kept], out=out))
    (out / "notes.txt").write_text("mine")
    average(files(out), out=out, overwrite=True)  # what is averaged may be what is replaced
    expected = average(files(kept), out=tmp_path / "mean")
    assert {**contents(expected), "notes.txt": b"mine"} == contents(out)


def test_nothing_is_made_where_nothing_can_be_averaged(kept, pairs, tmp_path):
    other = write_pairs(tmp_path / "other.tsv", ((word, word.upper()) for word in words(60)))
    runs = {
        "the same vocabularies": train_tiny(other, tmp_path / "vocabulary", set={"train.updates": 1}),
        "the same model": train_tiny(
            pairs, tmp_path / "model", set={"train.updates": 1, "model.normaliser": "sparsemax"}
        ),
    }
    for what, run in runs.items():
        for paths in ([kept, run], [files(kept)[0], kept, run]):
            first = kept / "model.safetensors" if len(paths) == 2 else paths[0]
            with pytest.raises(RunError) as caught:
                average(paths, out=tmp_path / "mean")
            says = f"expected {what} for an average, got others: {first} and {run / 'model.safetensors'}"
            assert str(caught.value) == says
    damaged = shutil.copytree(kept, tmp_path / "damaged")
    (damaged / "model.safetensors").write_bytes(b"x")
    lone = shutil.copy(files(kept)[0], tmp_path / "lone.safetensors")
    for paths, says in (
        ([], "expected a list of at least one run or file of weights, got []"),
        (str(kept), "expected a list of at least one run"),
        ([kept, tmp_path / "nope"], f"{tmp_path / 'nope'}: no such run folder or file of weights"),
        ([tmp_path], f"{tmp_path}: not a complete run"),
        ([lone], f"{lone}: expected a file of weights inside a run folder, got one without recipe.toml above it"),
        ([kept, damaged], f"{damaged / 'model.safetensors'}: expected a whole safetensors file"),
        ([kept / "log.csv"], f"{kept / 'log.csv'}: expected a whole safetensors file"),
        ([kept / "checkpoint.safetensors"], f"{kept / 'checkpoint.safetensors'}: not this recipe's weights"),
    ):
        with pytest.raises(RunError) as caught:
            average(paths, out=tmp_path / "mean")
        assert str(caught.value).startswith(says)
    assert not (tmp_path / "mean").exists()
