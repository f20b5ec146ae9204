"""Optimisers by name."""

from __future__ import annotations

import torch
from torch import nn

from heedful.recipes import TrainRecipe


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
