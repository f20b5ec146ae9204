"""Every trainable parameter is used: one backward pass reaches all of them."""

import itertools

import pytest
import torch

from heedful.data.vocabulary import Vocabulary
from heedful.model import Model, bahdanau2015, encdec2014, luong2015

from .cases import ATTENTIONS, CELLS, FUSIONS, make, name_of, random_batch

TINY = {"source_vocabulary_size": 29, "target_vocabulary_size": 23}


def without_gradient(model: Model, batch=None) -> set[str]:
    """The parameters that one backward pass leaves at exactly zero."""
    model(batch or random_batch()).total.backward()
    silent = set()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if not parameter.grad.any():
            silent.add(name)
    return silent


def test_bahdanau2015():
    """v_a starts at 0, so W_a and U_a hear nothing in the first update, and everything from then on."""
    model = bahdanau2015(**TINY, embedding_size=5, hidden_size=7, attention_size=17, readout_size=3)
    score = "decoder.fusion.attention.score"
    assert without_gradient(model) == {f"{score}.query_projection.weight", f"{score}.key_projection.weight"}
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    model.zero_grad()
    assert without_gradient(model) == set()


def test_encdec2014():
    model = encdec2014(**TINY, embedding_size=5, hidden_size=7, readout_size=3)
    assert without_gradient(model) == set()


@pytest.mark.parametrize(
    ("score", "scope", "input_feeding"),
    list(itertools.product(("dot", "general", "concat", "location"), ("global", "local_m", "local_p"), (False, True))),
)
def test_luong2015(score, scope, input_feeding):
    torch.manual_seed(0)
    model = luong2015(
        **TINY, hidden_size=7, layers=2, window=2, score=score, scope=scope, input_feeding=input_feeding
    ).eval()
    assert without_gradient(model) == set()


@pytest.mark.parametrize("options", ATTENTIONS, ids=name_of)
@pytest.mark.parametrize("fusion", ["early", "late", "late_gate_feeding"])
def test_every_attention(fusion, options):
    # In training: in evaluation, where a walk stops has no gradient.
    assert without_gradient(make(**FUSIONS[fusion], **options, scale=0.3).train()) == set()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("fusion", list(FUSIONS))
def test_every_fusion_and_cell(fusion, cell, bidirectional):
    model = make(**FUSIONS[fusion], cell=cell, bidirectional=bidirectional, encoder_layers=2, decoder_layers=3)
    assert without_gradient(model) == set()


@pytest.mark.parametrize("start", ["zero", "mean", "last"])
def test_starts_without_matrices(start):
    assert without_gradient(make(start=start, decoder_size=14)) == set()


@pytest.mark.parametrize("readout", ["state_context", "attentional", "maxout"])
@pytest.mark.parametrize("tied", [False, True])
def test_readouts(readout, tied):
    """Input feeding hands the attentional state on, so that it is heard even where no readout looks at it."""
    options = {**FUSIONS["late_feeding"], "readout": readout}
    assert without_gradient(make(**options, tied_embeddings=tied)) == set()


def test_the_zero_start_stays_zero():
    model = make(fusion="early", zero_start=True)
    row = model.decoder.embedding.weight[Vocabulary.START]
    with torch.no_grad():
        row.zero_()
    model(random_batch()).total.backward()
    gradient = model.decoder.embedding.weight.grad
    assert gradient is not None
    assert not gradient[Vocabulary.START].any()
    assert gradient[Vocabulary.UNKNOWN + 1 :].any()
    torch.optim.Adam(model.parameters(), lr=0.1).step()
    assert not model.decoder.embedding.weight[Vocabulary.START].any()


def test_a_learned_start_learns():
    model = make(fusion="early")
    model(random_batch()).total.backward()
    gradient = model.decoder.embedding.weight.grad
    assert gradient is not None
    assert gradient[Vocabulary.START].any()
