"""Files that are never half-written, and texts that are read with errors a person can use."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from heedful.errors import RunError


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
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
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
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)


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
