"""A dictionary of tokens: what a source token is in the target."""

from __future__ import annotations

import os

from heedful.data.lines import BadLine, decode, is_blank, read_lines
from heedful.data.texts import normalise
from heedful.errors import DataError


def read_dictionary(path: str | os.PathLike[str], *, normalisation: str = "NFC") -> dict[str, str]:
    """Source token -> target token, from a TSV file with a pair a line; of several for one source token the first.

    Raises:
        DataError: the file cannot be read, or a line of it is no pair.
    """
    name = os.fspath(path)
    try:
        lines = read_lines(name)
    except DataError as error:
        raise DataError(f"dictionary: {error}") from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if is_blank(line):
            continue
        try:
            cells = normalise(decode(line), normalisation).split("\t")
        except BadLine as bad:
            raise DataError(f"dictionary: {name}:{number}: {bad.reason}") from None
        if len(cells) != 2 or not all(cell.strip() for cell in cells):
            raise DataError(f"dictionary: {name}:{number}: expected a source token, a TAB and a target token")
        source, target = (cell.strip() for cell in cells)
        found.setdefault(source, target)
    return found
