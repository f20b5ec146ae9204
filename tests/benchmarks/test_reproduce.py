"""The reproductions: what is planned, that every cell can be trained, and what follows from counts."""

import gzip
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import heedful
from heedful.attention import scores
from heedful.errors import DataError
from heedful.model import build

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "benchmarks" / "reproduce"
NAMES = ("fixed_vector", "luong_ladder", "width", "architecture", "links", "temperature")


@pytest.fixture(scope="module")
def reproduce():
    """The ledger and all that it imports; gone after the tests, with the score that one of them registers."""
    path, modules, known = sys.path[:], set(sys.modules), dict(scores._members)
    sys.path.insert(0, str(FOLDER))
    import ledger

    yield ledger
    sys.path[:] = path
    scores._members = known
    for name in set(sys.modules) - modules:
        if str(FOLDER) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def studies(reproduce):
    return reproduce.STUDIES


def test_the_plan_keeps_to_its_limits_and_stands_in_the_document(reproduce, studies):
    assert tuple(study.name for study in studies) == NAMES
    assert max(cell.minutes for study in studies for cell in study.cells) <= 15
    assert max(study.hours for study in studies) <= 3
    assert sum(study.hours for study in studies) <= 30
    document = (ROOT / "docs" / "reproductions.md").read_text("utf-8")
    assert reproduce.plan() in document
    for name in NAMES:
        assert f"<!-- {name}: begin -->" in document
        assert f"python benchmarks/reproduce/{name}.py DATA" in document


@pytest.mark.parametrize("name", NAMES)
def test_the_tables_in_the_document_follow_from_the_results_that_are_kept(studies, name):
    from reproduction.command import report
    from reproduction.kept import known_runs

    document = (ROOT / "docs" / "reproductions.md").read_text("utf-8")
    shown = document.partition(f"<!-- {name}: begin -->")[2].partition(f"<!-- {name}: end -->")[0].strip()
    kept = FOLDER / "results" / f"{name}.json.gz"
    if not kept.exists():
        assert shown == "Not run yet."
        return
    study = next(study for study in studies if study.name == name)
    assert shown == report(study, {"runs": known_runs(kept, study, None)})


def test_hours_are_those_of_all_seeds(reproduce):
    from reproduction.cells import Cell, Study

    cells = [Cell("one", "", "captions", "", 1200, 100), Cell("two", "", "captions", "", 600, 50)]
    study = Study("study", "Some", cells, (1, 2, 3), None, None, [], [])
    assert study.hours == pytest.approx(3 * (2 + 0.5) / 60)
    assert "| Some | 2 | 3 | 6 | 600 to 1,200 | 2.0 minutes | 0.1 hours |" in reproduce.plan([study])


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_makes_a_model_and_every_figure_is_of_a_cell(studies, name):
    from reproduction.cells import Task
    from reproduction.tables import At

    (study,) = (each for each in studies if each.name == name)
    names = [cell.name for cell in study.cells]
    assert len(set(names)) == len(names)
    sizes = {"source_vocabulary_size": 7, "target_vocabulary_size": 7}
    for cell in study.cells:
        trial = cell.trial(Task("pairs", "dev", "test"), seed=2)
        assert (trial.recipe.train.updates, trial.recipe.train.epochs, trial.seed) == (cell.updates, None, 2)
        build(**sizes, **trial.recipe.model.model_dump())
    shown = [one for table in study.tables for row in table.rows for one in row.columns if isinstance(one, At)]
    shown += [at for claim in study.claims for _, at in claim.contrast]
    assert {at.cell for at in shown} == set(names)


def test_the_same_number_of_parameters_with_and_without_input_feeding(studies):
    from reproduction.cells import Task

    study = studies[NAMES.index("architecture")]
    counts = {}
    for cell in study.cells:
        if cell.task == "spelling":
            model = cell.trial(Task("", "", ""), 1).recipe.model.model_dump()
            made = build(source_vocabulary_size=30, target_vocabulary_size=43, **model)
            counts[cell.name] = sum(part.numel() for part in made.parameters())
    assert counts["feeding-small"] == pytest.approx(counts["no-feeding"], rel=0.01)
    assert counts["feeding"] > 1.2 * counts["no-feeding"]


def seen(counts, lengths=None, rate="sequence_error"):
    from reproduction.seen import Seen

    return Seen(rate, [list(map(float, each)) for each in counts], lengths or [3] * len(counts), f"{rate}|made")


def test_a_figure_is_the_mean_of_seeds_and_their_deviation(reproduce):
    from reproduction.tables import At, figure

    # Wrong, of one each: 1 of 4 and 3 of 4; of the long ones 1 of 2 and 2 of 2.
    first = seen([(0, 1), (0, 1), (0, 1), (1, 1)], [2, 3, 5, 7])
    second = seen([(1, 1), (0, 1), (1, 1), (1, 1)], [2, 3, 5, 7])
    cells = {"a": {1: {"test": first}, 2: {"test": second}}, "b": {1: {"test": first, "other": second}}}
    assert figure(At("a"), cells) == "50.0 ± 35.4"
    assert figure(At("a", lengths=(4, 7)), cells) == "75.0 ± 35.4"
    assert figure(At("b", "other"), cells) == "75.0"
    assert figure(At("b", "another"), cells) == figure(At("c"), cells) == "—"


def cells_that_differ():
    """Two designs with three seeds: one wrong at each second source, the other at one in ten, the same ones always."""
    places = range(200)
    half = seen([(place % 2 == 0, 1) for place in places])
    tenth = seen([(place % 10 == 0, 1) for place in places])
    return {
        "half": {seed: {"test": half} for seed in (1, 2, 3)},
        "tenth": {seed: {"test": tenth} for seed in (1, 2, 3)},
    }


def test_a_claim_is_borne_out_contradicted_or_open(reproduce):
    from reproduction.tables import At, Claim, difference, render

    cells = cells_that_differ()
    apart, same = difference(At("half"), At("tenth")), difference(At("half"), At("half"))
    claims = [
        Claim("more", "2", apart),
        Claim("less", "2", apart, "below"),
        Claim("equal", "2", apart, "about", 5.0),
        Claim("equally", "2", difference(At("tenth"), At("half")), "about", 5.0),
        Claim("nearly", "2", apart, "about", 60.0),
        Claim("itself", "2", same),
        Claim("not yet", "2", difference(At("half"), At("none"))),
    ]
    rows = [row.strip("| ").split(" | ") for row in render([], claims, cells).splitlines()[2:9]]
    assert [row[0] for row in rows] == ["more", "less", "equal", "equally", "nearly", "itself", "not yet"]
    verdicts = ["agrees", "contrary", "contrary", "contrary", "agrees", "open", ""]
    assert [row[3] if len(row) > 3 else "" for row in rows] == verdicts
    assert rows[0][2].startswith("+40.0 (+3")
    assert rows[6][2].startswith("not run")


def test_figures_of_the_same_sources_are_drawn_together(reproduce):
    from reproduction.tables import At, contrast, difference

    cells = cells_that_differ()
    assert contrast(difference(At("half"), At("half")), cells)[:3] == (0, 0, 0)
    wide = contrast(difference(At("half"), At("tenth")), cells)
    alone = contrast([(1.0, At("half"))], cells)
    # Wrong at every tenth is wrong at an even place: the variance of the difference is 0.4 x 0.6, not 0.25 + 0.09.
    assert (wide.high - wide.low) / (alone.high - alone.low) == pytest.approx(np.sqrt(0.24 / 0.25), rel=0.1)


def test_links_are_counted_as_the_error_rate_wants_it(reproduce, tmp_path):
    from reproduction.seen import judged, rate

    sure, possible = tmp_path / "sure", tmp_path / "possible"
    sure.write_text("0-0\n0-1 1-0\n")
    possible.write_text("0-0 1-1\n2-2\n")
    found = [frozenset({(0, 0), (1, 1), (2, 0)}), frozenset({(0, 1), (2, 1)})]
    ours = judged(found, ["abc", "abc"], sure=str(sure), possible=str(possible))
    assert ours.sums == [[1, 2, 3, 1], [1, 1, 2, 2]]
    expected = heedful.aer(found, sure=str(sure), possible=str(possible)).aer
    assert rate("aer")(np.array(ours.sums).sum(0)) == pytest.approx(expected)


def test_made_sentences(reproduce, tmp_path):
    from reproduction.tasks import made, translated

    assert translated([13, 3, 17, 5, 7, 19, 2]) == "b13 b17 b3 b19 b7 b5 b2"
    task = made(tmp_path, train=11, longest=5, tested=(3, 8))
    sides = [line.split("\t") for line in Path(task.test).read_text().splitlines()]
    assert sorted({len(source.split()) for source, _ in sides}) == [3, 8]
    assert len(sides) == 50
    assert all(translated([int(word[1:]) for word in source.split()]) == target for source, target in sides)
    trained = [line.split("\t")[0].split() for line in Path(task.pairs).read_text().splitlines()]
    assert len(trained) == 11
    assert max(map(len, trained)) <= 5


def test_a_dictionary_of_what_words_are_linked_to(reproduce, tmp_path):
    sources = [*"abcd", *(f"{one} {other}" for one in "abcd" for other in "abcd" if one != other)]
    targets = [*map(str.upper, sources), "A", "A", "X"]  # a is X, too
    (tmp_path / "source").write_text("".join(f"{text}\n" for text in [*sources, "a", "a", "a"]))
    (tmp_path / "target").write_text("".join(f"{text}\n" for text in targets))
    task = reproduce.fixed_vector.Task(f"{tmp_path / 'source'},{tmp_path / 'target'}", "", "")
    reproduce.luong_ladder.write_dictionary(tmp_path / "found.tsv", task)
    assert (tmp_path / "found.tsv").read_text() == "a\tA\nb\tB\nc\tC\nd\tD\n"


def test_the_projected_scores(reproduce):
    import torch

    from heedful.attention import Attention
    from heedful.testing import check_score

    check_score("projected_dot", options={"attention_size": 7})
    torch.manual_seed(1)
    plain, scaled = (
        scores.build("projected_dot", {"attention_size": 16, "scaled": one}, {"query_size": 3, "value_size": 5})
        for one in (False, True)
    )
    scaled.load_state_dict(plain.state_dict())
    values, query = torch.randn(2, 3, 5), torch.randn(2, 1, 3)
    found = [score(score.queries(query), Attention(score).prepare(values)) for score in (plain, scaled)]
    torch.testing.assert_close(found[0], 4 * found[1])


@pytest.fixture
def small(reproduce, tmp_path):
    """A study of two cells and two seeds that takes a moment."""
    from reproduction.cells import Cell, Study, Task
    from reproduction.seen import answers, links
    from reproduction.tables import At, Claim, Row, Table, difference

    lines = [f"{' '.join(word)}\t{' '.join(word)}\n" for word in map("".join, product("ab", repeat=3))]
    (tmp_path / "pairs.tsv").write_text("".join(lines))
    (tmp_path / "sure").write_text("0-0 1-1 2-2\n" * len(lines))
    gold = {"sure": str(tmp_path / "sure"), "possible": str(tmp_path / "sure")}

    def tasks(data, out):
        return {"copy": Task(*[str(data / "pairs.tsv")] * 3)}

    def judge(cell):
        return lambda run, task: {
            "test": answers(run, task.test, "sequence_error"),
            "linked": links(run, task.test, convention="predicted", **gold),
        }

    sizes = {f"model.{name}_size": 3 for name in ("embedding", "encoder", "decoder")}
    cells = [
        Cell(name, name, "captions", "copy", 2, 50, {**sizes, "model.score": name}) for name in ("general", "additive")
    ]
    rows = tuple(Row(cell.title, ("12.3", At(cell.name), At(cell.name, "linked"))) for cell in cells)
    claims = [Claim("general is better", "1", difference(At("general"), At("additive")), "below")]
    return Study(
        "small", "A small one", cells, (1, 2), tasks, judge, [Table(("score", "paper", "we", "links"), rows)], claims
    )


def test_a_reproduction_is_stopped_goes_on_and_writes_its_table(small, tmp_path, monkeypatch, capsys):
    from reproduction.command import main

    document = tmp_path / "page.md"
    document.write_text("# Page\n\n<!-- small: begin -->\nold\n<!-- small: end -->\n\nmore\n")
    command = ["small.py", str(tmp_path), "--out", str(tmp_path / "out"), "--write-docs", str(document)]
    monkeypatch.setattr("sys.argv", [*command, "--only", "general", "--seeds", "1"])
    main(small)
    assert "1 runs (seeds 1), 4 planned" in document.read_text()
    assert "not run" in document.read_text()
    capsys.readouterr()

    monkeypatch.setattr("sys.argv", command)
    main(small)
    said = capsys.readouterr().out
    assert [line for line in said.splitlines() if line.endswith("begins")] == [
        "additive, seed 1: begins",
        "general, seed 2: begins",
        "additive, seed 2: begins",
    ]
    text = document.read_text()
    assert text.startswith("# Page\n\n<!-- small: begin -->\n")
    assert text.endswith("<!-- small: end -->\n\nmore\n")
    assert "old" not in text
    assert "not run" not in text
    assert "4 runs (seeds 1, 2), 4 planned" in text
    assert text.count(" ± ") == 4
    assert "- `aer\\|lines:8\\|sure:24\\|" in text
    kept = json.loads((tmp_path / "out" / "results.json").read_text())["runs"]
    assert {name: sorted(seeds) for name, seeds in kept.items()} == {"general": ["1", "2"], "additive": ["1", "2"]}
    assert kept["general"]["2"]["updates"] == 2
    assert kept["general"]["2"]["views"]["test"]["lengths"] == [3] * 8


@pytest.fixture
def call(small, tmp_path, monkeypatch, capsys):
    """The script, called with an OUT and options; what it prints."""
    from reproduction.command import main

    def called(*words):
        monkeypatch.setattr("sys.argv", ["small.py", str(tmp_path), "--out", *words])
        main(small)
        return capsys.readouterr().out

    return called


def test_what_is_known_is_not_trained_again(call, tmp_path):
    first = call(str(tmp_path / "one"), "--seeds", "1")
    known = tmp_path / "known.json.gz"
    known.write_bytes(gzip.compress((tmp_path / "one" / "results.json").read_bytes()))
    both = call(str(tmp_path / "two"), "--known", str(known))
    assert [line for line in both.splitlines() if line.endswith("begins")] == [
        "general, seed 2: begins",
        "additive, seed 2: begins",
    ]
    assert "4 runs (seeds 1, 2), 4 planned" in both
    again = call(str(tmp_path / "three"), "--known", str(known), "--seeds", "1")  # with nothing to train
    assert again == first[first.index("| score") :]


@pytest.mark.parametrize("change", ["study", "settings", "cell", "seed", "views", "data", "text", "nothing"])
def test_what_is_known_of_something_else_is_refused(small, tmp_path, change):
    from reproduction.kept import identity, known_runs

    cell = small.cells[0]
    run = {"minutes": 1.0, "updates": 2, "stopped": "budget", "cell": identity(cell, None), "data": "d", "views": {}}
    found = {"study": small.name, "runs": {cell.name: {"1": run}}}
    known = tmp_path / "known.json"
    if change == "study":
        found["study"] = "width"
    elif change == "settings":
        run["cell"]["settings"]["model.score"] = "dot"
    elif change == "cell":
        found["runs"]["another"] = found["runs"][cell.name]
    elif change == "seed":
        found["runs"][cell.name] = {"one": run}
    elif change == "views":
        del run["views"]
    tasks = small.tasks(tmp_path, tmp_path) if change == "data" else None
    known.write_text("[" if change == "text" else json.dumps(found))
    if change == "nothing":
        assert known_runs(known, small, None) == found["runs"]
        with pytest.raises(DataError, match="cells that were others then"):
            known_runs(known, small, updates=3)
        return
    with pytest.raises(DataError, match=r"known\.json: (has|expected) results of"):
        known_runs(known, small, None, tasks)


def test_runs_of_other_budgets_and_records_that_are_damaged_do_not_count(small, call, tmp_path):
    out = str(tmp_path / "out")
    assert "1 runs (seeds 7), 4 planned" in call(out, "--only", "general", "--seeds", "7", "--updates", "3")
    tried = call(out, "--only", "additive", "--seeds", "1", "--updates", "1")
    assert "1 runs (seeds 1), 4 planned" in tried
    assert "Not with the planned budgets" in tried
    assert "Not with the planned budgets" not in call(out, "--only", "general", "--seeds", "1")
    seen = tmp_path / "out" / "runs" / "general" / "seed-1" / "seen.json"
    before = seen.read_text()
    seen.write_text(before[:-9])
    assert "1 runs (seeds 1), 4 planned" in call(out, "--only", "general", "--seeds", "1")
    assert json.loads(seen.read_text()) == json.loads(before)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["out", "--updates", "0"], 2, "train.updates"),
        (["out", "--write-docs", "nowhere.md"], 2, "nowhere.md"),
        (["pairs.tsv"], 2, "pairs.tsv"),
        (["out", "--known", "nowhere.json"], 2, "expected results of a reproduction"),
    ],
)
def test_what_goes_wrong_is_told(small, call, capsys, tmp_path, monkeypatch, words, code, told):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stopped:
        call(*words)
    assert stopped.value.code == code
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out" / "runs").exists()


def test_it_may_be_stopped(small, call, capsys, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.command.run_series", stop)
    with pytest.raises(SystemExit) as stopped:
        call(str(tmp_path / "out"))
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "stopped; the same command goes on\n"


def test_what_is_said_to_change_nothing_takes_no_part_in_the_correction(reproduce, monkeypatch):
    from reproduction import tables

    one, other = tables.At("one"), tables.At("other")
    told = []
    monkeypatch.setattr(tables, "holm", lambda chances: told.append(list(chances)) or list(chances))
    monkeypatch.setattr(tables, "contrast", lambda parts, cells: tables.Found(1.0, 0.5, 1.5, 0.01 * len(told) + 0.02))
    claims = [
        tables.Claim("same", "", tables.difference(one, other), "about", 2.0),
        tables.Claim("more", "", tables.difference(one, other)),
        tables.Claim("other", "", tables.difference(one, other), "about", 1.0),
    ]
    lines = tables._render_claims(claims, {}).splitlines()[2:]
    assert told == [[0.02]]
    assert [line.rsplit("|", 2)[1].strip() for line in lines] == ["agrees", "agrees", "open"]


def test_a_document_without_the_marks_is_not_touched(reproduce, tmp_path):
    from reproduction.command import write_between

    page = tmp_path / "page.md"
    page.write_text("<!-- other: begin -->\n<!-- other: end -->\n")
    with pytest.raises(DataError, match="<!-- small: begin -->"):
        write_between(page, "small", "text")
