"""y = W x + b by the library that is quickest at it."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

FEWEST = 5
"""Rows from which on it pays."""


class Linear(nn.Linear):
    """PyTorch's, computed by `linear`."""

    def forward(self, input: Tensor) -> Tensor:
        return linear(input, self.weight, self.bias)


def linear(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``functional.linear``, by oneDNN where that is quicker: (..., K), (N, K), (N) -> (..., N).

    PyTorch leaves products in single precision to MKL, which on AMD processors does not use their widest registers
    (AVX-512). oneDNN, which is in every PyTorch for x86 too, does, and takes half the time there. On processors without
    them, in other types, for few rows, under autocast, and while a model is compiled or traced, it is PyTorch's own.

    Raises:
        RuntimeError: in a backward pass that is to be differentiated again, where it is oneDNN's.
    """
    if not quick(inputs, weight, bias) or inputs.numel() < max(1, FEWEST * inputs.shape[-1]):
        return functional.linear(inputs, weight, bias)
    rows = inputs.reshape(-1, inputs.shape[-1])
    made: Tensor = _Linear.apply(_filled(rows), weight, bias)  # pyright: ignore[reportAssignmentType]
    return made[: rows.shape[0]].view(*inputs.shape[:-1], weight.shape[0])


def quick(*parts: Tensor | None) -> bool:
    """Whether products of these are oneDNN's, if they have rows enough."""
    if plain_only():
        return False
    suit = all(_suits(part) for part in parts if part is not None)
    return suit and _there() and not torch.is_autocast_enabled("cpu")


def plain_only() -> bool:
    """Whether PyTorch looks at the operations rather than at their results: it compiles, traces or transforms them."""
    tracing = torch.jit.is_tracing()  # pyright: ignore[reportPrivateImportUsage]
    return torch.compiler.is_compiling() or tracing or torch._C._are_functorch_transforms_active()


def lowered(tensor: Tensor) -> Tensor:
    """In the type that autocast, where it is on, would give to a factor of a product."""
    device = tensor.device.type
    if tensor.dtype == torch.float64 or not torch.is_autocast_enabled(device):
        return tensor
    return tensor.to(torch.get_autocast_dtype(device))


def _suits(part: Tensor) -> bool:
    return part.dtype == torch.float32 and part.device.type == "cpu"


@functools.cache
def _there() -> bool:
    """Whether there are oneDNN, and AVX-512 for it to use."""
    known = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return known and torch.backends.cpu.get_cpu_capability() == "AVX512"


def product(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`linear` of what is `quick`, without gradients."""
    flat = inputs.reshape(-1, inputs.shape[-1])
    return _dense(_filled(flat), weight, bias)[: flat.shape[0]].view(*inputs.shape[:-1], weight.shape[0])


def _dense(inputs: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Of anything but dense tensors oneDNN's way is far slower."""
    return torch.ops.mkldnn._linear_pointwise(inputs.contiguous(), weight.contiguous(), bias, "none", [], "")


def _filled(rows: Tensor) -> Tensor:
    """With rows of zeros up to the next of a few numbers, a multiple of 8 and at most an eighth more where there are
    many: for each number of rows oneDNN makes, and keeps, code of its own, which takes longer than a small product."""
    count = rows.shape[0]
    step = max(8, (1 << count.bit_length()) >> 4)
    missing = -count % step
    return functional.pad(rows, (0, 0, 0, missing)) if missing else rows


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(inputs, weight)
        return _dense(inputs, weight, bias)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # pyright: ignore
        if torch.is_grad_enabled():
            raise RuntimeError(
                "heedful's linear layers cannot be differentiated twice (create_graph=True) on this processor"
            )
        inputs, weight = ctx.saved_tensors
        of_inputs, of_weight, of_bias = ctx.needs_input_grad
        return (
            product(grad, weight.T) if of_inputs else None,
            weight_gradient(grad, inputs) if of_weight else None,
            grad.flatten(0, -2).sum(0) if of_bias else None,
        )


def weight_gradient(grad: Tensor, inputs: Tensor) -> Tensor:
    """W's (N, K), from y's (..., N) and x (..., K)."""
    grad, inputs = grad.flatten(0, -2), inputs.flatten(0, -2)
    if quick(grad, inputs) and grad.numel() and inputs.numel():
        return _dense(_filled(grad).T, _filled(inputs).T)
    return grad.T @ inputs
