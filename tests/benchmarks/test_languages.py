"""The script that trains one recipe for many languages: its table, its averages, and that nothing is trained twice."""

import json
import shutil
from pathlib import Path

import pytest

import heedful
from training.cases import TINY, spelling_pairs

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def rows(tmp_path, monkeypatch, capsys):
    """The cells of the table of two small languages, asked for with some options."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import languages

    for language, count in {"kor": 20, "vie": 40}.items():
        for part in ("train", "dev"):
            (tmp_path / part).mkdir(exist_ok=True)
            spelling_pairs(tmp_path / part / f"{language}_{part}.tsv", count)
    settings = [word for key, value in {**TINY, "train.updates": 20}.items() for word in ("--set", f"{key}={value}")]

    def call(*options: str) -> list[list[str]]:
        places = [str(tmp_path / part) for part in ("train", "dev")]
        words = ["languages.py", *places, "--out", str(tmp_path / "out"), "--recipe", "tiny", "--jobs", "1", *settings]
        monkeypatch.setattr("sys.argv", [*words, *options])
        languages.main()
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
        return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]

    return call


@pytest.fixture
def refused(rows, capsys):
    """What is said instead of a table."""

    def call(*options: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            rows(*options)
        assert stopped.value.code == 2
        return capsys.readouterr().err

    return call


def test_a_row_for_each_language_and_their_means(rows, tmp_path, monkeypatch):
    header, _, *found = rows()
    assert header == ["language", "seed 1", "seed 2", "mean", "all together"]
    assert [row[0] for row in found] == ["kor", "vie", "macro", "macro without kor"]
    kor, vie, macro, without = ([float(cell) for cell in row[1:]] for row in found)
    folders = [tmp_path / "out" / "vie" / f"seed-{seed}" for seed in (1, 2)]
    dev = tmp_path / "dev" / "vie_dev.tsv"
    errors = [heedful.evaluate(folder, dev).sequence_error for folder in folders]
    together = heedful.evaluate(folders, dev).sequence_error
    assert vie == pytest.approx([*errors, sum(errors) / 2, together], abs=0.006)
    assert macro == pytest.approx([(one + other) / 2 for one, other in zip(kor, vie, strict=True)], abs=0.006)
    assert without == vie
    monkeypatch.setattr("heedful.series.run.train", None)  # whatever is not finished would need it
    assert rows("--languages", "vie")[2] == found[1]
    shutil.rmtree(tmp_path / "out" / "kor")  # its row is kept
    assert rows()[2:] == found


def test_the_best_of_several_settings(rows, tmp_path):
    sizes = ["model.decoder_size=3", "model.decoder_size=7 'model.score={name = \"general\"}'"]
    header, _, *found = rows("--seeds", "2", "--best-of", *sizes)
    assert header == ["language", *sizes, "best"]
    for language, *cells in found[:2]:
        folders = [tmp_path / "out" / language / f"settings-{number}" / "seed-2" for number in (1, 2)]
        errors = [
            heedful.evaluate(folder, tmp_path / "dev" / f"{language}_dev.tsv").sequence_error for folder in folders
        ]
        assert [float(cell) for cell in cells] == pytest.approx([*errors, min(errors)], abs=0.006)
    assert {heedful.load(folder).recipe.model.decoder_size for folder in folders} == {3, 7}


def test_rows_of_something_else_are_refused(rows, refused, tmp_path):
    rows("--languages", "kor", "--seeds", "1")
    assert "other settings or data" in refused("--languages", "kor", "--seeds", "1", "2")
    spelling_pairs(tmp_path / "train" / "kor_train.tsv", 21)
    assert "other settings or data" in refused("--languages", "kor", "--seeds", "1")
    rows("--languages", "vie", "--seeds", "1")  # which is as it was
    (tmp_path / "out" / "rows.json").write_text("[1]")
    assert "expected rows as they were written" in refused("--languages", "vie", "--seeds", "1")


def test_what_is_missing_or_wrong_is_told_before_any_training(refused, tmp_path):
    assert "No closing quotation" in refused("--best-of", 'train.epochs="1')
    (tmp_path / "dev" / "vie_dev.tsv").unlink()
    assert refused() == f"{tmp_path}/dev/vie_dev.tsv: no such file\n"
    assert not (tmp_path / "out" / "kor").exists()


def test_a_folder_without_languages_is_refused(refused, tmp_path):
    for path in (tmp_path / "train").iterdir():
        path.unlink()
    assert "expected a folder with files LANG_train.tsv" in refused()


def test_the_tables_in_the_documents_are_those_of_the_rows(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import languages

    document = (BENCHMARKS.parent / "docs" / "results.md").read_text("utf-8")
    files = sorted((BENCHMARKS / "results").glob("languages*.json"))
    assert files
    for file in files:
        kept = json.loads(file.read_text("utf-8"))
        rows = {language: row["errors"] for language, row in sorted(kept["rows"].items())}
        assert languages.in_markdown(kept["columns"], rows) in document, file
