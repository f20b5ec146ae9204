"""Files that are never half-written, and texts that are read with errors a person can use."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from heedful.errors import RunError

_UNFINISHED = re.compile(r"\.(?P<stem>.+)-unfinished-[a-z0-9_]{8}(?P<suffix>\.[a-z]+)")


def write_atomically(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write `content` beside `path`, flush it to the disk, then put it in place in one step.

    Whatever happens, `path` holds either all of the old content or all of the new.

    Raises:
        RunError: the file cannot be written (no such folder, no permission, no space); names the path.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content

    def write(temporary: str) -> None:
        with open(temporary, "wb") as file:
            file.write(data)

    replace_atomically(path, write)


def replace_atomically(path: str | os.PathLike[str], write: Callable[[str], object]) -> None:
    """As `write_atomically`, for writers that want a path of their own: ``write(temporary_path)``."""
    path = Path(path)
    temporary: str | None = None
    try:
        # The suffix is kept: some writers choose their format by it.
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-unfinished-", suffix=path.suffix)
        os.close(handle)
        write(temporary)
        os.chmod(temporary, 0o666 & ~_umask())
        _sync(temporary)
        os.replace(temporary, path)
        temporary = None
        _sync(path.parent)
    except OSError as error:
        raise RunError(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary is not None:
            with suppress(OSError):  # what is wrong with the disk has been said
                os.unlink(temporary)


def remove_unfinished(folder: Path, is_ours: Callable[[str], bool]) -> None:
    """Remove what a process that was killed left of the files that it was writing into `folder`.

    Args:
        is_ours: whether a file of this name would have been one of the caller's; all else stays.

    Raises:
        RunError: it cannot be removed.
    """
    try:
        for path in sorted(folder.iterdir()):
            found = _UNFINISHED.fullmatch(path.name)
            if found and is_ours(found["stem"] + found["suffix"]) and path.is_file():
                path.unlink()
    except OSError as error:
        raise RunError(f"{folder}: cannot be tidied up: {error.strerror or error}") from error


def _sync(path: str | os.PathLike[str]) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
