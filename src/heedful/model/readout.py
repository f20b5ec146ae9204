"""Readouts: what is known after a step becomes features, and these become one logit per target symbol."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from heedful.attention.products import Linear, linear
from heedful.errors import SizeError
from heedful.model.fusion import Fusion
from heedful.model.steps import Steps
from heedful.registry import Registry

readouts: Registry[Readout] = Registry("readout")


class Readout(nn.Module, ABC):
    """Steps -> features (..., `feature_size`).

    Args:
        fusion: whose steps are read (only its sizes are looked at).
        embedding_size: E, of the target embeddings.
        hidden_size: H, of the decoder's layers.
    """

    feature_size: int

    def __init__(self, fusion: Fusion, *, embedding_size: int, hidden_size: int) -> None:
        super().__init__()

    @abstractmethod
    def forward(self, steps: Steps) -> Tensor: ...


@readouts.register("state_context")
class StateContext(Readout):
    """[s_t; c_t], so that the output is softmax(W [s_t; c_t] + b)."""

    def __init__(self, fusion: Fusion, *, embedding_size: int, hidden_size: int) -> None:
        super().__init__(fusion, embedding_size=embedding_size, hidden_size=hidden_size)
        self.feature_size = hidden_size + fusion.context_size

    def forward(self, steps: Steps) -> Tensor:
        return torch.cat([steps.states, steps.contexts], dim=-1)


@readouts.register("state")
class TopState(Readout):
    """s_t alone, so that the output is softmax(W s_t + b): for fusions whose state has heard the context."""

    def __init__(self, fusion: Fusion, *, embedding_size: int, hidden_size: int) -> None:
        super().__init__(fusion, embedding_size=embedding_size, hidden_size=hidden_size)
        self.feature_size = hidden_size

    def forward(self, steps: Steps) -> Tensor:
        return steps.states


@readouts.register("attentional")
class Attentional(Readout):
    """The attentional state h~_t: Luong et al. 2015, section 3.

    Raises:
        SizeError: the fusion has no attentional state.
    """

    def __init__(self, fusion: Fusion, *, embedding_size: int, hidden_size: int) -> None:
        super().__init__(fusion, embedding_size=embedding_size, hidden_size=hidden_size)
        if fusion.attentional_size is None:
            raise SizeError("readout 'attentional' needs an attentional state, which only fusion 'late' has")
        self.feature_size = fusion.attentional_size

    def forward(self, steps: Steps) -> Tensor:
        assert steps.attentional is not None
        return steps.attentional


@readouts.register("maxout")
class Maxout(Readout):
    """t~ = U_o s_{t-1} + V_o E y_{t-1} + C_o c_t + b_o, t_j = max(t~_{2j-1}, t~_{2j}).

    Bahdanau et al. 2015, appendix A.2.2. The state is s_{t-1}, from BEFORE y_{t-1} was read, as the paper prints it.

    Args:
        readout_size: l, the number of pairs; by default half the decoder's size.

    Raises:
        SizeError: the fusion has no s_{t-1}.
    """

    def __init__(
        self, fusion: Fusion, *, embedding_size: int, hidden_size: int, readout_size: int | None = None
    ) -> None:
        super().__init__(fusion, embedding_size=embedding_size, hidden_size=hidden_size)
        if not fusion.recurrent:
            raise SizeError(
                "readout 'maxout' reads s_{t-1}, the state before the step, which only recurrent fusions have; "
                f"fusion {type(fusion).__name__} has readout {fusion.default_readout!r}"
            )
        self.feature_size = readout_size or max(1, hidden_size // 2)
        inputs = hidden_size + embedding_size + fusion.context_size
        self.projection = Linear(inputs, 2 * self.feature_size)  # [U_o, V_o, C_o], b_o

    def forward(self, steps: Steps) -> Tensor:
        assert steps.before is not None
        raw = self.projection(torch.cat([steps.before, steps.embeddings, steps.contexts], dim=-1))  # t~
        return raw.unflatten(-1, (self.feature_size, 2)).amax(-1)  # t


class Output(nn.Module):
    """Features -> logits: W_o t + b. With `tied`, W_o is the target embedding, behind a projection where sizes differ.

    Args:
        feature_size: F.
        embedding: the target embedding, (Y, E).
        tied: whether W_o is the embedding.
        bias: whether there is a b.
    """

    def __init__(self, feature_size: int, embedding: nn.Embedding, *, tied: bool, bias: bool = True) -> None:
        super().__init__()
        vocabulary_size, embedding_size = embedding.weight.shape
        project = tied and feature_size != embedding_size
        self.projection = Linear(feature_size, embedding_size, bias=False) if project else nn.Identity()
        self.weight = embedding.weight if tied else nn.Parameter(torch.empty(vocabulary_size, feature_size))
        if not tied:
            nn.init.uniform_(self.weight, -(feature_size**-0.5), feature_size**-0.5)
        self.bias = nn.Parameter(torch.zeros(vocabulary_size)) if bias else None

    def forward(self, features: Tensor) -> Tensor:
        return linear(self.projection(features), self.weight, self.bias)
