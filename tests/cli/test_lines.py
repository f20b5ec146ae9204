"""Text in, text out: as many lines, in their order, blank for blank, and no character with a meaning of its own."""

from __future__ import annotations

import gzip
import json
import os
import random
import threading
import unicodedata

import pytest

import heedful
from heedful.cli.chunks import read_chunks
from heedful.cli.stream import one_line
from training.cases import rows, train_tiny, words, write_pairs

# Characters that other programs take for the end of a line, or stumble over.
STRANGE = ["a\u2028b", "a\u2029b", "a\x85b", "a\x0bb", "a\x0cb", "a\x1cb", "a\x00b", "a\rb", '"ab', "'a\tb", "a\ufeffb"]
BLANK = ["", " ", "\t", "\u3000", "\u00a0", " \t\u3000 ", "\x0c", "\u2028"]


def answers(cli, run, text: str, *flags: object) -> list[str]:
    done = cli("predict", run, *flags, stdin=text.encode("utf-8"))
    assert done.code == 0
    return [line.decode("utf-8") for line in done.lines]


def test_one_line_for_each_line(cli, run):
    lines = [part for strange, blank in zip(STRANGE, BLANK * 2, strict=False) for part in (strange, blank)]
    found = answers(cli, run, "".join(line + "\n" for line in lines))
    assert len(found) == len(lines)
    assert [bool(answer) for answer in found] == [bool(line.strip()) for line in lines]
    sources = [line["source"] for line in cli("predict", run, "--json", stdin="\n".join(lines).encode()).json]
    assert sources == lines


@pytest.mark.parametrize("blank", BLANK)
def test_blank_for_blank(cli, run, blank):
    assert answers(cli, run, blank + "\n") == [""]
    first, middle, last = answers(cli, run, f"abc\n{blank}\nfed\n")
    assert first
    assert middle == ""
    assert last


def test_ends_of_lines(cli, run):
    expected = answers(cli, run, "abc\nfed\n\nbb\n")
    assert len(expected) == 4
    assert answers(cli, run, "abc\r\nfed\r\n\r\nbb\r\n") == expected
    assert answers(cli, run, "abc\nfed\n\nbb") == expected  # without the last end of line
    assert answers(cli, run, "\ufeffabc\nfed\n\nbb\n") == expected  # with a byte order mark
    assert answers(cli, run, "") == []
    assert answers(cli, run, "\n") == [""]
    assert answers(cli, run, "\n\n\n") == ["", "", ""]


def test_a_file_with_a_byte_order_mark_and_windows_ends(cli, run, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("\ufeffabc\r\nfed".encode())
    done = cli("predict", run, path)
    assert [line.decode() for line in done.lines] == answers(cli, run, "abc\nfed\n")
    assert done.err == ""


def test_many_lines_stay_in_order(cli, run):
    """More than are read at once, of all lengths."""
    lines = [word if number % 7 else "" for number, word in enumerate(words(70, seed=4, longest=12))]
    one_by_one = [answer.text for answer in heedful.load(run).predict(lines, batch_size=1)]
    assert len(set(one_by_one)) > 10
    for size in (1, 3, 64):
        assert answers(cli, run, "\n".join(lines), "--batch-size", size) == one_by_one


def test_thousands_of_odd_lines(cli, run, monkeypatch):
    """As many answers, each beside its source; and never more than 16 batches are held."""
    rng = random.Random(7)
    lines = ["".join(rng.choices([*STRANGE, *BLANK, *"abcdef", "𝄞", "|||"], k=rng.randint(0, 9))) for _ in range(3001)]
    lines = [line.removesuffix("\r") for line in lines]
    held = []

    def read_and_count(*arguments, **options):
        for chunk in read_chunks(*arguments, **options):
            held.append(len(chunk))
            yield chunk

    monkeypatch.setattr("heedful.cli.chunks.read_chunks", read_and_count)
    flags = ["--beam", 1, "--batch-size", 31]
    found = cli("predict", run, *flags, "--json", stdin="\n".join(lines).encode()).json
    assert [answer["line"] for answer in found] == list(range(1, 3002))
    assert [answer["source"] for answer in found] == [unicodedata.normalize("NFC", line) for line in lines]
    assert not any(answer["text"] for answer, line in zip(found, lines, strict=True) if not line.strip())
    assert sum(bool(answer["text"]) for answer in found) > 1000
    assert held == [16 * 31] * 6 + [25]
    texts = answers(cli, run, "\n".join(lines), *flags)
    assert texts == [answer["text"] for answer in found]


def test_a_packed_file(cli, run, tmp_path):
    """By what it holds, whatever its name."""
    path = tmp_path / "words"
    path.write_bytes(gzip.compress(b"abc\n\nfed"))
    expected = answers(cli, run, "abc\n\nfed\n")
    assert [line.decode() for line in cli("predict", run, path).lines] == expected
    assert [line.decode() for line in cli("predict", run, stdin=path.read_bytes()).lines] == expected


def test_a_pipe_with_a_name(cli, run, tmp_path):
    """`heedful predict RUN <(command)`: what the shell passes is no regular file."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_bytes(b"abc\nfed\n"), daemon=True)
    writer.start()
    done = cli("predict", run, path)
    if done.code:  # nobody read: let the writer go
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    assert (done.code, done.err) == (0, "")
    assert len(done.lines) == 2


def test_composed_and_decomposed_are_one(cli, tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", ((f"{word}é", "A Ä") for word in words(30)))
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 3})
    composed, decomposed = (unicodedata.normalize(form, "abé\nÉ\n") for form in ("NFC", "NFD"))
    assert composed != decomposed
    first, second = (cli("predict", folder, stdin=text.encode()) for text in (composed, decomposed))
    assert first == second
    assert "'É'" in first.err  # and only that: é was seen
    assert "1 of 4 source symbols" in first.err


def test_pairs_with_strange_characters_are_whole(cli, tmp_path):
    pairs = write_pairs(
        tmp_path / "pairs.tsv", ((text.replace("\t", " "), "A " + text[:3].strip()) for text in STRANGE)
    )
    folder = train_tiny(pairs, tmp_path / "run", dev=pairs, set={"train.updates": 1})
    done = cli("evaluate", folder, pairs, "--json")
    assert done.json[0]["sentences"] == len(STRANGE)
    assert len(cli("align", folder, pairs).lines) == len(STRANGE)


SPECIAL = ["<s>", "</s>", "<unk>", "<pad>", "@@", "|||", "UNK", "∎", "[a]", "\N{REPLACEMENT CHARACTER}"]


@pytest.mark.parametrize("tokens", ["whitespace", "characters"])
def test_special_looking_words_are_words(cli, tmp_path, tokens):
    """They are learned and come back as any other; as characters "<s>" is three of them."""
    pairs = write_pairs(tmp_path / "pairs.tsv", ((word, word) for word in SPECIAL * 5))
    settings = {
        "data.source_tokens": "whitespace",
        "data.target_tokens": tokens,
        "train.updates": 90,
        "train.batch_tokens": 1000,
        "train.learning_rate": 0.04,
        "train.validate_every": 10.0,
        "model.embedding_size": 16,
        "model.encoder_size": 16,
        "model.decoder_size": 32,
    }
    folder = train_tiny(pairs, tmp_path / "run", dev=pairs, set=settings)
    assert answers(cli, folder, "\n".join(SPECIAL)) == SPECIAL
    assert cli("evaluate", folder, pairs, "--json").json[0]["sequence_error"] == 0
    for line in cli("predict", folder, "--json", stdin=b"<unk>\n</s>\n").json:
        assert line["text"] == line["source"]
        assert line["finished"]


def test_json_lines_are_sources_too(cli, run, tmp_path):
    """By the name of the file; one answer for each, or a message: a line that was skipped would shift the rest."""
    path = tmp_path / "words.jsonl"
    path.write_text('{"source": "abc"}\n{"source": "f", "target": "X"}\n{"source": "e\\nd"}\n')
    found = cli("predict", run, path, "--json").json
    assert [line["source"] for line in found] == ["abc", "f", "e\nd"]
    assert [line["text"] for line in found] == [a.text for a in heedful.load(run).predict(["abc", "f", "e\nd"])]
    assert len(cli("predict", run, path).lines) == 3


def test_json_lines_are_never_skipped(cli, pairs, tmp_path):
    """Not even where the recipe lets bad lines of the training data be skipped."""
    folder = train_tiny(pairs, tmp_path / "run", set={"data.bad_lines": "skip", "train.updates": 1})
    path = tmp_path / "words.jsonl"
    path.write_text('{"source": "abc"}\nnot JSON\n{"source": "f"}\n')
    done = cli("predict", folder, path)
    assert (done.code, len(done.lines)) == (2, 1)  # what came before is answered
    assert f"heedful: {path}:2: expected one JSON object a line" in done.err


@pytest.mark.parametrize(
    ("answer", "written"),
    [
        ("a\nb", "a b"),
        ("a\r\nb", "a b"),
        ("a\rb\r", "a b "),
        ("\n\n\r", "   "),
        ("a\u2028b\x85c\x0c", "a\u2028b\x85c\x0c"),
    ],
)
def test_line_breaks_become_spaces(answer, written):
    assert one_line(answer) == written


def test_a_line_break_in_an_answer_is_not_the_end_of_a_line(cli, tmp_path):
    """JSON lines can teach one; as plain text it must not shift all lines behind it. With --json it is exact."""
    pairs = tmp_path / "pairs.jsonl"
    pairs.write_text("".join(json.dumps({"source": word, "target": "x\ny\r"}) + "\n" for word in words(40)))
    settings = {
        "data.target_tokens": "characters",
        "train.updates": 60,
        "train.learning_rate": 0.04,
        "train.validate_every": 5.0,
    }
    folder = train_tiny(pairs, tmp_path / "run", set=settings)
    assert float(rows(folder)[-1]["sequence_error"]) == 0
    found = cli("predict", folder, "--json", stdin=b"ab\ncd\n").json
    assert [line["text"] for line in found] == ["x\ny\r", "x\ny\r"]
    assert answers(cli, folder, "ab\n\ncd\n") == ["x y ", "", "x y "]
