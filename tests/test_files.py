"""Files are whole: the old one or the new one, whatever happens in between."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import pytest

from heedful.errors import RunError
from heedful.files import remove_unfinished, replace_atomically, write_atomically


def test_text_is_utf8_and_bytes_are_bytes(tmp_path):
    write_atomically(tmp_path / "a.txt", "é\n\u2028\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "é\n\u2028\r\n".encode()  # no end of line is translated
    write_atomically(str(tmp_path / "b.bin"), b"\x00\xff")
    assert (tmp_path / "b.bin").read_bytes() == b"\x00\xff"
    write_atomically(tmp_path / "b.bin", b"")
    assert (tmp_path / "b.bin").read_bytes() == b""
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "b.bin"]


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_writer_that_fails_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def write(temporary: str) -> None:
        Path(temporary).write_text("half of the ne")
        raise error

    expected = RunError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected) as caught:
        replace_atomically(path, write)
    if expected is RunError:
        assert str(caught.value) == f"{path}: cannot be written: No space left on device"
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]  # and nothing beside it


@pytest.mark.parametrize("step", ["fsync", "chmod", "replace"])
def test_a_step_that_fails_leaves_what_was_there(tmp_path, monkeypatch, step):
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def fail(*arguments: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(RunError, match=r"a\.txt: cannot be written: Input/output error"):
            write_atomically(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_it_is_on_the_disk_before_it_is_in_place(tmp_path, monkeypatch):
    """The content is flushed before the name is changed, and the name after that: else a power cut could lose both."""
    steps = []
    sync, replace = os.fsync, os.replace
    inode = os.stat

    def fsync(descriptor: int) -> None:
        kind = "folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        steps.append(f"flush {kind}")
        sync(descriptor)

    def replace_(source: str, target: str) -> None:
        steps.append("replace")
        assert inode(source).st_size == 3
        replace(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace_)
    write_atomically(tmp_path / "a.txt", "new")
    assert steps == ["flush file", "replace", "flush folder"]


def test_a_reader_never_sees_half(tmp_path):
    """While the new content is being written, the old is there under the name."""
    path = tmp_path / "a.txt"
    write_atomically(path, "old")

    def write(temporary: str) -> None:
        Path(temporary).write_text("new")
        assert path.read_text() == "old"
        assert Path(temporary).parent == tmp_path  # on the same disk
        assert Path(temporary).suffix == ".txt"  # by which some writers choose their format

    replace_atomically(path, write)
    assert path.read_text() == "new"


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_modes_are_those_of_ordinary_files(tmp_path, mask):
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "a.txt", "x")
        (tmp_path / "ordinary").write_text("x")
        assert os.umask(mask) == mask  # and the mask is as it was
    finally:
        os.umask(before)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a.txt", "ordinary")]
    assert modes[0] == modes[1] == 0o666 & ~mask


def test_a_folder_that_is_not_there(tmp_path):
    path = tmp_path / "nowhere" / "a.txt"
    with pytest.raises(RunError) as caught:
        write_atomically(path, "x")
    assert str(caught.value) == f"{path}: cannot be written: No such file or directory"
    assert os.listdir(tmp_path) == []


def test_a_folder_that_is_a_file_or_a_file_that_is_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match=r"file/a\.txt: cannot be written: Not a directory"):
        write_atomically(tmp_path / "file" / "a.txt", "x")
    (tmp_path / "folder").mkdir()
    with pytest.raises(RunError, match="folder: cannot be written"):
        write_atomically(tmp_path / "folder", "x")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission(tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    with pytest.raises(RunError, match=r"locked/a\.txt: cannot be written: Permission denied"):
        write_atomically(folder / "a.txt", "x")


def test_tensors_that_find_no_room(tmp_path):
    """The system itself ends the writing half-way: of a file that grows too large, as of one on a full disk."""
    import torch

    from heedful.runs import load_tensors, save_tensors

    path = tmp_path / "a.safetensors"
    save_tensors(path, {"a": torch.ones(2)}, {"b": [1, None], "a": {"c": "é"}})
    tensors, about = load_tensors(path)
    assert tensors["a"].tolist() == [1, 1]
    assert about == {"b": [1, None], "a": {"c": "é"}}
    before = path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, limits[1]))
    try:
        with pytest.raises(RunError) as caught:
            save_tensors(path, {"a": torch.zeros(9_999)}, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(caught.value) == f"{path}: cannot be written: File too large"
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.safetensors"]


def test_a_disk_on_which_nothing_works_any_more(tmp_path, monkeypatch):
    """The first error is told, not that of tidying up after it."""

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        patch.setattr(os, "unlink", lambda path: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
        with pytest.raises(RunError, match=r"a\.txt: cannot be written: No space left on device"):
            write_atomically(tmp_path / "a.txt", "new")
    assert not (tmp_path / "a.txt").exists()


def test_what_a_killed_process_was_writing_can_be_told_from_everything_else(tmp_path, monkeypatch):
    """Only unfinished copies of the files that the caller calls its own are removed."""
    names = []

    def write(temporary: str) -> None:
        names.append(Path(temporary).name)

    for name in ("log.csv", "notes.csv", "log.toml"):
        replace_atomically(tmp_path / name, write)
    stay = ["log.csv", ".log.csv", ".log-unfinished-.csv", "log-unfinished-abcdefgh.csv", ".log-unfinished-notes.csv"]
    for name in (*names, *stay):
        (tmp_path / name).write_text(name)
    (tmp_path / ".log-unfinished-abcdefgh.csv").mkdir()
    before = set(os.listdir(tmp_path))
    remove_unfinished(tmp_path, {"log.csv", "model.safetensors"}.__contains__)
    assert before - set(os.listdir(tmp_path)) == {names[0]}
