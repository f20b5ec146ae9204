"""A run is taken up with its own files and data only, and what has changed is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

import heedful
from heedful.errors import HeedfulError, RecipeError, RunError
from heedful.training import loop
from heedful.training.checkpoint import Store
from training.cases import (
    Recorder,
    progress_of,
    resume,
    rows,
    spelled,
    tensors_of,
    train_tiny,
    words,
    write_pairs,
)

SETTINGS = {"train.updates": 9, "train.validate_every": 0.5, "train.keep": 3, "train.schedule": "constant"}


@pytest.fixture(scope="module")
def runs(pairs, tmp_path_factory) -> dict[str, Path]:
    """A run; one from another seed; one of another model, of which all weights have the same names and sizes."""
    folder = tmp_path_factory.mktemp("runs")
    changes = {"own": {}, "seed": {"train.seed": 2}, "model": {"model.normaliser": "sparsemax"}}
    return {name: train_tiny(pairs, folder / name, set={**SETTINGS, **change}) for name, change in changes.items()}


@pytest.fixture
def run(runs, tmp_path) -> Path:
    return shutil.copytree(runs["own"], tmp_path / "run")


def refused(folder: Path, act: Any, error: type[HeedfulError] = RunError) -> str:
    """The message; and not a byte of the run has changed."""
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with pytest.raises(error) as caught:
        act()
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    return str(caught.value)


def rewrite(path: Path, tensors: dict[str, Any], metadata: dict[str, Any]) -> None:
    from heedful.runs import save_tensors

    save_tensors(path, tensors, metadata)


# Files of another run.


@pytest.mark.parametrize("name", ["model.safetensors", "checkpoint.safetensors"])
def test_files_of_another_seed(runs, run, pairs, name):
    """The vocabularies and all sizes agree, and it is another run all the same."""
    shutil.copy(runs["seed"] / name, run / name)
    message = refused(run, lambda: resume(pairs, run, set={"train.updates": 12}))
    assert message == f"{run / 'model.safetensors'}: is of another run than checkpoint.safetensors beside it"
    heedful.load(run)  # to answer with them is another matter


def test_weights_of_another_update(pairs, tmp_path, monkeypatch):
    """Those that were kept are no replacement for the best: the checkpoint tells of others."""
    with monkeypatch.context() as patch:
        patch.setattr(loop, "better", lambda metric, new, old: False)
        run = train_tiny(pairs, tmp_path / "run", set=SETTINGS)
    shutil.copy(run / "kept" / "000009.safetensors", run / "model.safetensors")
    message = refused(run, lambda: resume(pairs, run, set={"train.updates": 12}))
    assert message == (
        f"{run / 'model.safetensors'}: expected the weights after 0 updates, of which checkpoint.safetensors tells, "
        "got those after 9"
    )


def test_another_model_of_the_same_sizes(runs, run, pairs):
    for name in ("model.safetensors", "kept/000009.safetensors"):
        shutil.copy(runs["model"] / name, run / name)
    says = 'not this recipe\'s weights: trained with model.normaliser = {"name": "sparsemax"}, but recipe.toml says '
    message = refused(run, lambda: heedful.load(run))
    assert message == f'{run / "model.safetensors"}: {says}{{"name": "softmax"}}'
    shutil.copy(runs["own"] / "model.safetensors", run)
    assert says in refused(run, lambda: load_kept(run, 9))
    for name in ("checkpoint.safetensors", "model.safetensors"):
        shutil.copy(runs["model"] / name, run)
        assert f"{run / name}: {says}" in refused(run, lambda: resume(pairs, run))
        shutil.copy(runs["own"] / name, run)


def load_kept(folder: Path, updates: int) -> Any:
    from heedful.runs import load_description, load_model

    return load_model(*load_description(folder), file=f"kept/{updates:06}.safetensors")


def test_other_vocabularies(run, pairs):
    """The same symbols in another order: the file is whole, and of the same length."""
    path = run / "vocabulary.json"
    values = json.loads(path.read_text())
    values["target_vocabulary"]["tokens"].reverse()
    path.write_text(json.dumps(values))
    for name, act in (
        ("model.safetensors", lambda: heedful.load(run)),
        ("checkpoint.safetensors", lambda: resume(pairs, run)),
        ("kept/000009.safetensors", lambda: load_kept(run, 9)),
    ):
        says = f"{run / name}: was trained with other vocabularies than vocabulary.json beside it"
        assert refused(run, act) == says


def test_other_columns(run, tmp_path, pairs):
    """Whether the file changes or, by hand, the recipe."""
    table = write_pairs(tmp_path / "table.tsv", ((spelled(word), word, spelled(word)) for word in words(60)))
    assert "was trained on other pairs than those given" in refused(run, lambda: resume(table, run))
    recipe = run / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("source_column = 1", "source_column = 2"))
    assert "was trained on other pairs than those given" in refused(run, lambda: resume(pairs, run))
    recipe.write_text(recipe.read_text().replace("target_column = 2", "target_column = 3"))
    resume(table, run)  # the same pairs in other columns


def test_other_development_pairs(run, tmp_path, pairs):
    """By them the best weights were chosen, and patience was counted."""
    train = tmp_path / "train.tsv"
    dev = [write_pairs(tmp_path / f"dev{n}.tsv", ((w, spelled(w)) for w in words(13, seed=n))) for n in (8, 9)]
    shutil.copy(pairs, train)
    folder = train_tiny(train, tmp_path / "other", dev=dev[0], set=SETTINGS)
    says = f"{folder / 'checkpoint.safetensors'}: was trained on other development pairs than those given; resume needs"
    assert says in refused(folder, lambda: resume(train, folder, dev=dev[1]))
    assert "was trained on other pairs" in refused(folder, lambda: resume(train, folder))  # a share is held out
    resume(train, folder, dev=dev[0])


def test_a_run_is_judged_on_all_of_the_new_data(runs, tmp_path):
    """Data of which the run knows next to nothing are told to be so, and all of them count."""
    strange = [
        *((word.translate(str.maketrans("abcdef", "uvwxyz")), spelled(word)) for word in words(20)),
        ("ab", "A B"),
    ]
    told: list[str] = []
    scores = heedful.evaluate(runs["own"], write_pairs(tmp_path / "new.tsv", strange), message=told.append)
    letters = sum(len(source) for source, _ in strange)
    assert f"{letters - 2} of {letters} source symbols were never seen in training" in told[0]
    assert scores.sources == scores.sentences == 21
    assert all("sources:21|" in scores.signatures[name] for name in ("sequence_error", "token_error", "word_error"))
    assert scores.sequence_error > 90


# Files that are damaged, but not so that they could not be read.


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers(run, pairs, value):
    path = run / "model.safetensors"
    tensors, metadata = tensors_of(path)
    name = sorted(tensors)[3]
    tensors[name].view(-1)[-1] = value
    rewrite(path, tensors, metadata)
    says = f"{path}: expected finite weights, got NaN or infinity in {name!r}"
    assert refused(run, lambda: heedful.load(run)) == says
    assert refused(run, lambda: resume(pairs, run)) == says


def test_weights_of_another_type(run):
    path = run / "model.safetensors"
    tensors, metadata = tensors_of(path)
    name = sorted(tensors)[0]
    tensors[name] = tensors[name].int()
    rewrite(path, tensors, metadata)
    message = refused(run, lambda: heedful.load(run))
    assert message == f"{path}: expected {name!r} in torch.float32, got torch.int32"


@pytest.mark.parametrize("content", [b"", b"\0" * 99, bytes(range(256)) * 9, b"\2\0\0\0\0\0\0\0{}", b"PK\x03\x04"])
def test_files_of_any_bytes(run, pairs, content):
    for name in ("model.safetensors", "checkpoint.safetensors", "vocabulary.json", "recipe.toml", "log.csv"):
        whole = (run / name).read_bytes()
        (run / name).write_bytes(content)
        assert str(run / name) in refused(run, lambda: resume(pairs, run))
        (run / name).write_bytes(whole)
    resume(pairs, run)


def changed(**progress: Any) -> Any:
    return lambda tensors, metadata: metadata["progress"].update(progress)


DAMAGES: dict[str, Any] = {
    "no data": lambda tensors, metadata: metadata.pop("data"),
    "data of no kind": lambda tensors, metadata: metadata.update(data=[1]),
    "no progress": lambda tensors, metadata: metadata.pop("progress"),
    "progress of no kind": lambda tensors, metadata: metadata.update(progress=7),
    "less progress": lambda tensors, metadata: metadata["progress"].pop("best"),
    "more progress": changed(more=1),
    "a word for a number": changed(epoch="1"),
    "half an update": changed(updates=1.5),
    "less than nothing": changed(batch=-1),
    "past the end of the epoch": changed(batch=99),
    "true is no number": changed(updates=True),
    "not a number": changed(seconds=float("nan")),
    "more than any number": changed(epoch=10**400),
    "none": changed(loss_total=None),
    "no settings": lambda tensors, metadata: metadata.pop("train"),
    "no run": lambda tensors, metadata: metadata.pop("run"),
    "no random state": lambda tensors, metadata: tensors.pop("random.cpu"),
    "another random state": lambda tensors, metadata: tensors.update({"random.cpu": torch.ones(3)}),
    "a moment that is missing": lambda tensors, metadata: tensors.pop("optimiser.2.exp_avg"),
    "a moment of another size": lambda tensors, metadata: tensors.update({"optimiser.2.exp_avg": torch.ones(2, 3)}),
    "a moment of another type": lambda tensors, metadata: tensors.update({"optimiser.2.step": torch.tensor(3)}),
    "fewer steps than none": lambda tensors, metadata: tensors.update({"optimiser.2.step": torch.tensor(-3.0)}),
    "steps without end": lambda tensors, metadata: tensors.update({"optimiser.2.step": torch.tensor(torch.inf)}),
    "a moment of another optimiser": lambda tensors, metadata: tensors.update(
        {"optimiser.2.square_avg": torch.ones(2)}
    ),
    "a moment of nothing": lambda tensors, metadata: tensors.update({"optimiser.999.step": torch.ones(())}),
    "a moment without a number": lambda tensors, metadata: tensors.update({"optimiser.x.step": torch.ones(())}),
    "something else": lambda tensors, metadata: tensors.update({"extra": torch.ones(2)}),
    "a weight that is missing": lambda tensors, metadata: tensors.pop("model.decoder.output.weight"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_checkpoint_that_was_tampered_with(run, pairs, damage):
    path = run / "checkpoint.safetensors"
    tensors, metadata = tensors_of(path)
    DAMAGES[damage](tensors, metadata)
    rewrite(path, tensors, metadata)
    assert str(path) in refused(run, lambda: resume(pairs, run, set={"train.updates": 12}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("dev_loss", "loss"),
        ("\n9,", "\n9;"),
        ("\n9,", "\nx,"),
        ("\n9,", "\n9,9,"),
        ("\n9,", "\n\n9,"),
        ("updates", "\0"),
    ],
)
def test_a_log_that_is_another(run, pairs, old, new):
    path = run / "log.csv"
    text = path.read_text()
    path.write_text(text.replace(old, new))
    assert path.read_text() != text
    assert refused(run, lambda: resume(pairs, run)).startswith(f"{path}: expected the log as it was written, got ")
    path.unlink()  # without one a new one begins
    resume(pairs, run, set={"train.updates": 12})
    assert [int(row["updates"]) for row in rows(run)][-1] == 12


# Settings that change.


def test_what_has_changed_is_told(run, pairs):
    """A new learning rate is used, and it is said that it is; so with every setting of [train]."""
    recorder = Recorder()
    settings = {"train.learning_rate": 0.125, "train.updates": 12, "train.patience": 7, "train.seed": 1}
    resume(pairs, run, set=settings, reporter=recorder)
    assert [message for message in recorder.messages if message.startswith("from here on")] == [
        "from here on train.updates is 12; it was 9",
        "from here on train.learning_rate is 0.125; it was 0.02",
        "from here on train.patience is 7; it was none",
    ]
    assert set(recorder.rates().values()) == {0.125}
    again = Recorder()
    resume(pairs, run, reporter=again)
    assert not [message for message in again.messages if message.startswith("from here on")]


def test_settings_that_must_not_change(run, pairs):
    """What is saved would mean something else. To say what is so already does no harm."""
    for key, old, new in (("optimiser", "adam", "sgd"), ("metric", "sequence_error", "bleu")):
        message = refused(run, lambda key=key, new=new: resume(pairs, run, set={f"train.{key}": new}), RecipeError)
        says = f"cannot be resumed with another {key}: expected train.{key} = {old!r}, got {new!r}"
        assert message == f"{run / 'checkpoint.safetensors'}: {says}"
        resume(pairs, run, set={f"train.{key}": old})


@pytest.mark.parametrize("tokens", [60, 9999])
def test_batches_of_another_size(pairs, tmp_path, tokens):
    """In the middle of an epoch, which goes on at the share of it that was done; and comes to an end."""

    def stop(recorder: Recorder) -> None:
        if len(recorder.updates) == 4:
            raise KeyboardInterrupt

    settings = {"train.checkpoint_minutes": 1e-9, "train.epochs": 3, "train.updates": "none", "train.batch_tokens": 150}
    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, tmp_path / "run", set=settings, reporter=Recorder(stop))
    before = progress_of(tmp_path / "run")
    assert (before["updates"], before["batch"]) == (3, 3)
    share = before["batch"] / before["batches"]
    recorder = Recorder()
    resume(pairs, tmp_path / "run", set={"train.batch_tokens": tokens}, reporter=recorder)
    assert recorder.updates[0].share == pytest.approx(share / 3, abs=0.02 if tokens == 60 else 1 / 3)
    after = progress_of(tmp_path / "run")
    assert (after["epoch"], after["batch"]) == (3, 0)
    assert [float(row["epoch"]) for row in rows(tmp_path / "run")] == [1, 2, 3]


# Half precision's scaler.


class Scaler:
    """As torch.amp.GradScaler saves and loads itself."""

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def state_dict(self) -> dict[str, Any]:
        return {"scale": self.scale, "_growth_tracker": 3}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.scale = state["scale"]


def test_the_scaler_of_half_precision_goes_on(run, pairs, monkeypatch):
    """Its scale is found by trial: begun anew it skips updates."""
    made = Store.__init__
    scalers = [Scaler(65536.0), Scaler(0.5), Scaler(1.0)]
    first, second, third = scalers

    def with_scaler(self: Store, folder: Any, model: Any, optimiser: Any, scaler: Any, *rest: Any) -> None:
        made(self, folder, model, optimiser, scalers.pop(0), *rest)

    monkeypatch.setattr(Store, "__init__", with_scaler)
    resume(pairs, run, set={"train.updates": 12})  # nothing was saved of it, and nothing is put back
    assert first.scale == 65536.0
    resume(pairs, run, set={"train.updates": 15})
    assert second.scale == 65536.0
    resume(pairs, run)
    assert third.scale == 65536.0
