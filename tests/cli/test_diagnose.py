"""`heedful diagnose` and `heedful.diagnose`: a screen of text, JSON, gold, tags, a sweep; and what is refused."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.cli.diagnose import _measures
from heedful.diagnosis.verdict import RULES
from heedful.errors import DataError
from training.cases import spelled, train_tiny, words, write_pairs

VERDICTS = {rule.name for rule in RULES} | {"healthy", "not_enough"}
SOURCES = words(60)


def lines(path: Path, rows: list[str]) -> Path:
    path.write_text("".join(row + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def gold(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Letter by letter."""
    links = [" ".join(f"{place}-{place}" for place in range(len(word))) for word in SOURCES]
    return lines(tmp_path_factory.mktemp("gold") / "gold.txt", links)


def test_a_screen_of_text(cli, run, pairs):
    done = cli("diagnose", run, pairs)
    assert (done.code, done.err) == (0, "")
    text = done.out.decode("utf-8").splitlines()
    verdict, _, sure = text[0].partition(" (certainty: ")
    assert verdict.replace(" ", "_") in VERDICTS
    assert sure.rstrip(")") in ("high", "medium", "low")
    assert len(text) <= 50
    assert max(map(len, text)) <= 100
    for name in ("entropy", "on_padding", "gain_over_uniform", "fit_predicted", "late_error", "source length"):
        assert any(name in line for line in text), name
    assert not any("aer" in line for line in text)  # nothing is known of it


def test_json(cli, run, pairs):
    found = json.loads(cli("diagnose", run, pairs, "--json").out)
    assert {"verdict", "evidence", "measures"} <= set(found)
    assert found["verdict"] in VERDICTS
    assert found["pairs"] == 60
    python = heedful.diagnose(run, pairs)
    assert found == python.as_json()


def test_gold_tags_and_sweep(cli, run, pairs, gold, tmp_path):
    tags = [" ".join("NV"[letter in "aeiou"] for letter in word) for word in SOURCES]
    tag_file = lines(tmp_path / "tags.txt", tags)
    done = cli(
        "diagnose", run, pairs, "--sure", gold, "--links", gold, "--source-tags", tag_file, "--target-tags", tag_file,
        "--sweep", "attention-temperature=0.5,1", "--json",
    )  # fmt: skip
    found = json.loads(done.out)
    measures = found["measures"]
    links = [alignment.links() for alignment in heedful.align(run, pairs)]
    wanted = heedful.aer(links, sure=gold)
    assert measures["aer"] == pytest.approx(wanted.aer)
    assert measures["aer"] == measures["aer_predicted"]
    assert measures["aligner_agreement"] == pytest.approx(wanted.f1)
    assert 0 < measures["same_by_chance"] < 100
    assert [row["temperature"] for row in found["sweep"]] == [0.5, 1.0]
    assert found["sweep"][1]["aer"] == pytest.approx(wanted.aer)
    scores = heedful.evaluate(run, pairs, beam=1)
    assert found["sweep"][1]["token_error"] == pytest.approx(scores.token_error_by_line)
    assert found["sweep"][1]["sequence_error"] == pytest.approx(scores.sequence_error_by_line)
    text = cli("diagnose", run, pairs, "--sure", gold, "--sweep", "attention-temperature=0.5,1").out.decode("utf-8")
    assert "temperature  sequence error %" in text
    assert "aer_input" in text


def test_wa_is_the_same_gold(run, pairs, gold, tmp_path):
    """And it tells of every pair; of one without links by the empty word."""
    rows = [f"{number} {i} {i} S" for number, word in enumerate(SOURCES, 1) for i in range(1, len(word) + 1)]
    of_wa = heedful.diagnose(run, pairs, wa=lines(tmp_path / "gold.wa", rows)).measures
    assert of_wa["aer"] == heedful.diagnose(run, pairs, sure=gold).measures["aer"]
    some = [row for row in rows if int(row.split()[0]) <= 50]
    told = lines(tmp_path / "told.wa", [*some, "60 1 0"])
    assert heedful.diagnose(run, pairs, wa=told).measures["link_recall"] > 0
    with pytest.raises(DataError, match=r"some\.wa: expected gold for each of the 60 lines .* got it for 50 sentences"):
        heedful.diagnose(run, pairs, wa=lines(tmp_path / "some.wa", some))
    with pytest.raises(DataError, match=r"more\.wa:2: expected the number of a sentence from 1 to 60, got 61"):
        heedful.diagnose(run, pairs, wa=lines(tmp_path / "more.wa", ["1 1 1", "61 1 1"]))


def test_what_points_behind_a_sentence_is_told_by_file_and_line(run, pairs, tmp_path):
    far = lines(tmp_path / "far.links", ["", "99-0", *[""] * 58])
    for options in ({"links": far}, {"sure": far}, {"sure": [[]] * 60, "possible": str(far)}):
        with pytest.raises(DataError, match=r"far\.links:2: expected links of at most"):
            heedful.diagnose(run, pairs, **options)
    with pytest.raises(DataError, match=r"^sure, line 2: expected links of at most"):
        heedful.diagnose(run, pairs, sure=far.read_text().splitlines())
    with pytest.raises(DataError, match=r"far\.wa, sentence 2: expected links of at most"):
        heedful.diagnose(run, pairs, wa=lines(tmp_path / "far.wa", ["2 99 1", "60 1 1"]))
    tags = lines(tmp_path / "tags", ["N"] * 60)
    with pytest.raises(DataError, match=r"tags:1: expected \d tags"):
        heedful.diagnose(run, pairs, source_tags=tags, target_tags=tags)


def test_fewer_pairs_and_their_gold(run, pairs, gold):
    """The links of the lines that are looked at, and of no others."""
    told: list[str] = []
    found = heedful.diagnose(run, pairs, sure=gold, size=30, message=told.append)
    assert found.pairs == 30
    assert told == ["30 of 60 pairs looked at, evenly spread; size sets how many"]
    links = [alignment.links() for alignment in heedful.align(run, pairs)][::2]
    wanted = heedful.aer(links, sure=[[(i, i) for i in range(len(word))] for word in SOURCES[::2]])
    assert found.measures["aer"] == pytest.approx(wanted.aer)
    assert heedful.diagnose(run, pairs, size=None).pairs == 60


def test_compressed_links(run, pairs, gold, tmp_path):
    packed = tmp_path / "gold.txt.gz"
    packed.write_bytes(gzip.compress(gold.read_bytes()))
    assert heedful.diagnose(run, pairs, links=packed).measures == heedful.diagnose(run, pairs, links=gold).measures


def test_another_temperature(run, pairs):
    warm, own = (heedful.diagnose(run, pairs, attention_temperature=t).measures["entropy"] for t in (3.0, None))
    assert warm > own
    (swept,) = heedful.diagnose(run, pairs, attention_temperature=3.0, sweep="attention_temperature=1").sweep
    assert swept.entropy == pytest.approx(own, rel=1e-5)


def test_progress_counts(run, pairs):
    counts: list[int] = []
    heedful.diagnose(run, pairs, progress=counts.append)
    assert sum(counts) > 60 * 5


def test_nothing_is_changed(run, pairs):
    """Neither the run nor the random state."""
    import random

    import torch

    loaded = heedful.load(run)
    before = {name: value.clone() for name, value in loaded.predictor.model.state_dict().items()}
    torch.manual_seed(3)
    random.seed(3)
    one = heedful.diagnose(loaded, pairs)
    drawn = (torch.rand(1).item(), random.random())
    torch.manual_seed(3)
    random.seed(3)
    assert (torch.rand(1).item(), random.random()) == drawn
    assert all(torch.equal(value, before[name]) for name, value in loaded.predictor.model.state_dict().items())
    assert all(parameter.grad is None for parameter in loaded.predictor.model.parameters())
    assert heedful.diagnose(loaded, pairs).as_json() == one.as_json()


def test_tags_and_skipped_lines(cli, tmp_path):
    """Tag columns, a source read backwards, and bad lines that are skipped: links go by line."""
    rows = [(word, spelled(word), "x" if len(word) % 2 else "y;z") for word in SOURCES]
    good = write_pairs(tmp_path / "good.tsv", rows)
    settings: dict[str, Any] = {
        "data.tag_columns": [3], "data.reverse_source": True, "data.bad_lines": "skip", "train.updates": 5,
        "model.fusion": "late", "model.score": "general", "model.scope": "local_m",
    }  # fmt: skip
    run = train_tiny(good, tmp_path / "run", set=settings)
    bad = write_pairs(tmp_path / "bad.tsv", [rows[0], ("only a source",), *rows[1:]])
    links = [" ".join(f"{i}-{i}" for i in range(len(word))) for word in SOURCES]
    gold = lines(tmp_path / "gold.txt", [links[0], "99-99", *links[1:]])
    done = cli("diagnose", run, bad, "--sure", gold, "--json")
    assert done.code == 0
    assert "bad lines skipped, 1 in all: 2" in done.err
    found = json.loads(done.out)
    wanted = heedful.diagnose(run, good, sure=[[(i, i) for i in range(len(word))] for word in SOURCES])
    assert found["measures"]["aer"] == wanted.measures["aer"]


@pytest.fixture(scope="session")
def without(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    settings = {"model.fusion": "none", "train.updates": 1}
    return train_tiny(pairs, tmp_path_factory.mktemp("none") / "run", set=settings)


def test_no_attention(refused, without, pairs):
    assert "its model has no attention (fusion 'none'), so there is nothing to diagnose" in refused(
        "diagnose", without, pairs
    )


def test_several_runs(refused, run, pairs):
    assert "diagnose them one by one" in refused("diagnose", f"{run},{run}", pairs)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--sure", "nowhere.txt"], "no such file: 'nowhere.txt'"),
        (["--possible", "GOLD"], "expected gold links either as sure"),
        (["--sure", "GOLD", "--wa", "GOLD"], "expected gold links either as sure"),
        (["--source-tags", "GOLD"], "tags of both sides or of none"),
        (["--sure", "SHORT"], "short.txt: expected 60 lines, one for each of"),
        (["--links", "FAR"], "far.txt:3: expected links of at most"),
        (["--source-tags", "SHORT", "--target-tags", "SHORT"], "short.txt: expected 60 lines"),
        (["--source-tags", "FAR", "--target-tags", "FAR"], "far.txt:3: expected"),
        (["--sweep", "temperature"], "sweep: expected 'attention_temperature'"),
        (["--size", "0"], "size must be a whole number of at least 1"),
        (["--batch-size", "0"], "batch_size must be"),
        (["--attention-temperature", "0"], "attention_temperature"),
    ],
)
def test_bad_options(refused, run, pairs, gold, tmp_path, options, says):
    rows = gold.read_text("utf-8").splitlines()
    files = {
        "GOLD": gold,
        "SHORT": lines(tmp_path / "short.txt", rows[:-1]),
        "FAR": lines(tmp_path / "far.txt", [*rows[:2], "77-0", *rows[3:]]),
    }
    assert says in refused("diagnose", run, pairs, *(files.get(option, option) for option in options))


@pytest.mark.parametrize("arguments", [("nowhere", "PAIRS"), ("RUN", "nowhere.tsv")])
def test_missing(refused, run, pairs, arguments):
    named = {"RUN": run, "PAIRS": pairs}
    assert "nowhere" in refused("diagnose", *(named.get(argument, argument) for argument in arguments))


def test_rows_without_weight_are_told_where_there_are_any():
    """As of a walk that has ended: what is measured on rows is then undefined, and would be missing without a word."""
    shown = _measures({"entropy": math.nan, "empty_rows": 1.0}, collapsed=False)
    assert shown == ["empty_rows                 1.000  target words whose row has no weight at all"]
    assert _measures({"empty_rows": 0.0}, collapsed=False) == []
