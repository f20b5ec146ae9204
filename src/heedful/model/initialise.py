"""The papers' initialisations, by name."""

from __future__ import annotations

import math
from collections.abc import Callable

from torch import nn

from heedful.attention import Additive, Monotonic
from heedful.errors import RecipeError, nearest
from heedful.model.blocks import Inputs
from heedful.model.cells import GRU, LSTM, PaperGRU


def default(model: nn.Module) -> None:
    """Embeddings normal with deviation 0.1, learned positions with 0.7; recurrent matrices orthogonal per gate;
    PyTorch's own for the rest. Where places are added, words are multiplied by sqrt(E): quieter places would hardly be
    heard."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            _normal(module, 0.1)
    for module in model.modules():
        if isinstance(module, Inputs) and module.learned is not None:
            _normal(module.learned, math.sqrt(0.5))  # as sinusoids have
    _orthogonal_recurrence(model)


def uniform(model: nn.Module) -> None:
    """Everything uniform in [-0.1, 0.1]: Luong et al. 2015, section 4.1."""
    for parameter in model.parameters():
        nn.init.uniform_(parameter, -0.1, 0.1)
    _keep_padding_zero(model)
    _keep_norms(model)
    _keep_stop_bias(model)


def bahdanau(model: nn.Module) -> None:
    """Bahdanau et al. 2015, appendix B.1: recurrent matrices random orthogonal; W_a, U_a normal with deviation 0.001;
    v_a and all biases 0; everything else normal with deviation 0.01. With v_a = 0, attention starts out uniform."""
    for name, parameter in model.named_parameters():
        if "bias" in name:
            nn.init.zeros_(parameter)
        else:
            nn.init.normal_(parameter, 0.0, 0.01)
    _keep_padding_zero(model)
    _keep_norms(model)
    for module in model.modules():
        if isinstance(module, Additive):
            nn.init.normal_(module.query_projection.weight, 0.0, 0.001)
            nn.init.normal_(module.key_projection.weight, 0.0, 0.001)
            nn.init.zeros_(module.v)
    _keep_stop_bias(model)
    _orthogonal_recurrence(model)


initialisations: dict[str, Callable[[nn.Module], None]] = {
    "default": default,
    "uniform": uniform,
    "bahdanau": bahdanau,
}


def initialise(model: nn.Module, name: str) -> None:
    """Set all parameters of `model` in the way called `name`.

    Raises:
        RecipeError: there is no such way.
    """
    if name not in initialisations:
        raise RecipeError(f"unknown initialisation {name!r}{nearest(name, initialisations)}")
    initialisations[name](model)


def _normal(embedding: nn.Embedding, deviation: float) -> None:
    nn.init.normal_(embedding.weight, 0.0, deviation)
    _keep_padding_zero(embedding)


def _keep_padding_zero(model: nn.Module) -> None:
    for module in model.modules():
        if isinstance(module, nn.Embedding) and module.padding_idx is not None:
            nn.init.zeros_(module.weight[module.padding_idx])


def _keep_norms(model: nn.Module) -> None:
    """Layer norm, which the papers do not have, starts without effect of its own: factors 1, offsets 0."""
    for module in model.modules():
        if isinstance(module, nn.LayerNorm):
            module.reset_parameters()


def _keep_stop_bias(model: nn.Module) -> None:
    """It says how far a walk goes at first: papers that do not walk have no say in it."""
    for module in model.modules():
        if isinstance(module, Monotonic):
            nn.init.constant_(module.bias, module.initial_bias)


def _orthogonal_recurrence(model: nn.Module) -> None:
    """Each square block of a recurrent matrix becomes a random orthogonal matrix."""
    for module in model.modules():
        weights = []
        if isinstance(module, PaperGRU):
            weights = [module.gates.weight, module.candidate.weight]
        elif isinstance(module, GRU | LSTM):
            weights = [module.rnn.weight_hh_l0]
        for weight in weights:
            for block in weight.split(module.hidden_size):  # pyright: ignore
                nn.init.orthogonal_(block)
