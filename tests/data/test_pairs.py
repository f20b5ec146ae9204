"""Reading pairs: what is a line, what is a pair, and what is said about everything else."""

import gzip
import json
import os
import subprocess
import sys

import pytest

from heedful.data import corpora
from heedful.data.pairs import Pair, read_pairs
from heedful.data.texts import NORMALISATIONS, normalise
from heedful.errors import DataError


@pytest.fixture
def write(tmp_path):
    def write(content: bytes | str, name: str = "pairs.tsv") -> str:
        path = tmp_path / name
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
        return str(path)

    return write


def sides(corpus) -> list[tuple[str, str | None]]:
    return [(pair.source, pair.target) for pair in corpus.pairs]


# Lines and texts


def test_a_plain_file(write):
    path = write("one\t1\ntwo\t2\textra\n")
    corpus = read_pairs(path)
    assert corpus.name == path
    assert corpus.pairs == (Pair("one", "1", (), 1), Pair("two", "2", (), 2))
    assert corpus.skipped == ()


@pytest.mark.parametrize("end", ["", "\n", "\r\n", "\n\n", "\r\n \r\n\n", "\n\u3000\u00a0\n\x85\n\t"])
def test_the_end_of_the_file_does_not_matter(write, end):
    assert sides(read_pairs(write("a\tb\nc\td" + end))) == [("a", "b"), ("c", "d")]


def test_windows_line_ends(write):
    assert sides(read_pairs(write("a\tb\r\nc\td\r\n"))) == [("a", "b"), ("c", "d")]


@pytest.mark.parametrize(
    "odd", ["\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x00", "\x1c", "\x1d", "\x1e", "\r", "\ufeff"]
)
def test_only_line_feeds_end_a_line(write, odd):
    lines = [(f"a{odd}b", f"c{odd}d"), ("e", f"{odd}f"), (f"g{odd}", "h")]
    path = write("".join(f"{source}\t{target}\n" for source, target in lines))
    assert sides(read_pairs(path)) == lines


@pytest.mark.parametrize("quotes", [1, 2, 3])
def test_quotes_are_ordinary_characters(write, quotes):
    lines = [('"' * quotes + " b c", "a"), ("d", 'e"'), ("'f", "g"), ('h"i', '"')]
    assert sides(read_pairs(write("".join(f"{s}\t{t}\n" for s, t in lines)))) == lines


def test_spaces_around_a_text_are_kept(write):
    assert sides(read_pairs(write(" a \t b \n"))) == [(" a ", " b ")]


def test_literal_special_symbols_are_text(write):
    lines = [("<s>", "</s>"), ("<unk> <pad>", "@@ |||"), ("∎", "\N{REPLACEMENT CHARACTER}"), ("[TAG]", "#\\N")]
    assert sides(read_pairs(write("".join(f"{s}\t{t}\n" for s, t in lines)))) == lines


def test_one_byte_order_mark_at_the_start_is_dropped(write):
    path = write(b"\xef\xbb\xbf\xef\xbb\xbfa\tb\n\xef\xbb\xbfc\td\n")
    assert sides(read_pairs(path)) == [("\ufeffa", "b"), ("\ufeffc", "d")]


def test_texts_become_nfc(write):
    decomposed = "e\u0301\to\u0308\tu\u0308\n"
    corpus = read_pairs(write(decomposed), tag_columns=[3])
    assert corpus.pairs == (Pair("\u00e9", "\u00f6", ("\u00fc",), 1),)


@pytest.mark.parametrize("name", ["p.tsv", "p.jsonl", "p.tsv.gz", "p.de,p.en"])
@pytest.mark.parametrize("form", NORMALISATIONS)
def test_every_text_comes_in_the_form_that_is_asked_for(write, name, form):
    """Source, target and tags, of whatever kind of file; "none" is as written."""
    source, target, tag = "e\u0301\ufb01", "\u212b\uff21", "u\u0308\uff22"
    if "," in name:
        de, en = name.split(",")
        location, tags = write(source + "\n", de) + "," + write(target + "\n", en), ()
    else:
        rows = {"p.jsonl": json.dumps({"source": source, "target": target, "tags": [tag]}) + "\n"}
        content = rows.get(name, f"{source}\t{target}\t{tag}\n").encode()
        location = write(gzip.compress(content) if "gz" in name else content, name)
        tags = (normalise(tag, form),)
    columns = [3] if "tsv" in name else []
    (pair,) = read_pairs(location, normalisation=form, tag_columns=columns).pairs
    assert pair == Pair(normalise(source, form), normalise(target, form), tags, 1)


def test_built_in_corpora_are_normalised_too(monkeypatch):
    monkeypatch.setitem(corpora._corpora, "accents", lambda part: [("e\u0301", "\u00f6")])
    assert sides(read_pairs("accents")) == [("\u00e9", "\u00f6")]
    assert sides(read_pairs("accents", normalisation="NFD")) == [("e\u0301", "o\u0308")]


def test_a_separator_of_tags_is_normalised_with_them(write):
    """The full-width semicolon is a semicolon in NFKC, and no other text then holds one."""
    path = write("a\tb\tx\uff1by\n")
    for form in ("NFKC", "NFC"):
        (pair,) = read_pairs(path, tag_columns=[3], tag_separator="\uff1b", normalisation=form).pairs
        assert pair.tags == ("x", "y")


def test_gzip_is_known_by_its_first_bytes(write):
    packed = gzip.compress("ä\tb\n".encode()) + gzip.compress(b"c\td\n")
    assert sides(read_pairs(write(packed, "no-suffix"))) == [("ä", "b"), ("c", "d")]
    assert sides(read_pairs(write("a\tb\n", "not-packed.gz"))) == [("a", "b")]


def test_a_path_object_will_do(tmp_path):
    (tmp_path / "p.tsv").write_text("a\tb\n")
    assert sides(read_pairs(tmp_path / "p.tsv")) == [("a", "b")]


def test_the_locale_does_not_matter(write, tmp_path):
    path = write("हिन्दी\th ɪ n d iː\n")
    code = f"from heedful.data import read_pairs; print(ascii(read_pairs({path!r}).pairs[0][:2]))"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == ascii(("हिन्दी", "h ɪ n d iː")), done.stderr


# Columns and tags


def test_columns_can_be_chosen(write):
    path = write("x\ta\tb\n")
    assert sides(read_pairs(path, source_column=3, target_column=2)) == [("b", "a")]


def test_tags_come_from_cells(write):
    path = write("a\tb\tV;PST\tlow\nc\td\t\tlow; \ne\tf\t ; \t\n")
    tags = [pair.tags for pair in read_pairs(path, tag_columns=[4, 3]).pairs]
    assert tags == [("low", "V", "PST"), ("low",), ()]
    assert read_pairs(path, tag_columns=[3], tag_separator="ST").pairs[0].tags == ("V;P",)
    assert read_pairs(path).pairs[0].tags == ()


def test_targets_may_be_missing_where_none_is_needed(write):
    path = write("a\nb\tc\nd\t \n")
    assert sides(read_pairs(path, need_target=False)) == [("a", None), ("b", "c"), ("d", None)]


def test_sources_to_be_answered_may_be_blank(write):
    """A line for a line: they are blank lines in the middle and at the end, too, and an empty file has none."""
    path = write("a\tb\n\n \u3000\tb\n\u00a0\n")
    corpus = read_pairs(path, need_target=False)
    assert sides(corpus) == [("a", "b"), ("", None), (" \u3000", "b"), ("", None)]
    assert [pair.line for pair in corpus.pairs] == [1, 2, 3, 4]
    path = write('{"source": "a"}\n\n{"source": ""}\n \n', "p.jsonl")
    assert sides(read_pairs(path, need_target=False)) == [("a", None), ("", None), ("", None), ("", None)]
    assert read_pairs(write("", "p.jsonl"), need_target=False).pairs == ()
    assert sides(read_pairs(write("a\n\n"), need_target=False, tag_columns=())) == [("a", None), ("", None)]
    assert read_pairs(write("a\tb\tx\n\n"), need_target=False, tag_columns=[3]).pairs[1] == Pair("", None, (), 2)


# Bad lines

BAD = {
    "no tab": ("hello world", "at least 2 columns with a TAB between them, got 1: 'hello world'"),
    "spaces for a tab": ("a    b", "got 1: 'a    b'"),
    "a long line is cut": ("x" * 5000, "got 1: '" + "x" * 57 + "...'"),
    "blank line": ("", "expected a text as source, got a blank"),
    "blank source": ("\tb", "expected a text as source, got a blank"),
    "blank target": ("a\t", "expected a text as target, got a blank"),
    "blanks of all kinds": ("a\t \u3000\u00a0\x0b\u2028\x85\x1c", "expected a text as target, got a blank"),
    "blanks as source": (" \u3000\u00a0\u2003\tb", "expected a text as source, got a blank"),
    "latin-1": (b"caf\xe9\tb", "expected UTF-8, got the byte 0xe9 at offset 3 of the line"),
    "surrogate in utf-8": (b"a\xed\xa0\x80\tb", "expected UTF-8, got the byte 0xed at offset 1"),
}


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_a_bad_line_is_named(write, line, message):
    line = line.encode() if isinstance(line, str) else line
    path = write(b"good\t1\n" + line + b"\ngood\t3\n")
    with pytest.raises(DataError) as caught:
        read_pairs(path)
    assert str(caught.value).startswith(f"{path}:2: expected ")
    assert message in str(caught.value)


@pytest.mark.parametrize(("line", "message"), BAD.values(), ids=BAD)
def test_a_bad_line_can_be_skipped(write, line, message):
    line = line.encode() if isinstance(line, str) else line
    corpus = read_pairs(write(b"good\t1\n" + line + b"\ngood\t3\n"), bad_lines="skip")
    assert corpus.pairs == (Pair("good", "1", (), 1), Pair("good", "3", (), 3))
    ((number, reason),) = corpus.skipped
    assert number == 2
    assert message in reason


def test_nothing_usable_is_an_error(write):
    path = write("a b\nc d\n")
    with pytest.raises(DataError, match=r"no usable line: 2 bad, the first is line 1: expected at least 2"):
        read_pairs(path, bad_lines="skip")


def test_a_missing_tag_column_is_a_bad_line(write):
    with pytest.raises(DataError, match="at least 3 columns"):
        read_pairs(write("a\tb\n"), tag_columns=[3])


def test_what_a_bad_line_of_sources_is(write):
    with pytest.raises(DataError, match=":2: expected UTF-8"):
        read_pairs(write(b"a\n\xff\nb\n"), need_target=False)
    path = write('{"source": "a"}\n{}\n', "p.jsonl")
    with pytest.raises(DataError, match=":2: expected a value for the key 'source'"):
        read_pairs(path, need_target=False)
    path = write('{"source": 5}\n', "p.jsonl")
    with pytest.raises(DataError, match="no usable line: 1 bad, the first is line 1: expected a string as source"):
        read_pairs(path, need_target=False, bad_lines="skip")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"normalisation": "nfc"}, "expected 'NFC', 'NFD', 'NFKC', 'NFKD' or 'none', got 'nfc'"),
        ({"bad_lines": "ignore"}, "expected 'error' or 'skip', got 'ignore'"),
        ({"source_column": 0}, "columns count from 1, got column 0"),
        ({"tag_columns": [-1]}, "columns count from 1, got column -1"),
        ({"target_column": "phones"}, "expected the number of a column, counted from 1, got 'phones'"),
        ({"tag_separator": ""}, "tag_separator: expected one character or more"),
    ],
)
def test_settings_that_make_no_sense(write, settings, message):
    with pytest.raises(DataError, match=message):
        read_pairs(write("a\tb\n"), **settings)


# Bad files


@pytest.mark.parametrize("content", [b"", b"\n", b"\r\n\n \t\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)])
def test_an_empty_file(write, content):
    path = write(content)
    with pytest.raises(DataError, match="expected at least one line, got an empty file"):
        read_pairs(path)


def test_no_such_file():
    with pytest.raises(DataError, match=r"no such file, nor built-in corpus: 'cmudct'; did you mean 'cmudict'\?"):
        read_pairs("cmudct")
    with pytest.raises(DataError, match="no such file, nor built-in corpus: ''; known are: cmudict, copy"):
        read_pairs("")
    with pytest.raises(DataError, match="no such file"):
        read_pairs("nul\0byte")
    with pytest.raises(DataError, match="no such file"):
        read_pairs("x" * 5000)


def test_a_folder(tmp_path):
    with pytest.raises(DataError, match="expected a file, got a folder"):
        read_pairs(str(tmp_path))


def test_a_file_that_cannot_be_read(write, monkeypatch):
    path = write("a\tb\n")

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(DataError, match=r"pairs\.tsv: cannot be read: Permission denied"):
        read_pairs(path)


# Tests are named by these bytes, which hold no time of day: every worker collects the same.
PACKED = gzip.compress(b"a long enough line\tb\n" * 50, mtime=0)


@pytest.mark.parametrize(
    "content",
    [
        PACKED[:-1],
        PACKED[:20],
        PACKED[:2],
        PACKED + b"garbage",
        PACKED[:-8] + b"\0" * 8,
        PACKED[:15] + PACKED,
    ],
)
def test_damaged_gzip(write, content):
    with pytest.raises(DataError, match="expected a whole gzip file, got a damaged one"):
        read_pairs(write(content))


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16(write, encoding):
    with pytest.raises(DataError, match="expected UTF-8, got UTF-16"):
        read_pairs(write("\ufeffa\tb\n".encode(encoding)), bad_lines="skip")


# JSON lines


def jsonl(*objects: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in objects)


@pytest.mark.parametrize("name", ["p.jsonl", "p.json", "P.JSONL"])
def test_json_lines(write, name):
    path = write(
        jsonl(
            {
                "source": "e\u0301\u2028",
                "target": "o\u0308",
            },  # dumps escapes them: NFC must come after parsing
            {"target": "b", "source": "a", "tags": ["x;y", " z "]},
            {"source": "a", "target": "b", "tags": "x;;y"},
            {"source": "a", "target": "b", "tags": None},
        ),
        name,
    )
    assert read_pairs(path).pairs == (
        Pair("\u00e9\u2028", "\u00f6", (), 1),
        Pair("a", "b", ("x;y", "z"), 2),
        Pair("a", "b", ("x", "y"), 3),
        Pair("a", "b", (), 4),
    )


def test_json_keys_can_be_chosen(write):
    path = write(gzip.compress(jsonl({"de": "ein", "en": "one", "lang": "xy", "tags": "no"}).encode()), "p.jsonl.gz")
    pair = read_pairs(path, source_column="de", target_column="en", tag_columns=["lang"]).pairs[0]
    assert pair == Pair("ein", "one", ("xy",), 1)


def test_json_sides_can_be_swapped_by_number(write):
    path = write(jsonl({"source": "a", "target": "b"}), "p.jsonl")
    assert sides(read_pairs(path, source_column=2, target_column=1)) == [("b", "a")]
    with pytest.raises(DataError, match=r"expected the name of a JSON key .*, got 3"):
        read_pairs(path, tag_columns=[3])


def test_json_without_target(write):
    path = write(jsonl({"source": "a"}, {"source": "b", "target": None}, {"source": "c", "target": "d"}), "p.jsonl")
    assert sides(read_pairs(path, need_target=False)) == [("a", None), ("b", None), ("c", "d")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "expected one JSON object a line, got invalid JSON"),
        ("", "expected one JSON object a line, got invalid JSON"),
        ("[" * 100_000, "expected one JSON object a line, got invalid JSON"),
        ("9" * 5000, "expected one JSON object a line, got invalid JSON"),
        ('["a", "b"]', 'expected one JSON object a line, got ["a", "b"]'),
        ("{}", "expected a value for the key 'source', got the keys (none)"),
        (
            '{"src": "a", "target": "b"}',
            "expected a value for the key 'source', got the keys 'src', 'target'",
        ),
        ('{"source": "a", "target": null}', "expected a value for the key 'target'"),
        ('{"source": "a", "target": 5}', "expected a string as target, got 5"),
        ('{"source": ["a"], "target": "b"}', 'expected a string as source, got ["a"]'),
        ('{"source": "a", "target": " "}', "expected a text as target, got a blank"),
        ('{"source": "a", "target": "b", "tags": 5}', "expected a string as tags, got 5"),
        ('{"source": "a", "target": "b", "tags": [5]}', "expected a string as tags, got 5"),
        ('{"source": "a\\ud800", "target": "b"}', "got half a surrogate pair at character 1"),
    ],
)
def test_bad_json_lines(write, line, message):
    good = jsonl({"source": "a", "target": "b"})
    path = write(good + line + "\n" + good, "p.jsonl")
    with pytest.raises(DataError) as caught:
        read_pairs(path)
    assert str(caught.value).startswith(f"{path}:2: ")
    assert message in str(caught.value)
    assert [number for number, _ in read_pairs(path, bad_lines="skip").skipped] == [2]


# Parallel files


def test_parallel_files(write):
    source = write("a\tstays\nc\r\n", "x.de")
    target = write(gzip.compress(b"b\nd\n\n"), "x.en")
    assert sides(read_pairs(f"{source},{target}")) == [("a\tstays", "b"), ("c", "d")]
    assert sides(read_pairs(f"{source},{target}", source_column=2, target_column=1))[1] == ("d", "c")


def test_parallel_files_of_different_length(write):
    location = write("a\nb\nc\n", "x.de") + "," + write("a\nb\n", "x.en")
    with pytest.raises(DataError, match=r"x\.en: expected two files of the same length, got 3 and 2 lines"):
        read_pairs(location, bad_lines="skip")


def test_a_blank_last_line_against_a_text_is_a_bad_line(write):
    location = write("a\n\n", "x.de") + "," + write("a\nb\n", "x.en")
    with pytest.raises(DataError, match=":2: expected a text as source, got a blank"):
        read_pairs(location)
    assert len(read_pairs(location, bad_lines="skip").pairs) == 1


def test_parallel_errors_name_the_file(write):
    source, target = write(b"a\nb\n", "x.de"), write(b"a\n\xff\xfb\n", "x.en")
    with pytest.raises(DataError) as caught:
        read_pairs(f"{source},{target}")
    assert str(caught.value).startswith(f"{target}:2: expected UTF-8, got the byte 0xff at offset 0")
    with pytest.raises(DataError, match=r"no such file: '.*missing'"):
        read_pairs(f"{source},{target}missing")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_pairs(f"{source},{os.path.dirname(source)}")
    with pytest.raises(DataError, match="expected one file, or two with a comma between them, got 3 names"):
        read_pairs(f"{source},{target},{target}")
    with pytest.raises(DataError, match="expected a column from 1 to 2, got column 3"):
        read_pairs(f"{source},{target}", tag_columns=[3])
    empty = write("\n", "empty")
    with pytest.raises(DataError, match="expected at least one line, got empty files"):
        read_pairs(f"{empty},{empty}")


def test_a_file_with_a_comma_in_its_name(write):
    assert sides(read_pairs(write("a\tb\n", "one,two"))) == [("a", "b")]


# Built-in corpora


def test_built_in_corpora_are_locations():
    corpus = read_pairs("reverse:dev")
    assert corpus.name == "reverse:dev"
    assert all(pair.target == pair.source[::-1] for pair in corpus.pairs)
    assert [pair.line for pair in corpus.pairs[:3]] == [1, 2, 3]
    swapped = read_pairs("reverse:dev", source_column=2, target_column=1)
    assert sides(swapped)[0] == (corpus.pairs[0].target, corpus.pairs[0].source)
    with pytest.raises(DataError, match="expected a column from 1 to 2, got column 3"):
        read_pairs("reverse:dev", target_column=3)
    with pytest.raises(DataError, match=r"'reverse' has no part 'tset'; did you mean 'test'\?"):
        read_pairs("reverse:tset")


def test_an_existing_file_wins_over_a_built_in_corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numbers").mkdir()  # a folder does not
    assert read_pairs("numbers:dev").pairs
    (tmp_path / "copy").write_text("a\tb\n")
    assert sides(read_pairs("copy")) == [("a", "b")]
