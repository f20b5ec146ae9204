"""The codec: ids, places and labels of a text, and one file that brings all of it back."""

import json
import os
import subprocess
import sys

import pytest

from heedful.data.codec import END_LABEL, Codec, Encoded
from heedful.data.pairs import Pair
from heedful.data.vocabulary import UNKNOWN_LABEL, Vocabulary
from heedful.errors import DataError, RecipeError, RunError

PAIRS = [
    Pair("cab", "K AE B", ("x",), 1),
    Pair("<s> é\u2028", "<s> </s> <unk> <pad>", (), 2),
    Pair("ab", "AE B", ("x", "y"), 3),
]


def codec(**options) -> Codec:
    return Codec.build(PAIRS, **options)


def test_a_source_in_order():
    subject = codec()
    encoded = subject.encode_source("cab", ["y", "x"])
    ids = subject.source_vocabulary.ids
    assert encoded == Encoded(
        ids=[*ids([], ["y", "x"]), *ids("cab"), Vocabulary.END],
        positions=[0, 0, 1, 2, 3, 0],
        labels=["[y]", "[x]", "c", "a", "b", END_LABEL],
    )


def test_a_reversed_source_remembers_its_places():
    subject = codec(reverse_source=True)
    encoded = subject.encode_source("cab", ["y", "x"])
    ids = subject.source_vocabulary.ids
    assert encoded == Encoded(
        ids=[*ids([], ["y", "x"]), *ids("bac"), Vocabulary.END],
        positions=[0, 0, 3, 2, 1, 0],
        labels=["[y]", "[x]", "b", "a", "c", END_LABEL],
    )


@pytest.mark.parametrize("tokens", [("characters", {}), ("whitespace", {}), ("bpe", {"vocabulary_size": 260})])
def test_reversing_permutes_and_nothing_else(tokens):
    plain, reverse = (codec(source_tokens=tokens, reverse_source=flag) for flag in (False, True))
    for text in ("cab ab", "a", "", "naïve 日本"):
        one, other = plain.encode_source(text, ["x"]), reverse.encode_source(text, ["x"])
        assert other.ids == [one.ids[0], *one.ids[-2:0:-1], one.ids[-1]]
        by_place = sorted(zip(other.positions[1:-1], other.labels[1:-1], strict=True))
        assert [label for _, label in by_place] == one.labels[1:-1]
        assert len(one.ids) == len(one.positions) == len(one.labels)


def test_an_empty_source_is_an_end():
    assert codec().encode_source("") == Encoded([Vocabulary.END], [0], [END_LABEL])


def test_unknown_tokens_keep_their_label():
    encoded = codec().encode_source("aq", ["new"])
    assert encoded.ids[0] == encoded.ids[2] == Vocabulary.UNKNOWN
    assert encoded.labels == ["[new]", "a", "q", END_LABEL]


def test_texts_are_taken_as_they_are():
    """Normalising is done where texts come in: what was not seen in this form is unknown."""
    subject = codec(target_tokens=("characters", {}))
    assert Vocabulary.UNKNOWN not in subject.encode_source("\u00e9").ids
    decomposed = subject.encode_source("e\u0301")
    assert decomposed.labels == ["e", "\u0301", END_LABEL]
    assert decomposed.ids[:-1] == [Vocabulary.UNKNOWN] * 2
    apart = Codec.build([Pair("e\u0301", "e\u0301", (), 1)], target_tokens=("characters", {}))
    assert apart.decode_target(apart.encode_target("e\u0301")) == "e\u0301"


TOKENS = [("characters", {}), ("graphemes", {}), ("whitespace", {}), ("bpe", {"vocabulary_size": 260})]
SYMBOLS = ["<s>", "</s>", "<unk>", "<pad>", "@@", "|||", END_LABEL, UNKNOWN_LABEL, "[TAG]", "Ġ", "<|endoftext|>"]


@pytest.mark.parametrize("tokens", TOKENS)
def test_text_that_looks_like_a_symbol_is_text(tmp_path, tokens):
    """It has ids of its own, none of the four and none of a tag, and comes back; also from the file."""
    text = " ".join(SYMBOLS)
    built = Codec.build([Pair(text, text, ("TAG", "<s>"), 1)], source_tokens=tokens, target_tokens=tokens)
    built.save(tmp_path / "vocabulary.json")
    for subject in (built, Codec.load(tmp_path / "vocabulary.json")):
        tags = subject.source_vocabulary.ids((), ["TAG", "<s>"])
        for symbol in (*SYMBOLS, text):
            *target, end = subject.encode_target(symbol)
            *source, also = subject.encode_source(symbol).ids
            assert end == also == Vocabulary.END
            assert not {*source, *target} & {Vocabulary.PAD, Vocabulary.START, Vocabulary.END, Vocabulary.UNKNOWN}
            assert not {*source} & {*tags}
            assert subject.decode_target([*target, end]) == symbol
            assert subject.target_labels([*target, end]) == subject.target_labels_of(symbol)


def test_the_four_symbols_have_no_spelling_and_one_id_everywhere(tmp_path):
    """On both sides, before the file and after it."""
    subject = codec(source_tokens=("bpe", {"vocabulary_size": 260}))
    subject.save(tmp_path / "vocabulary.json")
    again = Codec.load(tmp_path / "vocabulary.json")
    for vocabulary in (subject, again, codec(), codec(target_tokens=("bpe", {"vocabulary_size": 260}))):
        for side in (vocabulary.source_vocabulary, vocabulary.target_vocabulary):
            assert (side.PAD, side.START, side.END, side.UNKNOWN) == (0, 1, 2, 3)
            assert side.tokens(range(4)) == [UNKNOWN_LABEL] * 4
            entries = [token for entries in side.to_json().values() for token in entries]
            assert len(side) == 4 + len(entries)
    assert again.source_vocabulary == subject.source_vocabulary
    assert again.target_vocabulary == subject.target_vocabulary


@pytest.mark.parametrize("tokens", TOKENS[:2])
def test_a_space_is_a_token_like_any_other(tmp_path, tokens):
    """At the ends too, and several; a file with one token a line could not hold it."""
    texts = ["new york", " new  york ", "\tnew\u00a0york\u2028"]
    pairs = [Pair(text, text, (), 1) for text in texts]
    path = tmp_path / "vocabulary.json"
    Codec.build(pairs, source_tokens=tokens, target_tokens=tokens).save(path)
    subject = Codec.load(path)
    for text in texts:
        ids = subject.encode_target(text)
        assert Vocabulary.UNKNOWN not in ids + subject.encode_source(text).ids
        assert len(ids) == len(text) + 1
        assert subject.decode_target(ids) == text


def test_a_given_target_keeps_its_labels():
    """Those that the model does not know too, where `target_labels` can only show that they are unknown."""
    subject = codec()
    assert subject.target_labels_of("K Q B") == ["K", "Q", "B", END_LABEL]
    assert subject.target_labels(subject.encode_target("K Q B")) == ["K", UNKNOWN_LABEL, "B", END_LABEL]
    pieces = codec(target_tokens=("bpe", {"vocabulary_size": 256}))
    assert pieces.target_labels_of("é!") == ["é", "é", "!", END_LABEL]
    assert subject.target_labels_of("") == [END_LABEL]


@pytest.mark.parametrize("tokens", TOKENS)
def test_targets_come_back(tokens):
    subject = codec(target_tokens=tokens)
    for pair in PAIRS:
        ids = subject.encode_target(pair.target)
        assert ids[-1] == Vocabulary.END
        assert ids.count(Vocabulary.END) == 1
        assert subject.decode_target(ids) == pair.target
        assert subject.decode_target(ids[:-1]) == pair.target
        assert subject.decode_target([*ids, *ids, 0, 0]) == pair.target
        assert len(subject.target_labels(ids)) == len(ids)


def test_target_labels_stop_at_the_end():
    subject = codec()
    ids = subject.encode_target("K B")
    assert subject.target_labels([*ids, 0, 0]) == ["K", "B", END_LABEL]
    assert subject.target_labels(ids[:-1]) == ["K", "B"]
    assert subject.target_labels([Vocabulary.UNKNOWN, Vocabulary.END, 5]) == [UNKNOWN_LABEL, END_LABEL]
    assert subject.decode_target([Vocabulary.END]) == ""
    assert subject.decode_target([]) == ""


def test_labels_are_what_a_reader_knows():
    pieces = ("bpe", {"vocabulary_size": 256})
    subject = codec(source_tokens=pieces, target_tokens=pieces)
    assert subject.encode_source("é s").labels == ["é", "é", " ", "s", END_LABEL]
    assert subject.target_labels(subject.encode_target("é s")) == ["é", "é", " ", "s", END_LABEL]


def test_vocabulary_options_reach_their_side():
    subject = codec(source_min_count=2, target_max_size=1)
    assert subject.source_vocabulary.to_json() == {"tags": ["x", "y"], "tokens": ["a", "b"]}
    assert subject.target_vocabulary.to_json() == {"tags": [], "tokens": ["AE"]}
    subject = codec(source_max_size=1, target_min_count=2)
    assert subject.source_vocabulary.to_json()["tokens"] == ["a"]
    assert subject.target_vocabulary.to_json()["tokens"] == ["AE", "B"]


def test_nothing_to_build_from():
    with pytest.raises(DataError, match="expected at least one pair"):
        Codec.build([])
    with pytest.raises(DataError, match="line 7: expected a pair to learn from, got no target"):
        Codec.build([*PAIRS, Pair("a", None, (), 7)])
    with pytest.raises(RecipeError, match="unknown tokeniser"):
        codec(target_tokens=("words", {}))


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("tokens", [("characters", {}), ("bpe", {"vocabulary_size": 260})])
def test_saved_and_loaded(tmp_path, reverse, tokens):
    path = tmp_path / "vocabulary.json"
    subject = codec(source_tokens=tokens, target_tokens=tokens, reverse_source=reverse)
    subject.save(path)
    again = Codec.load(path)
    assert again.to_json() == subject.to_json()
    for pair in PAIRS:
        assert again.encode_source(pair.source, pair.tags) == subject.encode_source(pair.source, pair.tags)
        assert again.encode_target(pair.target) == subject.encode_target(pair.target)
    first = path.read_bytes()
    again.save(path)
    assert path.read_bytes() == first


def test_saved_and_loaded_in_the_c_locale(tmp_path):
    path = tmp_path / "vocabulary.json"
    codec().save(path)
    code = f"from heedful.data import Codec; c = Codec.load({str(path)!r}); c.save({str(path) + '2'!r})"
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert (tmp_path / "vocabulary.json2").read_bytes() == path.read_bytes()


def test_files_that_hold_no_codec(tmp_path):
    path = tmp_path / "vocabulary.json"
    good = codec(source_tokens=("bpe", {"vocabulary_size": 260})).to_json()
    with pytest.raises(RunError, match=r"vocabulary\.json: cannot be read: No such file"):
        Codec.load(path)
    with pytest.raises(RunError, match="cannot be written"):
        codec().save(tmp_path / "missing" / "vocabulary.json")
    broken_model = {**good["source_tokeniser"], "model": {"type": "?"}}
    for content, message in [
        ("", "expected JSON"),
        ("{", "expected JSON"),
        ("\udcff", "expected JSON"),
        ("[]", "expected a codec"),
        ("{}", "expected a codec: no key 'version'"),
        (json.dumps({**good, "version": 2}), "expected version 1 of the format, got 2"),
        (json.dumps({**good, "target_vocabulary": {"tags": []}}), "expected a codec: no key 'tokens'"),
        (
            json.dumps({**good, "target_vocabulary": {"tags": [], "tokens": [1]}}),
            "expected a list of strings",
        ),
        (json.dumps({**good, "target_tokeniser": {"name": "wolf"}}), "unknown tokeniser 'wolf'"),
        (json.dumps({**good, "source_tokeniser": broken_model}), "expected a codec"),
    ]:
        path.write_bytes(content.encode("utf-8", "surrogateescape"))
        with pytest.raises(RunError, match=message) as caught:
            Codec.load(path)
        assert str(caught.value).startswith(f"{path}: ")
