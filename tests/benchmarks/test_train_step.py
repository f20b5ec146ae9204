"""The benchmark of the training step: the usual loop has heedful's mathematics, and the floor has their products."""

import dataclasses
import json
from pathlib import Path

import pytest
import torch

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
FUSIONS, CELLS = ("early", "late", "late-feeding"), ("gru", "lstm")


@pytest.fixture
def steps(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import steps.floor
    import steps.shapes
    import steps.sides
    import steps.usual

    return steps


@pytest.fixture
def shape(steps):
    return steps.shapes.Shape(batch=5, source=7, target=11, hidden=13, vocabulary=17)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("fusion", "apart"), [*((each, False) for each in FUSIONS), ("early", True)])
def test_the_usual_loop_has_the_loss_and_the_gradients_of_heedful(steps, shape, fusion, apart, cell):
    model = steps.shapes.make(shape, fusion, cell).double()
    usual = steps.usual.adopt(model, shape, fusion, cell, apart=apart)
    batch = steps.shapes.batch_of(shape, ragged=True)
    assert not batch.sources[0].mask.all()
    assert not batch.target.mask.all()
    found = steps.sides.differences(model, usual, batch)
    assert len(found) == 1 + sum(1 for _ in usual.parameters())
    assert sum(map(torch.numel, usual.parameters())) == sum(map(torch.numel, model.parameters()))
    assert {name: value for name, value in found.items() if not value < 1e-9} == {}


def test_all_fusions_and_cells_are_tested(steps):
    assert (tuple(steps.shapes.FUSIONS), steps.shapes.CELLS) == (FUSIONS, CELLS)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("fusion", FUSIONS)
def test_the_floor_is_the_usual_loop_without_what_it_repeats(steps, shape, fusion, cell):
    from torch.utils.flop_counter import FlopCounterMode

    # The usual loop without what it repeats: keys T times instead of once, each query S times, and without v's product,
    # which is the score's own sum over A.
    batch, source, target, hidden = shape.batch, shape.source, shape.target, shape.hidden
    usual = steps.usual.adopt(steps.shapes.make(shape, fusion, cell), shape, fusion, cell)
    with FlopCounterMode(display=False) as counter:
        steps.sides.usual_step(usual, steps.shapes.batch_of(shape))()
    repeated = (target - 1) * batch * source * shape.values * hidden
    if fusion != "late":
        repeated += target * batch * (source - 1) * hidden * hidden + target * batch * source * hidden
    # Two operations each, forwards and backwards for both factors.
    assert steps.floor.floor(shape, fusion, cell).flops == counter.get_total_flops() - 6 * repeated


@pytest.mark.parametrize("rows", [5, 67])  # 67 are filled up
def test_the_other_floor_has_the_same_products(steps, rows):
    from heedful.attention.products import quick

    if not quick(torch.empty(0)):
        pytest.skip("no AVX-512, or no oneDNN")
    torch.manual_seed(3)
    plain = steps.floor.Product(rows, 11, 13, steps=2)
    torch.manual_seed(3)
    other = steps.floor.OneDNN(rows, 11, 13, steps=2)
    for step in (0, 1):
        torch.testing.assert_close(other.forward(step), plain.forward(step))
        torch.testing.assert_close(other.backward(step), plain.backward(step))
    torch.testing.assert_close(other.finish(), plain.finish())


def test_apart_the_state_is_not_multiplied_for_each_source_position(steps, shape):
    from torch.utils.flop_counter import FlopCounterMode

    def flops(side):
        with FlopCounterMode(display=False) as counter:
            steps.sides.one_step(side, dataclasses.astuple(shape), "late-feeding", "gru")()
        return counter.get_total_flops()

    repeated = shape.target * shape.batch * (shape.source - 1) * shape.hidden**2
    assert flops("usual") - flops("apart") == 6 * repeated


def test_where_heedful_leaves_products_to_pytorch_there_is_one_floor(steps, shape, monkeypatch):
    monkeypatch.setattr(steps.floor, "quick", lambda *parts: False)
    assert set(steps.sides.steps(shape, "early", "gru", ("floor", "onednn"))) == {"floor"}


def test_a_table_and_its_figures(steps, monkeypatch, tmp_path, capsys):
    import train_step

    small = {"longest": steps.shapes.Shape(2, 7, 7, 5, 11), "short": steps.shapes.Shape(2, 3, 5, 7, 11)}
    monkeypatch.setattr(train_step, "SHAPES", small)
    monkeypatch.setattr(steps.floor, "quick", lambda *parts: True)  # it computes the same anywhere, only slower
    monkeypatch.setattr(train_step, "peak_of", lambda side, shape, *rest: shape.source**2 + 3.0 * shape.source)
    words = ["--cells", "gru", "--fusions", "early", "--repeats", "2", "--extrapolate", "2", "3"]
    train_step.main([*words, "--json", str(tmp_path / "figures.json")])
    table = capsys.readouterr().out
    assert "| short (B2 S3 T5 H7 V11) | early | gru |" in table
    assert "|torch:" in table
    short, longest = sorted(
        json.loads((tmp_path / "figures.json").read_text())["rows"], key=lambda row: row["sizes"]["source"]
    )
    assert set(short["ms"]) == {"usual", "apart", "heedful", "floor", "onednn"}
    assert set(longest["ms"]) == set(short["ms"]) - {"apart"}
    assert {len(times) for times in short["times_ms"].values()} == {2}
    assert "floor (oneDNN) ms" in table
    assert short["difference"] < 1e-5
    assert longest["mib"]["usual"] == pytest.approx(7**2 + 3 * 7)  # from 2 and 3
    assert "mib" not in short


@pytest.mark.parametrize(("a", "b", "expected"), [(2, 3, 2 * 49 + 3 * 7), (2, -1, (2 * 9 - 3) / 9 * 49)])
def test_what_cannot_be_run_is_extrapolated(steps, shape, a, b, expected):
    import train_step

    # A fall per step is noise: then as the square through the longer of the two.
    value, measured = train_step._extrapolate(lambda near: a * near.target**2 + b * near.source, shape, [3, 2])
    assert measured == {2: 4 * a + 2 * b, 3: 9 * a + 3 * b}
    assert value == pytest.approx(expected)
