"""Every write of a training, one after the other: killed in it, or with a full disk. What was saved is never lost."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

import heedful
from grid import daily
from heedful.errors import RunError
from training.cases import progress_of, resume, rows, same_tensors, train_tiny

SETTINGS = {
    "train.updates": 3,  # a look after the second, and one at the end, for which the third has been saved already
    "train.batch_tokens": 220,
    "train.validate_every": 0.5,
    "train.metric": "loss",
    "train.learning_rate": 1.0,
    "train.keep": 1,
    "train.checkpoint_minutes": 1e-9,
    "model.dropout": 0.3,
}


class Killed(BaseException):
    """As SIGKILL: nobody catches it, and nobody tidies up."""


class Writes:
    """Counts the files that are put in place, by name, and fails at one of them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, fails_at: int | None, error: BaseException | None) -> None:
        self.names: list[str] = []
        self.honest = os.replace
        self.fails_at, self.error = fails_at, error
        monkeypatch.setattr(os, "replace", self.replace)
        if isinstance(error, Killed):
            honest = os.unlink
            monkeypatch.setattr(os, "unlink", lambda path: None if "-unfinished-" in str(path) else honest(path))

    def replace(self, source: str, target: Path) -> None:
        self.names.append(str(target))
        if len(self.names) - 1 == self.fails_at:
            assert self.error is not None
            raise self.error
        self.honest(source, target)


@pytest.fixture(scope="module")
def straight(pairs, tmp_path_factory):
    out = tmp_path_factory.mktemp("straight") / "run"
    with pytest.MonkeyPatch.context() as patch:
        writes = Writes(patch, None, None)
        train_tiny(pairs, out, set=SETTINGS)
    return out, [str(Path(name).relative_to(out)) for name in writes.names]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check_same(out: Path, straight: Path) -> None:
    assert contents(out).keys() == contents(straight).keys()  # nothing is left over either
    assert rows(out) == rows(straight)
    assert progress_of(out) == progress_of(straight)
    for name in contents(straight):
        if name.endswith(".safetensors"):
            assert same_tensors(out / name, straight / name), name


def go_on(pairs: Path, out: Path) -> None:
    """Resume; or, where there is no checkpoint yet, train anew, for which the folder need not be emptied."""
    if (out / "checkpoint.safetensors").exists():
        assert heedful.load(out).predict(["abc"], beam=2)[0].score < 0
        resume(pairs, out)
    else:
        if out.exists():
            with pytest.raises(
                RunError, match=r"not a complete run: .*missing|is missing, so there is nothing to resume"
            ):
                resume(pairs, out)
        train_tiny(pairs, out, set=SETTINGS)


def test_the_order_of_the_writes(straight):
    """Weights before the first checkpoint; later the log, the checkpoint, and what follows from it."""
    _, names = straight
    first = ["vocabulary.json", "recipe.toml", "model.safetensors", "checkpoint.safetensors"]
    assert names[:4] == first
    assert set(names) == {*first, "log.csv", *(name for name in names if name.startswith("kept/"))}
    assert " ".join(name.partition(".")[0].partition("/")[0] for name in names[4:]) == (
        "checkpoint log checkpoint model kept checkpoint log checkpoint kept"
    )


@pytest.mark.parametrize("part", daily(range(3), [0]))
def test_killed_in_any_write(pairs, tmp_path, straight, part):
    """The new file is there beside the old one, and has not taken its place."""
    folder, names = straight
    for number in range(part, len(names), 3):
        out = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patch:
            Writes(patch, number, Killed())
            with pytest.raises(Killed):
                train_tiny(pairs, out, set=SETTINGS)
        assert [path for path in out.rglob("*") if "-unfinished-" in path.name]
        go_on(pairs, out)
        check_same(out, folder)


@pytest.mark.parametrize("part", daily(range(3), [0]))
def test_a_disk_that_is_full_at_any_write(pairs, tmp_path, straight, part):
    """One message that names the file, and nothing is lost: with room again it goes on."""
    folder, names = straight
    for number in range(part, len(names), 3):
        out = tmp_path / str(number)
        with pytest.MonkeyPatch.context() as patch:
            Writes(patch, number, OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
            with pytest.raises(RunError) as caught:
                train_tiny(pairs, out, set=SETTINGS)
        assert str(caught.value) == f"{out / names[number]}: cannot be written: No space left on device"
        go_on(pairs, out)
        check_same(out, folder)


def test_a_disk_without_room_for_a_folder(pairs, tmp_path, monkeypatch):
    def full(*arguments: Any, **more: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "mkdir", full)
        with pytest.raises(RunError, match=r"run: cannot be made: No space left on device"):
            train_tiny(pairs, tmp_path / "run", set=SETTINGS)
    out = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", lambda path, **more: full() if path.name == "kept" else os.mkdir(path))
        with pytest.raises(RunError, match=r"kept: cannot be written: No space left on device"):
            train_tiny(pairs, out, set=SETTINGS)
    heedful.load(out)
    resume(pairs, out)
    assert len(list((out / "kept").iterdir())) == 1


def test_what_was_left_behind_goes_when_a_run_is_replaced(pairs, tmp_path, straight):
    """All that is ours, and nothing that is not."""
    folder, _ = straight
    out = train_tiny(pairs, tmp_path / "run", set={"train.updates": 1, "train.keep": 2, "train.batch_tokens": 9999})
    mine = ["notes.txt", ".notes-unfinished-abcdefgh.txt", "kept/best.safetensors", "model.safetensors.old"]
    left = [f".{name}-unfinished-abcd_123.safetensors" for name in ("model", "checkpoint")]
    left += [".log-unfinished-abcd_123.csv", "kept/.000003-unfinished-abcd_123.safetensors", "kept/000017.safetensors"]
    for name in (*mine, *left):
        (out / name).write_text("x")
    train_tiny(pairs, out, set=SETTINGS, overwrite=True)
    assert contents(out).keys() - contents(folder).keys() == set(mine)
    for name in mine:
        (out / name).unlink()
    check_same(out, folder)
    (out / "kept" / ".000003-unfinished-abcd_123.safetensors").write_text("x")
    train_tiny(pairs, out, set={**SETTINGS, "train.keep": 0}, overwrite=True)
    assert not (out / "kept").exists()
