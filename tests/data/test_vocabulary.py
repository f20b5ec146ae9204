"""Vocabularies: the same for the same texts, whatever their order, and blind to what tokens look like."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heedful.data.vocabulary import UNKNOWN_LABEL, Vocabulary
from heedful.errors import DataError

quick = settings(max_examples=100, deadline=None, derandomize=True)
tokens = st.sampled_from(["a", "b", " ", "é", "", "<s>", "</s>", "<unk>", "<pad>", "�", "[a]", "@@", "|||"])
token_lists = st.lists(st.lists(tokens, max_size=8), max_size=8)


def test_ids_by_hand():
    vocabulary = Vocabulary.build(["bca", "ab", "b"], tag_lists=[["y"], ["x", "y"]])
    assert (Vocabulary.PAD, Vocabulary.START, Vocabulary.END, Vocabulary.UNKNOWN) == (0, 1, 2, 3)
    # Tags y, x are 4, 5; tokens b, a, c (3, 2, 1 times) are 6, 7, 8.
    assert vocabulary.ids("abcd", ["x", "y", "z"]) == [5, 4, 3, 7, 6, 8, 3]
    assert vocabulary.tokens([7, 6, 8, 5]) == ["a", "b", "c", "[x]"]
    assert vocabulary.tokens([0, 1, 2, 3]) == [UNKNOWN_LABEL] * 4
    assert len(vocabulary) == 9
    assert vocabulary.unknown("adbdé") == ["d", "d", "é"]


def test_equally_frequent_tokens_are_in_the_order_of_their_code_points():
    assert Vocabulary.build(["zaéB"]).tokens(range(4, 8)) == ["B", "a", "z", "é"]


def test_tags_and_tokens_do_not_mix():
    vocabulary = Vocabulary.build([["x"]], tag_lists=[["x"]])
    assert vocabulary.ids(["x"], ["x"]) == [4, 5]


@quick
@given(token_lists)
def test_tokens_is_the_inverse_of_ids(lists):
    vocabulary = Vocabulary.build(lists)
    for entries in lists:
        ids = vocabulary.ids(entries)
        assert all(Vocabulary.UNKNOWN < i < len(vocabulary) for i in ids)
        assert vocabulary.tokens(ids) == entries
        assert vocabulary.unknown(entries) == []


@quick
@given(token_lists, st.randoms())
def test_order_does_not_matter(lists, random):
    shuffled = [random.sample(entries, len(entries)) for entries in lists]
    random.shuffle(shuffled)
    assert Vocabulary.build(lists).to_json() == Vocabulary.build(shuffled).to_json()


def test_rare_tokens_and_the_largest_size():
    lists = ["aaabbc", "abd"]
    assert Vocabulary.build(lists, min_count=2).to_json()["tokens"] == ["a", "b"]
    assert Vocabulary.build(lists, max_size=3).to_json()["tokens"] == ["a", "b", "c"]
    assert Vocabulary.build(lists, max_size=99).to_json()["tokens"] == ["a", "b", "c", "d"]
    vocabulary = Vocabulary.build(lists, tag_lists=[["t"]], min_count=2, max_size=1)
    assert vocabulary.to_json() == {"tags": ["t"], "tokens": ["a"]}


@pytest.mark.parametrize("settings", [{"min_count": 0}, {"max_size": 0}, {"max_size": -1}])
def test_sizes_that_make_no_sense(settings):
    with pytest.raises(DataError, match="expected min_count and max_size of at least 1"):
        Vocabulary.build(["a"], **settings)


@pytest.mark.parametrize("bad", [-1, 5])
def test_ids_that_are_not_there(bad):
    with pytest.raises(DataError, match=f"expected ids from 0 to 4, got {bad}"):
        Vocabulary.build(["a"]).tokens([4, bad])


def test_json_round_trip_and_equality():
    vocabulary = Vocabulary.build(["ab\u2028 ", ["<s>"]], tag_lists=[["x"]])
    again = Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json())))
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)
    assert again.ids(["<s>", " "], ["x"]) == vocabulary.ids(["<s>", " "], ["x"])
    assert vocabulary != Vocabulary.build(["ab\u2028 ", ["<s>"]])
    assert vocabulary != "something else"
    assert repr(vocabulary) == "Vocabulary(1 tags, 5 tokens)"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"tags": [], "tokens": ["a", "b", "a"]}, "expected every entry once, got 'a' twice"),
        ({"tags": ["t", "t"], "tokens": []}, "expected every entry once, got 't' twice"),
        ({"tags": [], "tokens": [1]}, "expected a list of strings as tokens"),
        ({"tags": "ab", "tokens": []}, "expected a list of strings as tags"),
    ],
)
def test_bad_json(values, message):
    with pytest.raises(DataError, match=message):
        Vocabulary.from_json(values)


def test_the_same_under_every_hash_seed(tmp_path):
    """And whatever the order of the lines: the files of four codecs, byte for byte."""
    code = """
import random, sys
from heedful.data import Codec, Pair
words = [f"{a}{b}{a} {b}\u0301{a}" for a in "abcdefg" for b in "éstuvw"]
pairs = [Pair(w, " ".join(w), (w[0], w[1]), 1) for w in words]
random.Random(int(sys.argv[1])).shuffle(pairs)
for name in ("characters", "graphemes", "whitespace", "bpe"):
    tokens = (name, {"vocabulary_size": 280} if name == "bpe" else {})
    Codec.build(pairs, source_tokens=tokens, target_tokens=tokens, source_max_size=9).save(f"{sys.argv[2]}-{name}")
"""
    contents = []
    for seed in "012":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, seed, str(tmp_path / seed)], env=environment, check=True)
        contents.append([path.read_bytes() for path in sorted(tmp_path.glob(f"{seed}-*"))])
    assert len({*contents[0]}) == 4
    assert contents[0] == contents[1] == contents[2]
