"""``heedful.look``: which pairs and answers are shown, with whose alignments; in files of all three kinds."""

from __future__ import annotations

import dataclasses
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import heedful
from heedful.alignment import Alignment, load_alignments, save_alignments
from heedful.data import read_pairs
from heedful.errors import DataError, HeedfulError, RecipeError, RunError
from heedful.plots import load_report
from training.cases import train_tiny, write_pairs

from .samples import edited


@pytest.fixture
def look(run: Any, tmp_path: Path):
    """``look(pairs, line=3)``: the report of the run, as a file of HTML."""

    def call(*arguments: Any, **options: Any):
        return heedful.look(run, *arguments, **{"out": tmp_path / "report.html", **options})

    return call


def same(found: list[Alignment], wanted: list[Alignment | None], *, within: float = 1e-6) -> None:
    """The alignments of other calls: batches differ, and with them roundings."""
    for one, other in zip(found, wanted, strict=True):
        assert other is not None
        np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=within)
        assert dataclasses.replace(one, weights=other.weights) == other


def test_given_targets_are_aligned_by_force(look, run, pairs, tmp_path):
    """As `heedful.align` has them; and so the file has them, to 1/255."""
    report = look(pairs)
    same(report.alignments, heedful.align(run, pairs))
    corpus = read_pairs(pairs).pairs
    assert [(one.line, one.source, one.given) for one in report.entries] == [
        (pair.line, pair.source, pair.target) for pair in corpus
    ]
    scores = [scored.score for scored in heedful.score(run, pairs)]
    assert [one.maps[0].score for one in report.entries] == pytest.approx(scores, abs=1e-5)
    assert [one.maps[0].text for one in report.entries] == [pair.target for pair in corpus]
    same(load_report(tmp_path / "report.html").alignments, report.alignments, within=0.5 / 255 + 1e-9)


def test_the_head_tells_the_whole_story(look, pairs, run):
    facts = dict(look(pairs, line="3-5", attention_temperature=0.5).facts)
    assert facts == {
        "run": str(run.folder),
        "model": "early fusion, additive score, global scope, softmax; gru, bidirectional encoder",
        "targets": "as given (forced decoding)",
        "signature": "forced|attention_temperature:0.5",
        "data": str(pairs),
        "shown": "3 of 60 lines",
        "heedful": heedful.__version__,
    }
    facts = dict(look(pairs, line=1, n_best=3).facts)
    assert facts["targets"] == "the model's own answers"
    assert facts["signature"] == "beam:5|lp:1"
    assert facts["shown"] == "1 of 60 lines, 3 heat maps"


@pytest.mark.parametrize(
    ("line", "wanted"), [(7, [7]), ("3,7-9", [3, 7, 8, 9]), ([9, "2 - 3", "3"], [2, 3, 9]), ("59-99", [59, 60])]
)
def test_lines_that_are_chosen(look, pairs, line, wanted):
    report = look(pairs, line=line)
    assert [one.line for one in report.entries] == wanted
    corpus = read_pairs(pairs).pairs
    assert [one.source for one in report.entries] == [corpus[line - 1].source for line in wanted]


@pytest.mark.parametrize("line", ["0", 0, "-3", "x", "9-3", "", "3,", "1.5", [None], "1-2-3"])
def test_lines_that_are_none(look, pairs, line, tmp_path):
    with pytest.raises(DataError, match="line: expected numbers from 1 and ranges, as in 3,7-9, got"):
        look(pairs, line=line)
    assert not list(tmp_path.iterdir())


def test_lines_that_are_not_there(look, pairs, tmp_path):
    for line in (61, "61-70", "3,99"):
        with pytest.raises(DataError, match=r"line must be from 1 to 60, the number of lines, got (61|99)"):
            look(pairs, line=line)
    assert not list(tmp_path.iterdir())


def test_n_best_is_that_of_predict(look, run, pairs):
    """Also wider than the beam of the recipe, and with options of the search."""
    sources = [pair.source for pair in read_pairs(pairs).pairs[:4]]
    for options in ({}, {"beam": 9, "length_penalty": 0.5}):
        report = look(pairs, line="1-4", n_best=7, **options)
        wanted = run.predict(sources, n_best=7, **options)
        same(report.alignments, [answer.alignment for answers in wanted for answer in answers])
        for one, answers in zip(report.entries, wanted, strict=True):
            assert [shown.text for shown in one.maps] == [answer.text for answer in answers]
            assert [shown.caption for shown in one.maps] == [f"answer {n + 1}" for n in range(len(answers))]
    assert report.entries[0].given is not None


def test_sources_without_targets_are_answered(look, run, tmp_path):
    path = tmp_path / "sources.txt"
    path.write_text("abc\n\nfed\n \n", "utf-8")
    report = look(path)
    assert [(one.line, one.source, one.given) for one in report.entries] == [(1, "abc", None), (3, "fed", None)]
    same(report.alignments, [answer.alignment for answer in run.predict(["abc", "fed"])])
    with pytest.raises(DataError, match=r"sources\.txt: line 2 is blank or was skipped"):
        look(path, line="1,2")
    assert [one.line for one in look(path, line="1-2").entries] == [1]
    path.write_text("\n\n", "utf-8")
    with pytest.raises(DataError, match="expected at least one line to look at, got none"):
        look(path)


def test_a_target_that_is_missing_among_others_is_an_error(look, tmp_path):
    path = write_pairs(tmp_path / "pairs.tsv", [("abc", "A B C"), ("a",)])
    with pytest.raises(DataError, match=r"pairs\.tsv:2: expected at least 2 columns"):
        look(path)


def test_skipped_lines_are_told_and_keep_their_numbers(folder, tmp_path):
    run = edited(folder, tmp_path / "run")
    text = (run / "recipe.toml").read_text("utf-8").replace('bad_lines = "error"', 'bad_lines = "skip"')
    (run / "recipe.toml").write_text(text, "utf-8")
    path = write_pairs(tmp_path / "pairs.tsv", [("abc", "A B C"), ("a",), ("b", "B")])
    told: list[str] = []
    report = heedful.look(run, path, out=tmp_path / "r.html", message=told.append)
    assert [one.line for one in report.entries] == [1, 3]
    assert told == [f"{path}: bad lines skipped, 1 in all: 2"]
    assert dict(report.facts)["skipped"] == "1 bad lines"


def test_a_text_in_place_of_pairs(look, run):
    report = look(source="abc", target="A B")
    assert (report.title, report.entries[0].source, report.entries[0].given) == ("abc", "abc", "A B")
    assert report.alignments[0].target[:2] == ("A", "B")
    answered = look(source="abc")
    same(answered.alignments, [run.predict(["abc"])[0].alignment])
    both = look(source="abc", target="A B", n_best=3)
    assert len(both.alignments) == 3
    assert both.entries[0].given == "A B"
    for side, text in (("source", {"source": " "}), ("target", {"source": "abc", "target": ""})):
        with pytest.raises(DataError, match=f"expected a text as {side}, got a blank"):
            look(**text)


def test_unknown_symbols_are_told(look, tmp_path, run, folder):
    """Of texts, of files with targets, and of both runs."""
    path = write_pairs(tmp_path / "pairs.tsv", [("abXc", "A B C"), ("Yb", "B")])
    for arguments, options, wanted in (
        ([], {"source": "abXc"}, ["1 of 4 source symbols were never seen in training: 'X'"]),
        ([], {"source": "abXc", "target": "A"}, ["1 of 4 source symbols were never seen in training: 'X'"]),
        ([path], {}, ["2 of 6 source symbols were never seen in training: 'X', 'Y'"]),
        (
            [path],
            {"line": 2, "against": folder},
            [f"{run.folder}: 1 of 2 source symbols were never seen in training: 'Y'"] * 2,
        ),
    ):
        told: list[str] = []
        look(*arguments, **options, message=told.append)
        assert told == wanted


def test_two_runs_side_by_side(look, run, pairs, folder, tmp_path):
    other = train_tiny(pairs, tmp_path / "other", set={"train.updates": 3})
    report = look(pairs, line="2-4", against=other, n_best=2)
    for one in report.entries:
        captions = [shown.caption for shown in one.maps]
        assert captions[:3] == ["run, answer 1", "run, answer 2", "other, answer 1"]
        assert captions[3:] in ([], ["other, answer 2"])  # it has not learned much
    report = look(pairs, line="2-4", against=other)
    wanted = [
        alignments[line - 1]
        for line in (2, 3, 4)
        for alignments in (heedful.align(run, pairs), heedful.align(other, pairs))
    ]
    same(report.alignments, wanted)
    assert report.title == f"run and other on {pairs}"
    assert look(source="abc", against=other).title == "run and other on abc"
    facts = dict(report.facts)
    assert facts["run, other"] == str(other)
    assert facts["signature"] == "forced"
    # Of one name they are numbered.
    twice = look(pairs, line=1, against=folder)
    assert [shown.caption for shown in twice.entries[0].maps] == ["run (1)", "run (2)"]


@pytest.mark.parametrize("suffix", [".jsonl", ".npz"])
def test_a_file_of_alignments(run, pairs, tmp_path, suffix):
    path, out = tmp_path / f"saved{suffix}", tmp_path / "report.html"
    alignments = heedful.align(run, pairs)[:6]
    alignments.pop(2)
    save_alignments([*alignments[:2], Alignment.of((), (), np.zeros((0, 0))), *alignments[2:]], path)
    report = heedful.look(path, out=out)
    assert report.alignments == alignments
    assert [one.line for one in report.entries] == [1, 2, 4, 5, 6]
    assert report.entries[0].source == read_pairs(pairs).pairs[0].source
    assert report.entries[0].maps[0].text == "".join(alignments[0].target[:-1])
    assert [one.line for one in heedful.look(str(path), out=out, line="2-4").entries] == [2, 4]
    with pytest.raises(DataError, match="line 3 is blank or was skipped"):
        heedful.look(path, out=out, line=3)
    told: list[str] = []
    beside = heedful.look(run, pairs, out=out, against=path, message=told.append)
    assert [one.line for one in beside.entries] == [1, 2, 4, 5, 6]
    assert told == ["left out, because only one side has them: 55 lines: 3, 7-60"]
    assert dict(beside.facts)["left out"] == "55 lines that only one side has"
    assert beside.title == f"run and saved{suffix} on {pairs}"
    assert load_alignments(path)[0] == beside.alignments[1]
    for wrong in ({"pairs": pairs}, {"source": "a"}, {"n_best": 2}):
        with pytest.raises(DataError, match="is a file of alignments, and shown as it is"):
            heedful.look(path, out=out, **wrong)
    with pytest.raises(RecipeError, match="attention_temperature is of no use to a file of alignments"):
        heedful.look(path, out=out, attention_temperature=2.0)


def of_words(*sources: list[str]) -> list[Alignment]:
    return [Alignment.of(source, ["A"], np.full((1, len(source)), 1 / len(source))) for source in sources]


def test_two_sides_with_other_sources_on_a_line(tmp_path):
    """Are never shown as one pair; but the same text may be cut in other ways."""
    one, other, out = tmp_path / "one.jsonl", tmp_path / "other.jsonl", tmp_path / "r.html"
    save_alignments(of_words(["a", "b"], ["x", "y", "z"], ["c"]), one)
    save_alignments(of_words(["ab"], ["x", "y", "w"]), other)
    with pytest.raises(DataError, match=r"line 2: .*got 'xyz' in one\.jsonl, 'xyw' in other\.jsonl"):
        heedful.look(one, against=other, out=out)
    assert not out.exists()
    assert [entry.line for entry in heedful.look(one, against=other, line=1, out=out).entries] == [1]
    save_alignments(of_words(["the", "café"], ["é", "é", "t"]), one)  # two bytes of one letter
    save_alignments(of_words(list("the cafe\u0301"), ["ét"]), other)
    assert len(heedful.look(one, against=other, out=out).entries) == 2
    save_alignments(of_words(["a"]), one)
    save_alignments([Alignment.of((), (), np.zeros((0, 0))), *of_words(["a"])], other)
    with pytest.raises(DataError, match=r"something to draw that both one\.jsonl and other\.jsonl have, got none"):
        heedful.look(one, against=other, out=out)


def test_tags_do_not_make_another_source(tmp_path):
    one, other = tmp_path / "one.jsonl", tmp_path / "other.jsonl"
    plain = of_words(["a", "b"])[0]
    tagged = Alignment.of(["[V]", "a", "b"], ["A"], np.full((1, 3), 1 / 3), source_positions=[0, 1, 2])
    save_alignments([plain], one)
    save_alignments([tagged], other)
    assert heedful.look(one, against=other, out=tmp_path / "r.html").title == "one.jsonl and other.jsonl"


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture_holds_24_maps(look, pairs, tmp_path, suffix, monkeypatch):
    drawn: list[tuple[int, list[str | None], int | None, str]] = []
    monkeypatch.setattr(
        sys.modules["heedful.api.look"],
        "save_many",
        lambda maps, path, *, titles, columns, theme, pictures: drawn.append((len(maps), titles, columns, theme)),
    )
    told: list[str] = []
    out = tmp_path / f"page{suffix}"
    report = look(pairs, out=out, message=told.append)
    assert len(report.alignments) == 24
    assert told == [
        f"{out} shows lines 1-24 and has no room for 36 more; write a report (.html) for all, or choose with line"
    ]
    look(pairs, out=out, line="3,7-9", n_best=5, message=told.append)
    look(pairs, out=out, line="3,7-20", n_best=5, theme="dark", message=told.append)
    assert told[1:] == [told[0].replace("lines 1-24", "lines 3,7-9").replace("for 36", "for 11")]
    look(pairs, out=out, line=3)
    counts, titles, columns, themes = zip(*drawn, strict=True)
    assert themes == ("light", "light", "dark", "light")
    assert counts[0] == 24
    assert counts[3] == 1
    assert titles[0][:2] == ["line 1", "line 2"]
    assert titles[1][:2] == ["line 3, answer 1", "line 3, answer 2"]
    assert titles[3] == [None]
    assert columns[0] is None  # about square
    if counts[1] == 20:
        assert columns[1] == 5  # a pair a row


def test_pictures_are_written(look, pairs, tmp_path):
    look(pairs, out=tmp_path / "one.PNG", line=3)
    look(pairs, out=tmp_path / "page.svg", line="1-3", theme="dark")
    assert (tmp_path / "one.PNG").read_bytes().startswith(b"\x89PNG")
    assert "line 3" in (tmp_path / "page.svg").read_text("utf-8")
    assert "#14171c" in (tmp_path / "page.svg").read_text("utf-8")


def test_what_makes_no_sense(look, run, pairs, tmp_path):
    for says, arguments, options in (
        ("expected a file .png, .svg or .html to write, got the suffix '.pdf'", [pairs], {"out": tmp_path / "a.pdf"}),
        ("expected pairs or a source to look at, got neither", [], {}),
        ("expected pairs or a source to look at, got both", [pairs], {"source": "a"}),
        ("a target needs its source", [pairs], {"target": "A"}),
        ("beam is about answers that are searched for, but targets are given: add n_best", [pairs], {"beam": 3}),
        ("nope.jsonl'", [], {"against": tmp_path / "nope.jsonl", "source": "a"}),
        ("there is no folder", [pairs], {"out": tmp_path / "nope" / "a.png"}),
        ("it is a folder", [pairs], {"out": tmp_path}),
        ("out: expected the name of a file, got None", [pairs], {"out": None}),
        ("source: expected one text, got ['abc']", [], {"source": ["abc"]}),
        ("target: expected one text, got 3", [], {"source": "abc", "target": 3}),
        (
            "pairs: expected a file or a built-in corpus, got [('abc', 'abc')]; a text is given as source",
            [[("abc", "abc")]],
            {},
        ),
        ("line: expected numbers from 1 and ranges, as in 3,7-9, got 1.5", [pairs], {"line": 1.5}),
        (
            "a picture shows answers or the target: leave n_best or target out",
            [],
            {"source": "abc", "target": "A", "n_best": 2, "out": tmp_path / "a.png"},
        ),
        ("unknown option 'baem'; did you mean 'beam'?", [pairs], {"baem": 3, "n_best": 2}),
        ("unknown option 'baem'", [pairs], {"baem": 3}),
        ("unknown theme 'drak'; did you mean 'dark'", [pairs], {"theme": "drak"}),
        ("n_best must be a whole number", [pairs], {"n_best": 0}),
        ("batch_size must be a whole number", [pairs], {"batch_size": 0}),
        ("no such file", [tmp_path / "nope.tsv"], {}),
        ("nope", [pairs], {"against": tmp_path / "nope"}),
    ):
        with pytest.raises(HeedfulError, match=re.escape(says)):
            look(*arguments, **options)
    assert not list(tmp_path.iterdir())


def test_without_attention_there_is_nothing_to_look_at(look, pairs, tmp_path):
    blind = train_tiny(pairs, tmp_path / "blind", set={"train.updates": 1, "model.fusion": "none"})
    says = r"blind: its model has no attention \(fusion 'none'\)"
    with pytest.raises(RunError, match=says):
        heedful.look(blind, pairs, out=tmp_path / "report.html")
    with pytest.raises(RunError, match=says):
        look(pairs, against=blind)
    assert not (tmp_path / "report.html").exists()


def test_several_runs_as_one_have_one_map(folder, pairs, tmp_path):
    report = heedful.look([folder, folder], pairs, line=1, out=tmp_path / "r.html")
    assert len(report.alignments) == 1


def test_progress_counts_what_is_shown(look, pairs):
    counted: list[int] = []
    look(pairs, line="1-7", progress=counted.append)
    assert sum(counted) == 7
