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
    ],
)
def test_other_than_links_is_refused_with_its_place(tmp_path: Path, text: str, place: int, got: str) -> None:
    path = written(tmp_path / "links", text)
    with pytest.raises(DataError) as error:
        read_links(path)
    assert str(error.value).startswith(f"{path}:{place}: expected links such as 0-0 1-2, got '{got}")
    assert len(str(error.value)) < len(str(path)) + 100


def test_a_number_that_is_too_large_is_told_the_limit(tmp_path: Path) -> None:
    for number in ("1000000000", "9" * 5000):
        with pytest.raises(DataError, match=r":1: .* 0-0 1-2, with numbers up to 999,999,999, got '0-\d+") as error:
            read_links(written(tmp_path / "links", f"0-{number}"))
        assert len(str(error.value)) < len(str(tmp_path)) + 130


def test_files_of_another_kind(tmp_path: Path) -> None:
    for name in ("all.npz", "ALL.JSONL", "all.jsonl.gz", "all.json"):
        with pytest.raises(DataError, match=r"got a file of weights; take `heedful align --out x\.txt`"):
            read_links(tmp_path / name)
    for code in ("utf-16", "utf-16-be"):
        path = written(tmp_path / "links", "\ufeff".encode(code)[-2:] + "0-0\n".encode(code))
        for read in (read_links, read_wa):
            with pytest.raises(DataError, match=r"links: expected UTF-8, got UTF-16 \(its byte order mark"):
                read(path)


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


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("1 1", "expected 3 to 5 columns: the numbers of a sentence and of two words, then S or P"),
        ("1-1", "expected 3 to 5 columns"),
        ("1 1 1 S 0.5 more", "got 6: '1 1 1 S 0.5 more'"),
        ("1 1 1 X", "column 4: expected S (sure) or P (possible), in capitals, got 'X'"),
        ("1 1 1 p 0.5", "column 4: expected S (sure) or P (possible), in capitals, got 'p'"),
        ("0 1 1", "column 1, the number of the sentence: expected 1 to 999,999,999, got '0'"),
        ("a 1 1", "column 1, the number of the sentence: expected 1 to 999,999,999, got 'a'"),
        ("1 -1 1", "column 2, the number of a word: expected 0 to 999,999,999, got '-1'"),
        ("1 1 1000000000", "column 3, the number of a word: expected 0 to 999,999,999, got '1000000000'"),
        ("1 1 1 S P", "column 5: expected a probability, got 'P'"),
    ],
)
def test_other_than_wa_is_refused_with_its_place_and_column(tmp_path: Path, line: str, says: str) -> None:
    path = written(tmp_path / "gold.wa", f"1 1 1 S\n{line}\n")
    with pytest.raises(DataError) as error:
        read_wa(path)
    assert str(error.value).startswith(f"{path}:2: ")
    assert says in str(error.value)


def test_a_name_that_no_file_can_have():
    with pytest.raises(DataError, match=r"'a\\x00b': cannot be read"):
        read_links("a\0b")
