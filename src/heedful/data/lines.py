"""The lines of a file: only LF and CR LF end one, and what is no text is told with its number."""

from __future__ import annotations

import gzip
import zlib

from heedful.errors import DataError

MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""


class BadLine(Exception):
    """A line that is no pair, and why; `path` where it is not the location itself."""

    def __init__(self, reason: str, path: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path


def read_lines(path: str) -> list[bytes]:
    """The lines of a file, plain or gzip, without their ends."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        raise DataError(f"no such file: {path!r}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:  # a name that no file can have
        raise DataError(f"{path!r}: cannot be read: {error}") from None
    if data.startswith(b"\x1f\x8b"):
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"{path}: expected a whole gzip file, got a damaged one: {error}") from error
    *ended, rest = without_mark(data, path).split(b"\n")
    lines = [line.removesuffix(b"\r") for line in ended]
    return [*lines, rest] if rest else lines


def without_mark(start: bytes, path: str) -> bytes:
    """What stands at the start of a file, without the byte order mark of UTF-8.

    Raises:
        DataError: the mark is that of UTF-16.
    """
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(f"{path}: expected UTF-8, got UTF-16 (its byte order mark is at the start)")
    return start.removeprefix(MARK)


def without_blank_end(lines: list[bytes]) -> list[bytes]:
    """`lines` up to the last that is not blank."""
    size = len(lines)
    while size and is_blank(lines[size - 1]):
        size -= 1
    return lines[:size]


def is_blank(line: bytes) -> bool:
    """Whether there is nothing but white space, of any script."""
    return not line.decode("utf-8", "replace").strip()


def decode(line: bytes, path: str | None = None) -> str:
    """The text of a line; `path` is that of its file, where it is not plain."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"0x{line[error.start]:02x}"
        raise BadLine(f"expected UTF-8, got the byte {found} at offset {error.start} of the line", path) from None
