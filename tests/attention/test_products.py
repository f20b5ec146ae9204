"""Products by oneDNN against PyTorch's own, and when they are which."""

import itertools

import pytest
import torch
from torch.nn import functional

from heedful.attention import products
from heedful.attention.products import Linear, linear, quick

from .cases import normal

K, N = 37, 23
HERE = quick(torch.zeros(1))
only_here = pytest.mark.skipif(not HERE, reason="this processor has no AVX-512, or this PyTorch no oneDNN")


@pytest.fixture
def calls(monkeypatch):
    """How often oneDNN was asked."""
    found = []
    whole = products._dense
    monkeypatch.setattr(products, "_dense", lambda *parts: (found.append(1), whole(*parts))[1])
    return found


def operands(*leading: int, bias: bool = True, dtype: torch.dtype = torch.float32):
    made = [normal(*leading, K), normal(N, K, seed=2), *([normal(N, seed=3)] if bias else [])]
    return [each.to(dtype).requires_grad_() for each in made]


@only_here
@pytest.mark.parametrize("leading", [(5,), (2, 7), (3, 1, 11)])
@pytest.mark.parametrize("bias", [False, True])
def test_values_and_gradients(calls, leading, bias):
    leaves = operands(*leading, bias=bias)
    weight = normal(*leading, N, seed=4).float()
    found = []
    for form in (functional.linear, linear):
        made = form(*leaves)
        found.append((made, *torch.autograd.grad((made * weight).sum(), leaves)))
    assert len(calls) == 3  # forwards, and of inputs and weight
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-5, atol=2e-5)


@only_here
def test_parts_and_transposes_of_larger_tensors(calls):
    """What stands apart in memory, or the other way round."""
    large, weights = normal(13, 3 * K).float(), normal(3 * K, N, seed=2).float()
    part, weight = large[:, K : 2 * K], weights.T[:, K : 2 * K]
    torch.testing.assert_close(linear(part, weight), part @ weight.T, rtol=1e-5, atol=2e-5)
    assert len(calls) == 1


@only_here
@pytest.mark.parametrize("needed", [each for each in itertools.product((False, True), repeat=3) if any(each)])
def test_only_what_asks_for_a_gradient_costs_a_product(calls, needed):
    leaves = operands(7)
    for leaf, asks in zip(leaves, needed, strict=True):
        leaf.requires_grad_(asks)
    linear(*leaves).sum().backward()
    assert [leaf.grad is not None for leaf in leaves] == list(needed)
    assert len(calls) == 1 + sum(needed[:2])


def test_everything_else_is_left_to_pytorch(calls, monkeypatch):
    few, double, half = operands(4), operands(7, dtype=torch.float64), operands(7, dtype=torch.bfloat16)
    for leaves in (few, double, half):
        assert linear(*leaves).equal(functional.linear(*leaves))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert linear(*operands(7)).dtype == torch.bfloat16
    torch.testing.assert_close(
        torch.compile(linear, backend="eager", fullgraph=True)(*operands(7)), functional.linear(*operands(7))
    )
    monkeypatch.setattr(products, "_there", lambda: False)
    assert linear(*operands(7)).equal(functional.linear(*operands(7)))
    assert calls == []


@only_here
def test_a_second_derivative_is_refused():
    leaves = operands(7)
    with pytest.raises(RuntimeError, match="cannot be differentiated twice"):
        torch.autograd.grad(linear(*leaves).sum(), leaves[:1], create_graph=True)


def test_the_module_is_pytorchs_with_these_products():
    module = Linear(K, N)
    inputs = normal(7, K).float()
    assert module(inputs).equal(linear(inputs, module.weight, module.bias))
    assert list(module.state_dict()) == ["weight", "bias"]


@only_here
def test_numbers_of_rows_are_few(monkeypatch):
    """oneDNN makes code for each: they are filled up, by an eighth at most, and what was filled is not seen."""
    seen = set()
    whole = products._dense
    monkeypatch.setattr(products, "_dense", lambda x, *rest: (seen.add(tuple(x.shape)), whole(x, *rest))[1])
    for rows in range(5, 1025):
        inputs, weight = torch.ones(rows, 3), torch.ones(2, 3)
        assert linear(inputs, weight).equal(torch.full((rows, 2), 3.0))
        assert products.weight_gradient(torch.ones(rows, 2), inputs).equal(torch.full((2, 3), float(rows)))
    filled = sorted(size for size, inner in seen if inner == 3)
    assert len(filled) < 64
    assert all(later <= earlier * 9 / 8 + 8 for earlier, later in itertools.pairwise(filled))
    assert {inner for size, inner in seen if size == 2} == set(filled)
