"""Links as lines of text: Pharaoh, and the format of the NAACL 2003 shared task."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.alignment import read_links, read_wa
from heedful.alignment.links import as_pharaoh, parse_links, swapped
from heedful.errors import DataError


def written(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_a_line_is_a_sentence_and_a_blank_one_has_no_links(tmp_path: Path) -> None:
    path = written(tmp_path / "links", "0-0 1-2\n\n \t\n12-3  1-2 1-2\r\n0-0")
    expected = [{(0, 0), (1, 2)}, set(), set(), {(12, 3), (1, 2)}, {(0, 0)}]
    assert read_links(path) == expected
    assert read_links(str(path), swap=True) == [{(j, i) for i, j in links} for links in expected]
    packed = written(tmp_path / "links.gz", gzip.compress(path.read_bytes()))
    assert read_links(packed) == expected
    assert read_links(written(tmp_path / "empty", "")) == []
    assert read_links(written(tmp_path / "marked", "\ufeff0-1\n")) == [{(0, 1)}]


@given(st.frozensets(st.tuples(st.integers(0, 999), st.integers(0, 999))))
def test_what_is_written_is_read(links: frozenset[tuple[int, int]]) -> None:
    assert parse_links(as_pharaoh(links)) == links
    assert swapped(swapped(links)) == links


def test_links_are_written_in_the_order_given_and_sets_in_the_order_of_the_source() -> None:
    assert as_pharaoh([(1, 0), (0, 1)]) == "1-0 0-1"
    assert as_pharaoh({(10, 0), (2, 1), (2, 0)}) == "2-0 2-1 10-0"


@pytest.mark.parametrize(
    ("text", "place", "got"),
    [
        ("0-0\n0-0 1_2\n", 2, "1_2"),
        ("0-0\n\n-1-2", 3, "-1-2"),
        ("0-", 1, "0-"),
        ("1-2-3", 1, "1-2-3"),
        ("0-0,1-1", 1, "0-0,1-1"),
        ("1.0-2", 1, "1.0-2"),
        ("٣-٤", 1, "٣-٤"),
        ("0-" + "9" * 5000, 1, "0-999"),
    ],
)
def test_other_than_links_is_refused_with_its_place(tmp_path: Path, text: str, place: int, got: str) -> None:
    path = written(tmp_path / "links", text)
    with pytest.raises(DataError) as error:
        read_links(path)
    assert str(error.value).startswith(f"{path}:{place}: expected links such as 0-0 1-2, got '{got}")
    assert len(str(error.value)) < len(str(path)) + 100


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_links(tmp_path / "nowhere")
    with pytest.raises(DataError, match="cannot be read"):
        read_links(tmp_path)
    with pytest.raises(DataError, match=r"latin:2: expected UTF-8, got the byte 0xe9 at offset 1"):
        read_links(written(tmp_path / "latin", b"0-0\n\xff".replace(b"\xff", b"\x31\xe9")))
    with pytest.raises(DataError, match=r"cut\.gz: expected a whole gzip file"):
        read_links(written(tmp_path / "cut.gz", gzip.compress(b"0-0 1-1\n" * 99)[:-9]))


WA = """# gold of two sentences and a third without
1 1 1 S
0001 2 3 P
1 2 2

2 4 1 S 0.5
2 0 2 S
2\t1\t2\tP\t1e-3
3 0 1 P
"""


def test_wa(tmp_path: Path) -> None:
    path = written(tmp_path / "gold.wa", WA)
    sure, possible = read_wa(path)
    assert sure == [{(0, 0), (1, 1)}, {(3, 0)}, set()]
    assert possible == [{(0, 0), (1, 1), (1, 2)}, {(3, 0), (0, 1)}, set()]
    assert read_wa(path, swap=True) == tuple([swapped(one) for one in side] for side in (sure, possible))
    assert read_wa(written(tmp_path / "empty", "")) == ([], [])


def test_wa_where_a_sentence_is_left_out(tmp_path: Path) -> None:
    assert read_wa(written(tmp_path / "gold.wa", "3 1 2 S\n1 1 1 P\n")) == (
        [set(), set(), {(0, 1)}],
        [{(0, 0)}, set(), {(0, 1)}],
    )


def test_a_sentence_number_that_is_too_large_is_refused_with_its_place(tmp_path: Path) -> None:
    path = written(tmp_path / "gold.wa", "3 1 1 S\n5 1 0 S\n")
    assert read_wa(path, sentences=5) == read_wa(path, sentences=7) == read_wa(path)
    with pytest.raises(DataError, match=r"gold\.wa:2: expected the number of a sentence from 1 to 4, got 5$"):
        read_wa(path, sentences=4)
    with pytest.raises(DataError, match=r"gold\.wa:1: .* from 1 to 0, got 3$"):
        read_wa(path, sentences=0)
    for number in ("1000001", "999999999"):
        with pytest.raises(DataError, match=r"far:1: .* from 1 to 1,000,000, got [\d,]+$"):
            read_wa(written(tmp_path / "far", f"{number} 1 1"))


def test_sentences_without_links_take_no_memory(tmp_path: Path) -> None:
    path = written(tmp_path / "gold.wa", "100000 1 1")
    tracemalloc.start()
    sure, possible = read_wa(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(sure), sure[-1], possible[-1]) == (100_000, {(0, 0)}, {(0, 0)})
    assert most < 100_000 * 2 * 16  # a place in each of two lists that grow; a set of its own would be 216 bytes more
    assert sure[0] is possible[99] == frozenset()


@pytest.mark.parametrize("line", ["1 1", "1 1 1 X", "0 1 1", "a 1 1", "1 -1 1", "1 1 1 S P", "1 1 1 S 0.5 more", "1-1"])
def test_other_than_wa_is_refused_with_its_place(tmp_path: Path, line: str) -> None:
    path = written(tmp_path / "gold.wa", f"1 1 1 S\n{line}\n")
    with pytest.raises(DataError, match=r"gold\.wa:2: expected the numbers of a sentence"):
        read_wa(path)
