"""The page of public faults: every entry is judged, and every test that it names is there."""

import ast
import re
from functools import cache

import pytest

from .pages import DOCS

TESTS = DOCS.parent / "tests"
NAMED = re.compile(r"`tests/([\w/]+\.py)::(test_\w+)`")
# The numbers of the entries, as they stand in the comments of the page. They were given once, with gaps.
ENTRIES = {
    "A": [*range(1, 8), 9, 11, 13, 15],
    "B": [17, 19, 21, 23],
    "C": [*range(25, 32), 33],
    "D": [*range(34, 44), *range(45, 50), 51, 53, 54, 55],
    "E": [57, 58, 59, 61, 63, 65, 67, 68, 69, 71, *range(73, 78), 79, 81],
    "F": [83, 84, 85, 87, 89],
    "G": [*range(91, 98), 99, 101, 103, 105, 107],
    "H": [109, 110, 111, 113],
    "I": [115, 116, 117, 119, 120, 121],
    "J": [123, 125, 127, 129, 131],
    "K": [133, 135, 136, 137],
    "L": [139, 141, 143],
    "M": [145, 147, 149],
}


def sections() -> dict[str, list[list[str]]]:
    """The rows of each section's table, a list of cells each, by the section's letter; the sharpest are at ""."""
    found: dict[str, list[list[str]]] = {}
    for part in (DOCS / "faults.md").read_text("utf-8").split("\n## ")[1:]:
        letter = part[0] if re.match(r"[A-Z]\. ", part) else ""
        rows = [line for line in part.splitlines() if line.startswith("|")][2:]
        found[letter] = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]
    return found


@cache
def functions(path: str) -> set[str]:
    """The names of all functions of a test file."""
    tree = ast.parse((TESTS / path).read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("letter", ENTRIES)
def test_every_entry_is_judged(letter):
    """Once, in its section, in order."""
    found = [int(number) for row in sections()[letter] for number in re.findall(r"<!-- (\d+) -->", row[-1])]
    assert found == ENTRIES[letter]


def test_the_twenty_sharpest_are_judged():
    assert [row[0] for row in sections()[""]] == [str(number) for number in range(1, 21)]
    assert all(NAMED.search(row[2]) for row in sections()[""])


def test_there_are_no_other_sections():
    assert list(sections()) == ["", *ENTRIES]


@pytest.mark.parametrize("letter", ["", *ENTRIES])
def test_every_row_has_a_test_or_a_reason(letter):
    for row in sections()[letter]:
        assert len(row) == 3, row
        assert all(row), row
        reason = re.sub(r"<!--.*?-->|`tests/[^`]*`", "", row[2])
        assert NAMED.search(row[2]) or len(reason.split()) >= 5, row


def test_every_test_that_is_named_is_there():
    text = (DOCS / "faults.md").read_text("utf-8")
    named = NAMED.findall(text)
    assert len(named) == text.count("`tests/")  # nothing is written that only looks like a test's name
    for path, name in named:
        assert (TESTS / path).is_file(), path
        assert name in functions(path), f"{path}::{name}"


def test_the_page_says_how_many_there_are():
    count = sum(map(len, ENTRIES.values()))
    assert f"lists {count} such reports" in (DOCS / "faults.md").read_text("utf-8")
