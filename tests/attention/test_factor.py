"""A product in a loop and its gradient after the loop, against the same loop left to PyTorch."""

import gc
import weakref
from functools import partial

import pytest
import torch
from torch.nn import functional

from heedful.attention.factor import Factor
from heedful.errors import SizeError

from .cases import B, Q, S, T, V, normal


def loop(weight, inputs, start, bias=None, *, factor: bool):
    """y_t = W tanh(x_t + y_{t-1}) + b: the gradient of each input is of the steps behind it too."""
    if factor:
        multiply = Factor(weight, bias, batch=B, steps=T)
    elif weight.dim() == 3:
        multiply = weight.__rmatmul__
    else:
        multiply = partial(functional.linear, weight=weight, bias=bias)
    last, found = start, []
    for step in inputs.split(1, dim=1):
        last = multiply(torch.tanh(step + last.mean(-1, keepdim=True)))
        found.append(last)
    return torch.cat(found, dim=1)


def operands(batched: bool):
    """A matrix for each sentence; or one for all, a part of a larger one, with a bias."""
    matrix = normal(B, Q, V) if batched else normal(V, Q + 2)[:, 1:-1]
    bias = [] if batched else [normal(V, seed=5)]
    made = [matrix, normal(B, T, Q, seed=2), normal(B, 1, V, seed=3), *bias]
    return [each.detach().requires_grad_() for each in made]


@pytest.mark.parametrize("batched", [False, True])
def test_values_and_gradients_are_those_of_the_plain_loop(batched):
    leaves = operands(batched)
    found = []
    for factor in (False, True):
        answer = loop(*leaves, factor=factor)
        found.append([answer, *torch.autograd.grad((answer * normal(B, T, V, seed=4)).sum(), leaves)])
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=0, atol=1e-12)


@pytest.mark.parametrize("batched", [False, True])
def test_a_graph_may_be_gone_through_again_and_in_part(batched):
    """What one backward pass leaves behind does not count in the next."""
    leaves = operands(batched)
    plain, ours = loop(*leaves, factor=False), loop(*leaves, factor=True)
    for answer in (ours[:, :3], ours[:, 5:], ours):
        torch.autograd.grad(answer.sum(), leaves[1:], retain_graph=True)
        torch.autograd.grad(answer.sum(), leaves[:1], retain_graph=True)
    for part in (slice(0, 2), slice(None)):
        wanted = torch.autograd.grad(plain[:, part].sum(), leaves, retain_graph=True)
        for one, other in zip(wanted, torch.autograd.grad(ours[:, part].sum(), leaves, retain_graph=True), strict=True):
            torch.testing.assert_close(other, one, rtol=0, atol=1e-12)


def test_a_matrix_that_does_not_learn_and_steps_that_were_not_taken():
    weight, inputs, start, bias = operands(False)
    frozen = loop(weight.detach(), inputs, start, bias.detach(), factor=True)
    torch.testing.assert_close(frozen, loop(weight, inputs, start, bias, factor=False))
    multiply = Factor(weight, bias, batch=B, steps=T)
    gradients = torch.autograd.grad(multiply(inputs[:, :1]).sum(), [weight, bias])
    torch.testing.assert_close(gradients[0], inputs[:, 0].sum(0).expand(V, Q))
    torch.testing.assert_close(gradients[1], torch.full_like(bias, B))


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_second_derivative_is_refused(wanted):
    leaves = operands(False)
    with pytest.raises(RuntimeError, match="differentiated twice"):
        torch.autograd.grad(loop(*leaves, factor=True).sum(), leaves[wanted], create_graph=True)


def test_under_autocast_products_are_of_half_precision_and_gradients_of_single():
    leaves = [leaf.detach().float().requires_grad_() for leaf in operands(False)]
    found = []
    for factor in (False, True):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            answer = loop(*leaves, factor=factor)
        assert answer.dtype == torch.bfloat16
        found.append(torch.autograd.grad(answer.float().sum(), leaves))
    for one, other in zip(*found, strict=True):
        assert other.dtype == torch.float32
        torch.testing.assert_close(other, one, rtol=0.05, atol=0.05)


def test_a_frozen_matrix_still_passes_gradients_on_in_single_precision():
    """Where products are oneDNN's, which knows nothing of gradients."""
    leaves = [each.detach().float().requires_grad_() for each in operands(False)]
    inputs, start = (torch.cat([each] * 3).detach().requires_grad_() for each in leaves[1:3])  # B = 6 rows
    found = []
    for factor in (False, True):
        multiply = (
            Factor(leaves[0].detach(), batch=6, steps=T) if factor else partial(functional.linear, weight=leaves[0])
        )
        last = start
        for step in inputs.split(1, dim=1):
            last = multiply(torch.tanh(step + last.mean(-1, keepdim=True)))
        found.append(torch.autograd.grad(last.sum(), [inputs, start]))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(other, one, rtol=1e-4, atol=1e-6)
        assert one.abs().max() > 0


def test_wrong_use_is_told():
    weight, inputs, _, bias = operands(False)
    with pytest.raises(SizeError, match="one step at a time"):
        Factor(weight, bias, batch=B, steps=T)(inputs)
    multiply = Factor(weight, bias, batch=B, steps=1)
    multiply(inputs[:, :1])
    with pytest.raises(SizeError, match="as many as it was made for"):
        multiply(inputs[:, :1])


def test_inputs_that_are_changed_before_the_backward_pass_are_noticed():
    weight, inputs, _, bias = operands(False)
    step = inputs[:, :1] * 1
    made = Factor(weight, bias, batch=B, steps=T)(step)
    step.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


def test_double_precision_stays_double_under_autocast():
    leaves = operands(False)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert loop(*leaves, factor=True).dtype == torch.float64


def test_nothing_is_left_of_a_loop_that_nobody_refers_to():
    class Mark:
        pass

    gc.disable()
    try:
        answer = loop(*operands(False), factor=True)
        mark = Mark()
        first_step = answer.grad_fn.next_functions[0][0]
        first_step.metadata["mark"] = mark
        gone = weakref.ref(mark)
        del answer, mark, first_step
        assert gone() is None
    finally:
        gc.enable()


def test_it_can_be_compiled():
    leaves = operands(True)
    compiled = torch.compile(loop, backend="eager", fullgraph=True)(*leaves, factor=True)
    torch.testing.assert_close(compiled, loop(*leaves, factor=False))
    assert S > T  # all sizes differ
