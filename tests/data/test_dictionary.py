"""Dictionaries of tokens: a source token, a TAB, a target token."""

from __future__ import annotations

import pytest

from heedful.data.dictionary import read_dictionary
from heedful.errors import DataError


def test_a_pair_a_line_the_first_of_several(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_bytes("\ufeffHaus\thouse\r\n\n Haus \tbuilding\n  \ncafe\u0301\tcafe\u0301 noir\nNull\t0\n".encode())
    assert read_dictionary(path) == {"Haus": "house", "caf\u00e9": "caf\u00e9 noir", "Null": "0"}
    assert "cafe\u0301" in read_dictionary(str(path), normalisation="none")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"only one", "expected a source token, a TAB and a target token"),
        (b"a\t", "expected a source token, a TAB and a target token"),
        (b"a\tb\tc", "expected a source token, a TAB and a target token"),
        (b" \tb", "expected a source token, a TAB and a target token"),
        (b"\xff\tb", ""),
    ],
)
def test_a_line_that_is_no_pair_is_named(tmp_path, line, says):
    path = tmp_path / "words.tsv"
    path.write_bytes(b"a\tb\n\n" + line + b"\n")
    with pytest.raises(DataError, match=rf"dictionary: .*words\.tsv:3: .*{says}"):
        read_dictionary(path)


def test_a_file_that_cannot_be_read(tmp_path):
    for path in (tmp_path / "nowhere.tsv", tmp_path):
        with pytest.raises(DataError, match="dictionary: "):
            read_dictionary(path)


def test_a_name_that_no_file_can_have():
    with pytest.raises(DataError, match=r"'a\\x00b': cannot be read"):
        read_dictionary("a\0b")
