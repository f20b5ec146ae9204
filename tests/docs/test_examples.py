"""What the pages show as Python is run, and says what the pages say."""

import doctest
import sys
import types

import pytest
import torch

import heedful
from heedful.attention import normalisers, scopes, scores
from heedful.data import make_tokeniser, read_pairs, tokenisers
from heedful.model import build
from heedful.testing import check_normaliser, check_scope, check_score

from .pages import DOCS, blocks


@pytest.fixture
def registries(monkeypatch):
    """What a page registers is gone after the test."""
    for registry in (scores, scopes, normalisers, tokenisers):
        monkeypatch.setattr(registry, "_members", dict(registry._members))


def run(code, name):
    """The module that `code` makes."""
    module = types.ModuleType(name)
    exec(compile(code, name, "exec"), module.__dict__)
    return module


@pytest.mark.parametrize(("page", "number"), [("attention.md", 0), ("attention.md", 1), ("models.md", 0)])
def test_doctests(page, number):
    """Examples with their answers."""
    test = doctest.DocTestParser().get_doctest(blocks(page, "python")[number], {}, page, page, 0)
    runner = doctest.DocTestRunner()
    with torch.random.fork_rng(devices=[]):
        runner.run(test)
    assert runner.summarize(verbose=False) == (0, len(test.examples))
    assert len(test.examples) > 5


@pytest.mark.parametrize("page", ["alignments.md", "bridge.md"])
def test_doctests_that_go_on(page, monkeypatch, tmp_path):
    """All blocks of the page as one session."""
    monkeypatch.chdir(tmp_path)
    code = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(code, {}, page, None, 0)
    runner = doctest.DocTestRunner()
    with torch.random.fork_rng(devices=[]):
        runner.run(test)
    assert runner.summarize(verbose=False) == (0, len(test.examples))
    assert len(test.examples) > 10


def test_there_are_no_other_doctests():
    pages = [path.name for path in DOCS.glob("*.md") if path.name not in ("alignments.md", "bridge.md")]
    found = [block for page in pages for block in blocks(page, "python") if ">>>" in block]
    assert len(found) == 3


def test_a_score_of_ones_own(registries, monkeypatch, tmp_path):
    """The file, its check, and a run with it, as the page says."""
    score, check, use, *_ = blocks("adding_a_part.md", "python")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "low_rank", run(score, "low_rank"))
    run(check, "check")
    check_score("low_rank", options={"rank": 3})
    model = build(source_vocabulary_size=11, target_vocabulary_size=13, score={"name": "low_rank", "rank": 3})
    assert model.decoder.fusion.attention.score.query_projection.weight.shape == (3, 256)
    made_for_less = use.replace('"train.updates": 20', '"train.updates": 1')
    assert made_for_less != use
    run(made_for_less.replace('"copy"', '"copy:dev"'), "use")


def test_a_step_function_of_ones_own():
    run(blocks("decoding.md", "python")[0], "counts")


def test_the_smallest_parts(registries):
    run(blocks("adding_a_part.md", "python")[3], "smallest")
    check_scope("words")
    check_normaliser("squares")
    tokeniser = make_tokeniser("pairs_of_letters")
    assert tokeniser.split("abcde") == ["ab", "cd", "e"]
    assert tokeniser.join(tokeniser.split("abcde")) == "abcde"


def test_a_part_that_remembers(registries):
    run(blocks("adding_a_part.md", "python")[4], "restless")
    check_score("restless")
    model = build(source_vocabulary_size=11, target_vocabulary_size=13, score="restless")
    assert model.decoder.fusion.attention.sequential


@pytest.mark.slow
def test_rows_of_late_fusion_belong_to_the_predicted_word(monkeypatch, tmp_path, capsys):
    """What docs/architecture.md says can be seen is seen."""
    (code,) = blocks("architecture.md", "python")
    monkeypatch.chdir(tmp_path)
    run(code, "rows")
    shares = dict(line.split() for line in capsys.readouterr().out.splitlines())
    assert float(shares["predicted"]) > 0.9
    assert float(shares["input"]) < 0.5


@pytest.mark.slow
def test_use(monkeypatch, tmp_path, capsys):
    """The way from pairs to heat maps in Python."""
    monkeypatch.chdir(tmp_path)
    pairs = read_pairs("dates").pairs[:200]
    (tmp_path / "dates.tsv").write_text("".join(f"{pair.source}\t{pair.target}\n" for pair in pairs), "utf-8")
    heedful.train("dates.tsv", out="runs/dates", recipe="tiny", set={"train.updates": 5})
    (code,) = blocks("use.md", "python")
    run(code, "use")
    assert {path.name for path in tmp_path.iterdir()} == {"dates.tsv", "runs", "map.svg", "maps.png"}
    assert "lines:500" in capsys.readouterr().out


def test_attention_of_the_readme():
    (code,) = (block for block in blocks("../README.md", "python") if "heedful.attention" in block)
    with torch.random.fork_rng(devices=[]):
        found = run(code, "readme").found
    assert found.context.shape == (8, 1, 256)
    assert found.weights.shape == (8, 1, 40)


@pytest.mark.parametrize("registry", [scores, scopes, normalisers], ids=lambda registry: registry.kind)
def test_every_part_of_attention_has_its_equation(registry):
    text = (DOCS / "attention.md").read_text("utf-8")
    assert [name for name in registry.names() if f"\n| `{name}` | " not in text] == []
