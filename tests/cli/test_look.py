"""``heedful look``: it writes one file, and says on standard error what the file shows."""

from __future__ import annotations

import warnings

import heedful
from heedful.plots import MissingGlyphWarning, load_report
from training.cases import train_tiny


def test_a_report(cli, run, pairs, tmp_path):
    out = tmp_path / "report.html"
    done = cli("look", run, pairs, "--out", out, "--line", "3,7-9", "--line", 1, "--attention-temperature", 0.5)
    assert (done.code, done.out, done.err) == (0, b"", f"{out} shows 5 heat maps\n")
    report = load_report(out)
    assert [one.line for one in report.entries] == [1, 3, 7, 8, 9]
    wanted = heedful.look(run, pairs, out=tmp_path / "python.html", line="1,3,7-9", attention_temperature=0.5)
    assert report.facts == wanted.facts
    assert out.read_bytes() == (tmp_path / "python.html").read_bytes()


def test_pictures(cli, run, pairs, tmp_path):
    done = cli("look", run, pairs, "--out", tmp_path / "page.svg", "--theme", "dark")
    assert done.code == 0
    first, second = done.err.splitlines()
    assert first.startswith(f"heedful: {tmp_path / 'page.svg'} shows lines 1-24 and has no room for 36 more")
    assert second == f"{tmp_path / 'page.svg'} shows 24 heat maps"
    done = cli("look", run, "--source", "abc", "--target", "A B C", "--out", tmp_path / "one.png")
    assert (done.code, done.err) == (0, f"{tmp_path / 'one.png'} shows 1 heat map\n")


def test_every_argument_arrives(cli, run, pairs, tmp_path):
    other = train_tiny(pairs, tmp_path / "other", set={"train.updates": 2})
    out = tmp_path / "report.html"
    arguments = ("look", run, pairs, "--out", out, "--line", 2, "--n-best", 2, "--against", other, "--theme", "dark")
    done = cli(*arguments, "--batch-size", 3, "--beam", 4, "--banned", "A", "--banned", "B")
    maps = len(load_report(out).alignments)  # one that has not learned much may find a single answer
    assert maps in (3, 4)
    assert (done.code, done.err) == (0, f"{out} shows {maps} heat maps of 1 line\n")
    assert '<html lang="en" data-theme="dark">' in out.read_text("utf-8")
    assert dict(load_report(out).facts)["signature"] == "beam:4|lp:1|banned:A,B"
    average = ("--ensemble-average", "log_probabilities")
    done = cli("look", f"{run},{run}", pairs, "--line", 1, "--n-best", 1, "--out", out, *average)
    assert dict(load_report(out).facts)["signature"].endswith("ensemble:2|average:log_probabilities")


def test_letters_without_a_font_are_told_like_anything_else(cli, run, tmp_path, monkeypatch):
    def look(*_, **__):
        warnings.warn("no installed font has the characters", MissingGlyphWarning, stacklevel=2)
        return heedful.plots.Report("", (), ())

    import heedful.plots

    monkeypatch.setattr(heedful, "look", look, raising=False)
    done = cli("look", run, "--source", "a", "--out", tmp_path / "a.png")
    assert done.err.splitlines()[0] == "heedful: no installed font has the characters"


def test_what_is_refused(refused, cli, run, pairs, tmp_path):
    out = tmp_path / "report.html"
    assert "got the suffix '.pdf'" in refused("look", run, pairs, "--out", tmp_path / "a.pdf")
    assert "batch_size must be" in refused("look", run, pairs, "--out", out, "--batch-size", 0)
    assert "expected pairs or a source" in refused("look", run, "--out", out)
    assert "line must be from 1 to 60" in refused("look", run, pairs, "--out", out, "--line", 61)
    assert "there are two temperatures" in refused("look", run, pairs, "--n-best", 2, "--out", out, "--temperature", 1)
    assert "cannot be written" in refused("look", run, pairs, "--out", tmp_path / "nowhere" / "r.html")
    assert "cannot be written" in refused("look", run, pairs, "--line", 1, "--out", tmp_path / "nowhere" / "r.png")
    for wrong in ("a.pdf", ".", "nowhere/a.png"):  # before any work
        assert "no such" not in refused("look", tmp_path / "nothing", pairs, "--out", tmp_path / wrong)
    assert "no such file" in refused("look", tmp_path / "rr.jsonl", "--out", out)
    latin = tmp_path / "latin.tsv"
    latin.write_bytes("é\tE\n".encode("latin-1"))
    assert f"{latin}:1: expected UTF-8" in refused("look", run, latin, "--out", out)
    latin.write_bytes(b"a\tA\nb\n")
    assert f"{latin}:2: expected at least 2 columns" in refused("look", run, latin, "--out", out)
    assert cli("look", run, pairs, "--out", out, "--theme", "pink").code == 2
    assert cli("look", run, pairs).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["latin.tsv"]
