"""Files are whole: the old one or the new one, whatever happens in between."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from heedful.errors import RunError
from heedful.files import replace_atomically, write_atomically


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


def test_a_disk_that_is_full_under_safetensors(tmp_path, monkeypatch):
    """That library has an error of its own for it."""
    import safetensors.torch
    import torch

    from heedful.runs import load_tensors, save_tensors

    path = tmp_path / "a.safetensors"
    save_tensors(path, {"a": torch.ones(2)}, {"b": [1, None], "a": {"c": "é"}})
    tensors, about = load_tensors(path)
    assert tensors["a"].tolist() == [1, 1]
    assert about == {"b": [1, None], "a": {"c": "é"}}

    def full(*arguments: object, **more: object) -> None:
        raise safetensors.SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    before = path.read_bytes()
    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(RunError, match=r"a\.safetensors: cannot be written: .*No space left on device"):
        save_tensors(path, {"a": torch.zeros(2)}, {})
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["a.safetensors"]
