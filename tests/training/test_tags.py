"""Tags: columns beside the source that have a say in the answer, and none in the alignment."""

from __future__ import annotations

import json

import pytest

import heedful
from heedful.errors import DataError
from training.cases import train_tiny, words, write_pairs

TAGGED = {
    "data.tag_columns": [1, 4],
    "data.source_column": 2,
    "data.target_column": 3,
    "data.dev_share": 0.3,
    "train.updates": 90,
    "train.batch_tokens": 250,
    "train.learning_rate": 0.03,
}


@pytest.fixture(scope="module")
def tagged(tmp_path_factory):
    """The first letter of the source, or "no", as the tags decide: with "say", and without."""
    folder = tmp_path_factory.mktemp("tagged")
    rows = []
    for word in words(50, seed=2, longest=3):
        rows += [("say", word, "yes", "x;y"), ("", word, "no", "y"), ("keep quiet", word, "no", "")]
    pairs = write_pairs(folder / "pairs.tsv", rows)
    return train_tiny(pairs, folder / "run", set=TAGGED), pairs


def test_the_tag_decides(tagged):
    run = heedful.load(tagged[0])
    unseen = [word for word in words(80, seed=3, longest=3) if word not in set(words(50, seed=2, longest=3))][:9]
    texts = [
        line for word in unseen for line in (f"say\t{word}\t\tx;y", f"\t{word}\t\ty", f"keep quiet\t{word}\tyes\t")
    ]
    answers = [answer.text for answer in run.predict(texts, beam=1)]
    assert answers == ["yes", "no", "no"] * len(unseen)
    assert heedful.evaluate(run, tagged[1]).sequence_error == 0


def test_the_order_of_tags_and_spaces_around_them(tagged):
    """A tag's cell may have spaces around the separator; the columns give the order."""
    run = heedful.load(tagged[0])
    plain, spaced = run.predict(["say\tabc\t\tx;y", " say \tabc\t\t x ; ;y"])
    assert plain.alignment is not None
    assert plain.alignment.source == ("[say]", "[x]", "[y]", "a", "b", "c", "∎")
    assert spaced.alignment is not None
    assert spaced.alignment.source == plain.alignment.source
    assert spaced.score == pytest.approx(plain.score, abs=1e-5)


def test_tags_are_shown_and_never_linked(tagged):
    run, pairs = tagged
    for alignment in heedful.align(run, pairs)[:30]:
        tags = sum(label.startswith("[") for label in alignment.source)
        assert alignment.source_positions[:tags] == (0,) * tags
        length = len(alignment.source) - tags - 1
        assert all(0 <= source < length for source, _ in alignment.links())
    first = heedful.align(run, pairs)[0]
    assert first.source[:3] == ("[say]", "[x]", "[y]")
    assert [target for _, target in first.links()] == [0]


def test_a_tag_is_not_a_word_of_the_same_spelling(tmp_path):
    """Tags have a name space of their own: "a" as a tag and "a" as a letter are two symbols."""
    pairs = write_pairs(tmp_path / "pairs.tsv", ((word, "X", "a;b") for word in words(30)))
    settings = {"data.tag_columns": [3], "train.updates": 1}
    vocabulary = heedful.load(train_tiny(pairs, tmp_path / "run", set=settings)).codec.source_vocabulary
    assert vocabulary.ids(["a"], ["a"])[0] != vocabulary.ids(["a"], ["a"])[1]


def test_a_line_without_its_columns_is_refused(tagged):
    run = heedful.load(tagged[0])
    with pytest.raises(DataError, match=r"line 2: expected the source in column 2 and tags in \[1, 4\].*got 1 columns"):
        run.predict(["say\tabc\t\tx", "abc"])
    assert [answer.text for answer in run.predict(["", "\t\t\t", "say\t \t\tx"])] == ["", "", ""]


def test_the_command_line_takes_the_same_lines(tagged, tmp_path, capsysbinary):
    from heedful.cli import run as cli

    source = tmp_path / "lines.txt"
    source.write_bytes(b"say\tabc\t\tx;y\n\n\tabc\t\ty\n")
    assert cli(["predict", str(tagged[0]), str(source), "--json"]) == 0
    out, err = capsysbinary.readouterr()
    assert [json.loads(line)["text"] for line in out.splitlines()] == ["yes", "", "no"]
    assert err == b""


def test_unknown_tags_are_told(tagged, tmp_path, capsysbinary):
    """As unknown letters are: a tag that was never seen has no say, and nobody would notice."""
    from heedful.cli import run as cli

    source = tmp_path / "lines.txt"
    source.write_bytes(b"shout\tabc\t\tx;y\n")
    assert cli(["predict", str(tagged[0]), str(source)]) == 0
    assert b"'shout'" in capsysbinary.readouterr().err
