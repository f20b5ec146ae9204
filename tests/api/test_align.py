"""Alignments of a run: of every answer, over words, by either convention, through files; links of two runs, and AER."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import heedful
from heedful.alignment import load_alignments, read_links, save_alignments
from heedful.data.batches import Example, collate
from heedful.data.pairs import read_pairs
from heedful.errors import DataError, SizeError
from training.cases import train_tiny, words, write_pairs


def test_alignments_of_every_answer_are_those_of_forced_decoding(run, tmp_path):
    """Of all n best, and so they are when they have been in a file; Pharaoh says the same links."""
    asked = words(20, seed=8, longest=9)
    found = run.predict(asked, n_best=5, beam=5)
    pairs = [(word, one) for word, answers in zip(asked, found, strict=True) for one in answers]
    pairs = [(word, one) for word, one in pairs if one.finished and one.text]
    assert len(pairs) > 60
    forced = heedful.align(run, write_pairs(tmp_path / "pairs.tsv", ((word, one.text) for word, one in pairs)))
    own = [one.alignment for _, one in pairs]
    for one, other in zip(own, forced, strict=True):
        assert (one.source, one.target, one.convention) == (other.source, other.target, other.convention)
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-5)
    for name in ("all.npz", "all.jsonl.gz"):
        save_alignments(own, tmp_path / name)
        back = load_alignments(tmp_path / name)
        assert back == own
        assert [one.weights.tobytes() for one in back] == [one.weights.tobytes() for one in own]
    (tmp_path / "links.txt").write_text("".join(one.pharaoh() + "\n" for one in own))
    assert read_links(tmp_path / "links.txt") == [frozenset(one.links()) for one in own]


def test_by_the_other_convention(run, pairs):
    """The numbers stay where they are, the links move by one word."""
    own, read = heedful.align(run, pairs), heedful.align(run, pairs, convention="input")
    assert run.predictor.model.row_convention == "predicted"
    for one, other in zip(own, read, strict=True):
        assert (other.convention, other.weights.tobytes()) == ("input", one.weights.tobytes())
    assert [one.links() for one in own] != [one.links() for one in read]
    assert heedful.align(run, pairs, convention="predicted") == own
    wrong: Any = "output"
    seen: list[int] = []
    with pytest.raises(SizeError, match="'predicted' or 'input', got 'output'"):
        heedful.align(run, pairs, convention=wrong, progress=seen.append)
    assert not seen  # before any work


def test_where_words_came_from_now_that_they_are_known(run, pairs):
    """The model's own posterior, cut to each sentence; the rows are about the words, also where those of the weights
    are about the word before."""
    found = heedful.align(run, pairs, posterior=True, batch_size=3)
    model, corpus = run.predictor.model, read_pairs(pairs).pairs
    for one, pair in zip(found, corpus, strict=True):
        example = Example(run.codec.encode_source(pair.source), run.codec.encode_target(pair.target or ""), 0)
        with torch.inference_mode():
            alone = model.posterior(collate([example]))[0]
        np.testing.assert_allclose(one.weights, alone.double().numpy(), rtol=0, atol=1e-5)
        np.testing.assert_allclose(one.weights.sum(1), 1, atol=1e-5)
    assert any(one != other for one, other in zip(found, heedful.align(run, pairs), strict=True))
    with pytest.raises(SizeError, match="leave convention out"):
        heedful.align(run, pairs, posterior=True, convention="input")


def test_posterior_rows_are_about_the_word_that_is_written(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"model.fusion": {"name": "late", "rows": "input"}})
    assert {one.convention for one in heedful.align(folder, pairs)} == {"input"}
    assert {one.convention for one in heedful.align(folder, pairs, posterior=True)} == {"predicted"}


TEXTS = [
    ("new york", "NEUE STADT"),
    ("naïve café in 東京", "DAS CAFÉ"),
    ("york", "東 京 DORT"),
    ("a new one", "EIN"),
] * 5


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_pairs(tmp_path_factory.mktemp("texts") / "texts.tsv", TEXTS)


def trained(texts: Path, folder: Path, source: object, target: object) -> Path:
    tokens = {"data.source_tokens": source, "data.target_tokens": target}
    return train_tiny(texts, folder, dev=texts, set={**tokens, "train.updates": 3})


BYTES = {"name": "bpe", "vocabulary_size": 262}


@pytest.mark.parametrize(
    ("source", "target"),
    [(BYTES, BYTES), (BYTES, "whitespace"), ("whitespace", "characters"), ("whitespace", "whitespace")],
)
def test_over_words(texts, tmp_path, source, target):
    """Whatever the pieces, the labels are the words of the texts, and rows sum to 1."""
    folder = trained(texts, tmp_path / "run", source, target)
    pieces, merged = heedful.align(folder, texts), heedful.align(folder, texts, words=True)
    for (text, answer), one, whole in zip(TEXTS, merged, pieces, strict=True):
        assert one.source == tuple(text.split())
        assert one.target == tuple(answer.split())
        assert len(one.source) < len(whole.source)  # the end symbol at least
        np.testing.assert_allclose(one.weights.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    if source == target == "whitespace":
        assert merged == [one.without_special() for one in pieces]
    if source == target == BYTES:
        assert merged[0] == pieces[0].words()
        assert merged[1].weights.tobytes() == pieces[1].words().weights.tobytes()


def test_over_words_where_lines_were_skipped(tmp_path):
    """Each alignment has its own line's words."""
    path = write_pairs(tmp_path / "pairs.tsv", [("a b", "A B"), ("no pair",), ("c", "C"), ("d e f", "D E F")] * 3)
    settings = {"data.bad_lines": "skip", "data.target_tokens": "characters", "train.updates": 3}
    folder = train_tiny(path, tmp_path / "run", dev=path, set=settings)
    told: list[str] = []
    merged = heedful.align(folder, path, words=True, message=told.append)
    assert [one.source for one in merged] == [("a", "b"), (), ("c",), ("d", "e", "f")] * 3
    assert [one.target for one in merged] == [("A", "B"), (), ("C",), ("D", "E", "F")] * 3
    assert len(told) == 1
    assert "bad lines skipped, 3 in all: 2, 6, 10" in told[0]


# ---------------------------------------------------------------- symmetrise, aer

FORWARD = [{(0, 0), (1, 1), (4, 4), (3, 0)}, set(), {(0, 1)}]
BACKWARD = [{(0, 0), (0, 1)}, {(2, 0)}, {(0, 1)}]
BOTH = [{(0, 0), (0, 1), (1, 1), (4, 4)}, {(2, 0)}, {(0, 1)}]


def written(path: Path, links: list) -> Path:
    path.write_text("".join(" ".join(f"{i}-{j}" for i, j in one) + "\n" for one in links))
    return path


def test_symmetrise_files_and_links(tmp_path):
    forward, backward = written(tmp_path / "forward", FORWARD), written(tmp_path / "backward", BACKWARD)
    turned = [{(j, i) for i, j in one} for one in BACKWARD]
    assert heedful.symmetrise(forward, str(backward)) == BOTH
    assert heedful.symmetrise(FORWARD, BACKWARD) == BOTH
    assert heedful.symmetrise(forward, written(tmp_path / "turned", turned), swap_backward=True) == BOTH
    assert heedful.symmetrise([list(one) for one in FORWARD], turned, swap_backward=True) == BOTH
    assert heedful.symmetrise(forward, backward, method="intersection") == [{(0, 0)}, set(), {(0, 1)}]
    with pytest.raises(DataError, match=r"as many lines in both directions, got 3 in .*forward and 2 in backward"):
        heedful.symmetrise(forward, BACKWARD[:2])
    with pytest.raises(DataError, match="unknown method 'both'"):
        heedful.symmetrise(forward, backward, method="both")  # type: ignore[arg-type]


def test_symmetrise_takes_what_align_gives(run, pairs):
    links = [one.links() for one in heedful.align(run, pairs)]
    turned = [[(j, i) for i, j in one] for one in links]
    assert heedful.symmetrise(links, turned, swap_backward=True) == [frozenset(one) for one in links]
    assert heedful.aer(links, sure=links).aer == 0
    assert heedful.aer(turned, sure=links, swap=True).f1 == pytest.approx(100)


def test_links_as_lines_and_as_alignments(run, pairs, tmp_path):
    """A line of Pharaoh is not a set of characters."""
    assert heedful.aer(["0-0 1-1"], sure=["0-1 1-0"]).aer == 100
    assert heedful.aer(["0-0 11-1"], sure=[{(0, 0), (11, 1)}], possible=["2-2"]).aer == 0
    assert heedful.aer(["1-0 2-1"], sure=["0-1 1-2"], swap=True).aer == 0
    assert heedful.symmetrise(["0-0 1-1", ""], ["0-0 1-0", "3-2"], method="union", swap_backward=True) == [
        {(0, 0), (1, 1), (0, 1)},
        {(2, 3)},
    ]
    alignments = heedful.align(run, pairs)
    gold = written(tmp_path / "ok.links", [one.links() for one in alignments])
    assert heedful.aer([one.pharaoh() for one in alignments], sure=gold).aer == 0
    assert heedful.aer(alignments, sure=gold).aer == 0
    assert heedful.aer(np.array([[[0, 0], [1, 1]]]), sure=["0-0 1-1"]).f1 == pytest.approx(100)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "links",
    [
        5,
        [5],
        [None],
        [(0, 0)],
        [[(0, 0, 0)]],
        [["0-0"]],
        [{"00"}],
        [[(0.5, 1)]],
        [[(0, -1)]],
        {frozenset({(0, 0)})},
        {"0-0": 1},
    ],
)
def test_what_are_no_links_is_told(links):
    says = "forward(, sentence 1)?: expected (a file, or a list|pairs of whole numbers from 0)"
    with pytest.raises(DataError, match=says):
        heedful.symmetrise(links, BACKWARD)
    with pytest.raises(DataError, match=says.replace("forward", "sure")):
        heedful.aer(BOTH, sure=links)
    with pytest.raises(DataError, match=r"links, sentence 2: expected links such as 0-0 1-2, got '0:1'"):
        heedful.aer(["", "0:1"], sure=["", ""])


def test_what_is_no_path_is_told(run):
    wrong: Any = [("abc", "abc")]
    for verb in (heedful.align, heedful.diagnose):
        with pytest.raises(DataError, match=r"pairs: expected a file of pairs .*, got \[\('abc', 'abc'\)\]"):
            verb(run, wrong)
    with pytest.raises(DataError, match=r"wa: expected a file of gold links"):
        heedful.aer(BOTH, wa=wrong)
    with pytest.raises(DataError, match=r"wa: expected a file of gold links"):
        heedful.diagnose(run, "copy", wa=wrong)
    with pytest.raises(DataError, match=r"sweep: expected a text such as 'attention_temperature=0\.5,1,2', got \{"):
        heedful.diagnose(run, "copy", sweep={"attention_temperature": [1]})  # type: ignore[arg-type]


def test_aer_of_files_and_links(tmp_path):
    """2 of 6 links are sure and 3 possible; there are 3 sure and 4 possible ones."""
    sure, possible = [{(0, 0), (1, 1)}, {(1, 0)}, set()], [{(0, 1)}, set(), set()]
    scores = heedful.aer(BOTH, sure=sure, possible=possible)
    assert scores.aer == pytest.approx(100 * (1 - (2 + 3) / (6 + 3)))
    assert (scores.precision, scores.recall) == (pytest.approx(50), pytest.approx(100 * 2 / 3))
    files = [written(tmp_path / name, one) for name, one in (("l", BOTH), ("s", sure), ("p", possible))]
    assert heedful.aer(files[0], sure=str(files[1]), possible=files[2]) == scores
    gold = tmp_path / "gold.wa"
    gold.write_text("1 1 1 S\n1 2 2\n1 1 2 P\n2 2 1 S\n3 0 1\n")
    assert heedful.aer(files[0], wa=gold) == scores
    assert heedful.aer([{(j, i) for i, j in one} for one in BOTH], wa=gold, swap=True) == scores


@pytest.mark.parametrize("gold", [{}, {"possible": BOTH}, {"sure": BOTH, "wa": "x"}, {"possible": BOTH, "wa": "x"}])
def test_aer_needs_gold_of_one_kind(gold):
    with pytest.raises(DataError, match=r"expected gold links, either as sure \(and possible\) or as wa"):
        heedful.aer(BOTH, **gold)


def test_aer_of_files_of_other_lengths(tmp_path):
    links, gold = written(tmp_path / "links", BOTH), tmp_path / "gold.wa"
    with pytest.raises(DataError, match=r"for each line of .*links, which has 3, got 2 in the gold"):
        heedful.aer(links, sure=BOTH[:2])
    with pytest.raises(DataError, match=r"for each line of .*links, which has 3, got 1 in .*short"):
        heedful.aer(links, sure=BOTH, possible=written(tmp_path / "short", BOTH[:1]))
    gold.write_text("1 1 1 S\n4 1 1 S\n")
    with pytest.raises(DataError, match=r"for each line of .*links, which has 3, got 4 in .*gold\.wa"):
        heedful.aer(links, wa=gold)
