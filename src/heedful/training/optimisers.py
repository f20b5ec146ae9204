"""Optimisers by name."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import nn

from heedful.recipes import TrainRecipe

# What each remembers of a parameter it has moved: tensors of the parameter's size, and the number of steps.
_REMEMBERS = {"adam": {"step", "exp_avg", "exp_avg_sq"}, "adadelta": {"step", "square_avg", "acc_delta"}, "sgd": set()}


def make_optimiser(model: nn.Module, recipe: TrainRecipe) -> torch.optim.Optimizer:
    """adam (decoupled weight decay), adadelta (rho 0.95, epsilon 1e-6: Bahdanau et al. 2015) or plain sgd."""
    parameters = list(model.parameters())
    rate, decay = recipe.learning_rate, recipe.weight_decay
    if recipe.optimiser == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=0.95, eps=1e-6, weight_decay=decay)
    if recipe.optimiser == "sgd":
        return torch.optim.SGD(parameters, lr=rate, weight_decay=decay)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)


def set_rate(optimiser: torch.optim.Optimizer, rate: float) -> None:
    """Use `rate` from the next update on."""
    for group in optimiser.param_groups:
        group["lr"] = rate


def check_state(
    state: Mapping[int, Mapping[str, torch.Tensor]], optimiser: torch.optim.Optimizer, recipe: TrainRecipe
) -> None:
    """Refuse a state that is none of this optimiser; it would be noticed in the middle of an update only.

    Raises:
        ValueError: says what is wrong.
    """
    parameters = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    for index, remembered in state.items():
        if not 0 <= index < len(parameters) or set(remembered) != _REMEMBERS[recipe.optimiser]:
            raise ValueError(f"what {recipe.optimiser} does not remember: parameter {index}, {sorted(remembered)}")
        for name, tensor in remembered.items():
            size = () if name == "step" else parameters[index].shape
            if tensor.shape != size or not tensor.is_floating_point():
                raise ValueError(f"{name} of parameter {index} as {tensor.dtype} of size {tuple(tensor.shape)}")
        if "step" in remembered and not 0 <= float(remembered["step"]) < math.inf:
            raise ValueError(f"step of parameter {index} as {float(remembered['step'])}")
