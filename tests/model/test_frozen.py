"""Gradients of whole models in single precision, with all that is quicker there, against PyTorch's own products."""

import pytest
import torch

from grid import in_turn
from heedful.attention import products
from heedful.model import build

from .cases import CELLS, FUSIONS, SIZES, random_batch

BATCH = ((5, 2, 7, 3, 6, 4), (3, 6, 4, 9, 2, 5))  # six sentences: rows enough for oneDNN


def gradients(model, frozen: str | None) -> dict[str, torch.Tensor]:
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name != frozen)
        parameter.grad = None
    model(random_batch(*BATCH), label_smoothing=0.1).total.backward()
    return {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}


@pytest.mark.parametrize(("fusion", "cell"), in_turn(["none", "early", "late", "late_gate_feeding"], CELLS))
def test_whatever_is_frozen_the_others_learn_the_same(monkeypatch, fusion, cell):
    torch.manual_seed(1)
    model = build(**SIZES, **FUSIONS[fusion], cell=cell, decoder_layers=2)
    with monkeypatch.context() as patch:
        patch.setattr(products, "_there", lambda: False)
        wanted = gradients(model, None)
    names = [None, *(name for name, _ in model.named_parameters() if "weight" in name or name.endswith(".v"))]
    for frozen in names:
        found = gradients(model, frozen)
        assert set(found) == set(wanted) - {frozen}
        for name, gradient in found.items():
            torch.testing.assert_close(gradient, wanted[name], rtol=1e-4, atol=1e-5, msg=f"{name} with {frozen} frozen")


def test_gradients_of_sentences_by_a_transform():
    """``torch.func`` sees the plain operations."""
    torch.manual_seed(1)
    model = build(**SIZES, fusion="early").double()
    batch = random_batch(*BATCH)
    parameters = dict(model.named_parameters())

    def loss(given):
        return torch.func.functional_call(model, given, (batch,)).total

    found = torch.func.grad(loss)(parameters)
    model(batch).total.backward()
    for name, parameter in parameters.items():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-9, atol=1e-9)
