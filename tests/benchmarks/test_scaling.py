"""The benchmark of growth: slopes of known powers, memory of a known size, and a whole run at tiny sizes."""

import json
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def axes(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import steps.axes

    return steps.axes


@pytest.mark.parametrize("power", [-1.0, 0.0, 1.0, 2.0])
def test_the_slope_is_the_power(axes, power):
    values = [2, 3, 7, 31]
    assert axes.slope(values, [5 * value**power for value in values]) == pytest.approx(power)


def test_peak_memory_is_that_of_the_call_alone(axes, monkeypatch, tmp_path):
    (tmp_path / "hungry.py").write_text(
        "import torch\n"
        "def make(mib):\n"
        "    held, gone = torch.ones(31, 1 << 18), torch.ones(197, 1 << 18)\n"
        "    return lambda: (held, torch.ones(mib, 1 << 18), torch.ones(mib, 1 << 18).sum())\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import hungry

    assert axes.peak(hungry.make, [53], tiny=[1]) == pytest.approx(2 * 53, abs=3)


def test_a_run_measures_each_point_and_draws(axes, monkeypatch, tmp_path, capsys):
    import scaling

    tiny = {"S": (2, 3, 7), "beam": (1, 3)}
    for name, values in tiny.items():
        monkeypatch.setitem(axes.AXES, name, axes.AXES[name]._replace(values=values))
    monkeypatch.setattr(scaling, "Setting", lambda: axes.Setting(3, 5, 7, 11, 2, 1, 13))
    told = []
    monkeypatch.setattr(axes, "peak", lambda make, words, tiny: told.append((make, words)) or 3.0 * words[0][1])
    files = {"--plot": tmp_path / "plot.png", "--json": tmp_path / "figures.json"}
    scaling.main(["--axes", "S", "beam", "--repeats", "1", *(str(x) for pair in files.items() for x in pair)])
    found = json.loads(files["--json"].read_text())["figures"]
    assert [point["value"] for point in found["S"]] == [2, 3, 7]
    assert all(point["train"] > 0 and point["decode"] > 0 for point in found["S"])
    assert [point["train"] for point in found["beam"]] == [None, None]
    assert [words[0][1] for make, words in told if make is axes.training] == [2, 3, 7]
    assert [words[0][4] for make, words in told if make is axes.decoding] == [1, 3]
    assert "| S | 2 | 7 |" in capsys.readouterr().out
    assert files["--plot"].read_bytes().startswith(b"\x89PNG")


def test_where_peak_memory_is_not_told_the_rest_is_drawn(axes, monkeypatch, tmp_path, capsys):
    import scaling

    monkeypatch.setattr(axes, "measurable", lambda: False)
    monkeypatch.setitem(axes.AXES, "S", axes.AXES["S"]._replace(values=(2, 3, 7)))
    monkeypatch.setattr(scaling, "Setting", lambda: axes.Setting(3, 5, 7, 11, 2, 1, 13))
    scaling.main(["--axes", "S", "--repeats", "1", "--plot", str(tmp_path / "plot.png")])
    assert (tmp_path / "plot.png").exists()
    assert all(line.endswith("|  |") for line in capsys.readouterr().out.splitlines()[2:5])


def test_a_folder_that_is_not_there_is_told_before_anything_is_measured(axes, monkeypatch, tmp_path, capsys):
    import scaling

    with pytest.raises(SystemExit):
        scaling.main(["--plot", str(tmp_path / "none" / "plot.png")])
    assert "no folder" in capsys.readouterr().err


@pytest.mark.parametrize("beam", [1, 3])
def test_decoding_goes_exactly_so_far(axes, beam):
    search = axes.decoding((3, 5, 7, 11, beam, 1, 13), "early", "gru")
    assert [len(best.token_scores) for best, *_ in search()] == [7, 7, 7]


def test_by_scope_each_is_measured_until_it_is_too_long(axes, monkeypatch, tmp_path, capsys):
    import scaling
    from steps import by_scope

    monkeypatch.setattr(by_scope, "SIZES", (2, 3, 5))
    monkeypatch.setattr(
        by_scope, "peak", lambda make, words, tiny: float(words[0] ** (2 if words[1] == "global" else 1))
    )
    monkeypatch.setattr(by_scope, "LARGEST", 5000)
    files = {"--plot": tmp_path / "plot.png", "--json": tmp_path / "figures.json"}
    words = ["--scopes", "global", "local_m", "score linear", "--lengths", "30", "60", "120", "--repeats", "1"]
    scaling.main([*words, *(str(x) for pair in files.items() for x in pair)])
    found = json.loads(files["--json"].read_text())["figures"]
    lengths = {scope: [point["value"] for point in points] for scope, points in found.items()}
    assert lengths == {"global": [30, 60], "local_m": [30, 60, 120], "score linear": [30, 60, 120]}
    out = capsys.readouterr().out
    assert "| global | 900 | 3,600 |  | 2.00 | 2.00 |" in out
    assert "| local_m | 30 | 60 | 120 | 1.00 | 1.00 |" in out
    assert "global stopped at 60" in out
    assert files["--plot"].read_bytes().startswith(b"\x89PNG")


def test_a_scope_is_compared_with_global_at_one_length(axes):
    from steps.by_scope import Length, compared

    figures = {"global": [Length(7, 60.0, 90.0)], "block": [Length(7, 20.0, 45.0)]}
    assert compared(figures, 7) == ["at 7 block takes 1/3.0 of the time and 1/2.0 of the memory"]
    assert compared(figures, 11) == []


def test_each_scope_is_the_model_that_it_says(axes):
    from steps.by_scope import SCOPES
    from steps.shapes import Shape, make

    models = {name: make(Shape(2, 3, 5, 7, 11), "late", "gru", **parts) for name, parts in SCOPES.items()}
    assert [name for name, model in models.items() if not model.attention.lean] == ["global"]
