"""Alignments that are shifted, shuffled, past the end, all zero, or on the end symbol."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import heedful
from heedful.alignment import Alignment
from heedful.data.codec import Codec
from heedful.data.pairs import Pair
from training.cases import write_pairs

from .conftest import LETTERS, easy_words, strings

UNSORTED = ["cab", "jihgfedcba", "a", "bbca", "hadiffeg", "ij", "dcfgeabhi", "aaaaa"]


def diagonal(length: int) -> str:
    return " ".join(f"{i}-{i}" for i in range(length))


def test_a_copy_is_aligned_with_itself(copier, cli, tmp_path):
    """0-0 1-1 ... n-n: nothing is shifted by a start or an end symbol, alone or beside others, given or found."""
    words = easy_words(100, seed=11)
    path = write_pairs(tmp_path / "words.tsv", ((word, word) for word in words))
    expected = [diagonal(len(word)) for word in words]
    loaded = heedful.load(copier)
    for size in (1, 7, 100):
        assert [one.pharaoh() for one in heedful.align(loaded, path, batch_size=size)] == expected
        for beam in (1, 5):
            answers = loaded.predict(words, batch_size=size, beam=beam)
            assert [answer.text for answer in answers] == words
            assert [answer.alignment.pharaoh() for answer in answers] == expected
    assert cli("align", copier, path).lines == [line.encode() for line in expected]
    assert cli("predict", copier, "--json", stdin="\n".join(words).encode()).json[7]["alignment"] == expected[7]


def test_nearly_all_of_a_copy_is_on_the_diagonal(copier, tmp_path):
    """The figure to watch from release to release: arg-max cells on the diagonal, of words that were never seen."""
    words = strings(500, seed=12, shortest=4)
    path = write_pairs(tmp_path / "words.tsv", ((word, word) for word in words))
    links = [link for one in heedful.align(copier, path) for link in one.links()]
    assert len(links) == sum(map(len, words))
    assert sum(i == j for i, j in links) >= 0.95 * len(links)


def test_no_link_points_past_what_is_shown(run, copier):
    """A thousand random texts, with letters that were never seen, spaces and signs; n-best lists too."""
    rng = random.Random(5)
    texts = ["".join(rng.choices(LETTERS + "qz |∎-", k=rng.randint(1, 15))) for _ in range(1000)]
    for folder, n_best in ((run, 1), (copier, 2)):
        found = heedful.load(folder).predict(texts, beam=n_best, n_best=n_best)
        seen = 0
        for text, answers in zip(texts, found, strict=True):
            for answer in [answers] if n_best == 1 else answers:
                for i, j in answer.alignment.links() if answer.alignment is not None else ():
                    assert 0 <= i < len(text)
                    assert 0 <= j < len(answer.tokens)
                    seen += 1
        assert seen > 1000 * n_best


@pytest.mark.parametrize("folder", ["run", "copier"])
def test_alignments_of_an_unsorted_batch_are_those_alone(request, folder):
    """Each with its own sentence, not with the one that was as long in another order; short ones are not shifted."""
    loaded = heedful.load(request.getfixturevalue(folder))
    together = loaded.predict(UNSORTED)
    for text, answer in zip(UNSORTED, together, strict=True):
        alignment = answer.alignment
        assert alignment.source == (*text, "∎")
        assert alignment.target == (*answer.tokens, "∎")
        assert alignment.weights.shape == (len(answer.tokens) + 1, len(text) + 1)
        (alone,) = loaded.predict([text])
        np.testing.assert_allclose(alignment.weights, alone.alignment.weights, rtol=0, atol=1e-5)
    assert len({one.alignment.weights.shape for one in together}) > 5


def test_every_printed_row_sums_to_one(run, copier, cli, tmp_path):
    """What has no weights to show is refused: see the tests of bad input."""
    path = write_pairs(tmp_path / "words.tsv", [(word, " ".join(word)) for word in UNSORTED])
    for folder in (run, copier):
        for line in cli("align", folder, path, "--json").json:
            weights = np.array(line["weights"])
            assert weights.sum(axis=1) == pytest.approx(1, abs=1e-3)
            assert (weights >= 0).all()


def test_identical_texts_in_pieces_are_aligned_piece_by_piece():
    """No lone marker stands before the first piece; positions count pieces from 1."""
    texts = ["new york is new", "the lowest of the low", "a", " a"]
    learn = [Pair(text, text, (), line) for line, text in enumerate(texts[:2] * 5, start=1)]
    pieces = ("bpe", {"vocabulary_size": 280})
    codec = Codec.build(learn, source_tokens=pieces, target_tokens=pieces)
    for text in texts:
        source = codec.encode_source(text)
        target = codec.target_labels(codec.encode_target(text))
        alignment = Alignment.of(
            source.labels, target, np.eye(len(target)), source_positions=source.positions, target_end=True
        )
        assert alignment.pharaoh() == diagonal(len(target) - 1)
        assert "".join(alignment.source[:-1]) == text
        assert alignment.source[0].strip() or text.startswith(" ")


@pytest.mark.parametrize(
    ("source", "target"), [([], ["a"]), (["a"], []), (["|||", "", " "], ["|||", "0-0", "\n"]), (["∎"], ["∎", "▷"])]
)
def test_what_is_written_is_read_back(source, target):
    weights = np.random.default_rng(1).random((len(target), len(source)))
    alignment = Alignment.of(source, target, weights)
    line = json.dumps(alignment.to_json(), ensure_ascii=False)
    assert "\n" not in line
    assert Alignment.from_json(json.loads(line)) == alignment


def test_bars_as_tokens_on_the_command_line(cli, tmp_path):
    path = write_pairs(tmp_path / "bars.tsv", [("|||", "||| 0-0 |||"), ("a|b", "|||"), ("-", "||| 0-0 |||")] * 5)
    settings = ["train.updates=3", "data.target_tokens=whitespace", "train.epochs=none"]
    sets = [part for setting in settings for part in ("--set", setting)]
    assert cli("train", path, "--dev", path, "--recipe", "tiny", "--out", tmp_path / "run", *sets).code == 0
    first, second, *_ = (Alignment.from_json(line) for line in cli("align", tmp_path / "run", path, "--json").json)
    assert (first.source, first.target) == (("|", "|", "|", "∎"), ("|||", "0-0", "|||", "∎"))
    assert second.source == ("a", "|", "b", "∎")
    assert first.weights.shape == (4, 4)


def test_the_end_symbol_is_never_linked_and_can_be_left_out(run, tmp_path):
    """By default the matrix has it, as the model does; the links never do."""
    path = write_pairs(tmp_path / "words.tsv", [(word, "A B") for word in UNSORTED])
    alignments = heedful.align(run, path)
    assert max(one.weights[:, -1].max() for one in alignments) > 0.05
    for text, one in zip(UNSORTED, alignments, strict=True):
        words = one.without_special()
        assert (words.source, words.target) == (tuple(text), ("A", "B"))
        np.testing.assert_allclose(words.weights.sum(axis=1), 1, rtol=0, atol=1e-12)
        np.testing.assert_allclose(words.weights * one.weights[:-1, :-1].sum(1, keepdims=True), one.weights[:-1, :-1])
        assert words.links() == one.links()
        assert all(i < len(text) for i, _ in one.links())


def test_a_picture_and_matrices_and_links_are_all_written(run, cli, tmp_path):
    path = write_pairs(tmp_path / "words.tsv", [(word, "A B") for word in UNSORTED])
    soft = cli("align", run, path, "--json", "--plot", tmp_path / "map.svg", "--line", 2)
    hard = cli("align", run, path, "--plot", tmp_path / "same.svg", "--line", 2)
    assert (soft.code, hard.code) == (0, 0)
    assert [Alignment.from_json(line).pharaoh().encode() for line in soft.json] == hard.lines
    assert len(hard.lines) == 8
    assert all(hard.lines)
    assert (tmp_path / "map.svg").read_bytes() == (tmp_path / "same.svg").read_bytes() != b""
    gone = cli("align", run, path, "--plot", tmp_path / "nowhere" / "map.svg")
    assert (gone.code, gone.out) == (2, b"")
    assert f"{tmp_path / 'nowhere' / 'map.svg'}: there is no folder" in gone.err
