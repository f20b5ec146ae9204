"""Mixed precision, as training with `precision = "bf16"` uses it: everything runs, and means nearly the same."""

import itertools

import pytest
import torch

from heedful.model import build
from heedful.search import Rules, beam

from .cases import ATTENTIONS, CELLS, FUSIONS, SIZES, name_of, random_batch

KINDS = [(fusion, cell) for fusion, cell in itertools.product(FUSIONS, CELLS)]
STARTS = [
    (fusion, start)
    for fusion, start in itertools.product(
        ("early", "late_gate_feeding"), ("zero", "mean", "last", "learned_mean", "backward_first")
    )
]


def check(**options) -> None:
    torch.manual_seed(0)
    model, batch = build(**{**SIZES, **options}), random_batch()
    limits = torch.full((3,), 5)
    single = model(batch).plain
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(batch)
        found = beam(model.step, *model.begin(batch.sources[0]), beam_size=3, rules=Rules(limits), with_weights=True)
    assert loss.total.dtype == torch.float32
    torch.testing.assert_close(loss.plain, single, rtol=0.02, atol=0)
    loss.total.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
    assert [len(hypotheses) for hypotheses in found] == [1, 1, 1]


@pytest.mark.parametrize(("fusion", "cell"), KINDS)
def test_every_fusion_and_cell(fusion, cell):
    check(**FUSIONS[fusion], cell=cell)


@pytest.mark.parametrize(("fusion", "start"), STARTS)
def test_every_start(fusion, start):
    check(**FUSIONS[fusion], start=start, decoder_size=14)


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late"])
def test_every_attention(fusion, options):
    check(**FUSIONS[fusion], **options)
