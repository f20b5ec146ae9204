"""The additive score without a tanh against the plain formula, in value, gradient, memory and every type."""

import math
import warnings

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from heedful.attention import Additive, Attention, additive
from heedful.attention.additive import additive_scores, plain_additive_scores

from .cases import A, B, Q, S, T, V, draw, normal

SCALES = [0.1, 1.0, 10.0, 100.0]


def operands(scale: float = 1.0, *, steps: int = T, dtype: torch.dtype = torch.float64) -> list[Tensor]:
    """Queries, keys and v."""
    shapes = ((B, steps, A), (B, S, A), (A,))
    made = [normal(*shape, seed=seed, dtype=dtype) for seed, shape in enumerate(shapes)]
    return [scale * made[0], scale * made[1], made[2]]


def with_gradients(function, tensors: list[Tensor]) -> tuple[Tensor, ...]:
    """Scores and the gradients of queries, keys and v, of a sum in which each score has another weight."""
    leaves = [tensor.clone().requires_grad_() for tensor in tensors]
    scores = function(*leaves)
    weight = normal(*scores.shape, seed=7).to(scores.dtype)
    return (scores.detach(), *torch.autograd.grad((scores * weight).sum(), leaves))


def one_by_one(queries: Tensor, keys: Tensor, v: Tensor) -> Tensor:
    return torch.cat([additive_scores(query, keys, v) for query in queries.split(1, dim=1)], dim=1)


@pytest.mark.parametrize("function", [additive_scores, one_by_one])
@pytest.mark.parametrize("piece", [1, 3 * B * S * A, 1 << 20])
@pytest.mark.parametrize("scale", SCALES)
def test_equals_the_plain_formula_in_double_precision(monkeypatch, function, piece, scale):
    """With one query at a time, some or all, in pieces of one step, of three (and a last of one), and of all."""
    monkeypatch.setattr(additive, "PIECE", piece)
    tensors = operands(scale)
    size = tensors[2].abs().sum().item()
    expected, found = with_gradients(plain_additive_scores, tensors), with_gradients(function, tensors)
    for value, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(value, wanted, rtol=1e-12, atol=1e-12 * size)


@pytest.mark.parametrize("scale", SCALES)
def test_single_precision_is_within_the_tolerance_of_double(scale):
    tensors = operands(scale, dtype=torch.float32)
    size = tensors[2].abs().sum().item()
    double = plain_additive_scores(*(tensor.double() for tensor in tensors))
    difference = (additive_scores(*tensors).double() - double).abs().max().item()
    assert 0 < difference <= 2e-7 * size


@pytest.mark.parametrize("scale", SCALES)
def test_gradients_in_single_precision(scale):
    tensors = operands(scale, dtype=torch.float32)
    expected = with_gradients(plain_additive_scores, [tensor.double() for tensor in tensors])
    for value, wanted in zip(with_gradients(additive_scores, tensors), expected, strict=True):
        torch.testing.assert_close(value.double(), wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("query", "key"), [(-25.0, 30.0), (1e4, -1e4 + 2), (500.0, 500.0), (-1e30, 1.0), (math.inf, 5.0)]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_large_numbers_neither_overflow_nor_saturate_apart(query, key, dtype):
    """tanh(30 - 25) is 0.9999, not 0 and not 1: what looks at exponentials of query and key apart must take care."""
    one = torch.ones(1, 1, 1, dtype=dtype)
    found = with_gradients(additive_scores, [query * one, key * one, one[0, 0]])
    assert found[0].item() == pytest.approx(math.tanh(query + key), abs=2e-7)
    assert all(tensor.isfinite().all() for tensor in found)


def test_not_a_number_stays_one():
    queries, keys, v = operands()
    queries[1, 2, 3] = math.nan
    scores = additive_scores(queries, keys, v)
    assert scores[1, 2].isnan().all()
    assert scores.isnan().sum() == S


def test_gradients_by_finite_differences():
    leaves = [tensor.requires_grad_() for tensor in operands(steps=2)]
    assert torch.autograd.gradcheck(additive_scores, leaves)


def test_a_second_derivative_is_refused():
    leaves = [tensor.requires_grad_() for tensor in operands()]
    for constant in (False, True):
        scores = additive_scores(*leaves)
        with pytest.raises(RuntimeError, match="differentiated twice"):
            torch.autograd.grad((scores if constant else scores.square()).sum(), leaves[:1], create_graph=True)
    (first,) = torch.autograd.grad(plain_additive_scores(*leaves).square().sum(), leaves[:1], create_graph=True)
    first.sum().backward()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_single_precision(dtype):
    tensors = operands(dtype=dtype)
    found = with_gradients(additive_scores, tensors)
    expected = with_gradients(additive_scores, [tensor.float() for tensor in tensors])
    assert found[0].equal(expected[0].to(dtype))
    for value, wanted in zip(found[1:], expected[1:], strict=True):
        assert value.dtype == dtype
        torch.testing.assert_close(value.float(), wanted, rtol=0.02, atol=0.02)


def test_under_autocast_scores_are_of_single_precision():
    """Queries and keys come out of products in half precision, v is a parameter."""
    queries, keys, v = operands(dtype=torch.float32)
    tensors = [queries.bfloat16(), keys.bfloat16(), v]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = with_gradients(additive_scores, tensors)
    expected = with_gradients(additive_scores, [tensor.float() for tensor in tensors])
    assert found[0].equal(expected[0])
    assert found[3].equal(expected[3])
    for value, wanted in zip(found[1:3], expected[1:3], strict=True):
        torch.testing.assert_close(value.float(), wanted, rtol=0.01, atol=0.01)


class _Largest(TorchDispatchMode):
    """Notes the largest tensor that any operation makes."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        for each in found if isinstance(found, tuple | list) else (found,):
            if isinstance(each, Tensor) and each.is_contiguous():
                self.elements = max(self.elements, each.numel())
        return found


@pytest.mark.parametrize("steps", [3, 5, 7])
def test_no_more_than_a_piece_is_there_at_once_and_none_is_kept(monkeypatch, steps):
    monkeypatch.setattr(additive, "PIECE", steps * B * S * A)
    kept: list[int] = []
    with (
        torch.autograd.graph.saved_tensors_hooks(lambda t: (kept.append(t.numel()), t)[1], lambda t: t),
        _Largest() as largest,
    ):
        leaves = [tensor.requires_grad_() for tensor in operands(steps=31)]
        additive_scores(*leaves).sum().backward()
    assert largest.elements == steps * B * S * A
    assert sum(kept) == sum(leaf.numel() for leaf in leaves) < B * S * A * 31 / 5


def attend_all(query: Tensor, values: Tensor, attention: Attention) -> Tensor:
    return attention(query, attention.prepare(values)).context


def test_it_can_be_compiled_exported_for_any_length_and_traced_to_a_file(monkeypatch, tmp_path):
    monkeypatch.setattr(additive, "PIECE", 2 * B * S * A)  # the number of pieces must not be fixed
    attention = Attention(draw(Additive(Q, V, attention_size=A)))
    query, values = normal(B, T, Q), normal(B, S, V)
    wanted = attend_all(query, values, attention)

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = attention

        def forward(self, query, values):
            return attend_all(query, values, self.attention)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own, of its tools
        compiled = torch.compile(attend_all, backend="eager", fullgraph=True)(query, values, attention)
        any_length = ({1: torch.export.Dim.DYNAMIC}, {1: torch.export.Dim.DYNAMIC})
        program = torch.export.export(Module(), (normal(B, 3, Q), normal(B, 5, V)), dynamic_shapes=any_length)
        exported = program.module()(query, values)
        torch.jit.trace(Module(), (query, values), check_trace=False).save(str(tmp_path / "traced"))
        traced = torch.jit.load(str(tmp_path / "traced"))(query, values)
    for found in (compiled, exported, traced):
        torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
