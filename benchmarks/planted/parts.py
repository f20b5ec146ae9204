"""Parts with a fault in them, registered as a user's own part is: a recipe names them, and a run folder that was
trained with one loads wherever this file has been imported.

Each is a mistake that people make, or a bias that holds attention where it is; none writes weights by hand.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from heedful.attention import Additive, General, Memory, Softmax, normalisers, scores
from heedful.model.early import Early
from heedful.model.encoder import Encoded
from heedful.model.fusion import FixedVector, Fusion, fusions
from heedful.model.late import Late
from heedful.model.readout import Readout, readouts
from heedful.model.steps import State, Steps

# --- frozen: the scores never differ from position to position ---------------------------------------------------


@scores.register("planted_zero_v")
class ZeroV(Additive):
    """v . tanh(W s + U h) with v held at 0: as where v is started at zero and left out of the optimiser."""

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__(query_size, value_size)
        nn.init.zeros_(self.v)
        self.v.requires_grad_(False)


@scores.register("planted_zero_keys")
class ZeroKeys(General):
    """s . W h with W held at 0: every key is 0, and so is every score."""

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__(query_size, value_size)
        nn.init.zeros_(self.key_projection.weight)
        self.key_projection.requires_grad_(False)


@scores.register("planted_one_key")
class OneKey(Additive):
    """The keys are made of the sentence's mean rather than of each position: all keys, so all scores, are the same."""

    def keys(self, values: Tensor) -> Tensor:
        return super().keys(values.mean(1, keepdim=True)).expand(-1, values.shape[1], -1)


# --- query-blind: the softmax does not depend on the query ---------------------------------------------------------


@scores.register("planted_no_tanh")
class NoTanh(Additive):
    """v . (W s + U h), the tanh forgotten: v . W s is the same at every position and falls out of the softmax."""

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return (queries @ self.v).unsqueeze(2) + (memory.keys @ self.v).unsqueeze(1)


@scores.register("planted_no_query")
class NoQuery(Additive):
    """v . tanh(U h): the query forgotten."""

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return super().forward(torch.zeros_like(queries), memory)


@scores.register("planted_dead_query")
class DeadQuery(Additive):
    """v . tanh(W s + U h) with W held at 0."""

    def __init__(self, query_size: int, value_size: int) -> None:
        super().__init__(query_size, value_size)
        nn.init.zeros_(self.query_projection.weight)
        self.query_projection.requires_grad_(False)


# --- lazy: one position takes all ---------------------------------------------------------------------------------


def _favoured(memory: Memory, where: str) -> Tensor:
    """(B, 1, S): 1 at the favoured position, 0 elsewhere."""
    wanted = {
        "end": memory.positions == 0,  # of the real positions only the end symbol has no place
        "first": memory.positions == 1,
        "last": memory.positions == memory.positions.amax(1, keepdim=True),
    }[where]
    return wanted.unsqueeze(1).to(memory.keys.dtype)


@scores.register("planted_lazy_additive")
class LazyAdditive(Additive):
    """The additive score, and a bias for one position from which training goes on: too strong for it to lose."""

    def __init__(self, query_size: int, value_size: int, *, where: str = "end", bias: float = 14.0) -> None:
        super().__init__(query_size, value_size)
        self.where = where
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return super().forward(queries, memory) + self.bias * _favoured(memory, self.where)


@scores.register("planted_lazy_general")
class LazyGeneral(General):
    """The general score with such a bias; its scores have no bound, so it takes a larger one."""

    def __init__(self, query_size: int, value_size: int, *, where: str = "end", bias: float = 30.0) -> None:
        super().__init__(query_size, value_size)
        self.where = where
        self.bias = nn.Parameter(torch.tensor(bias))

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return super().forward(queries, memory) + self.bias * _favoured(memory, self.where)


# --- diffuse: scores that cannot get apart ------------------------------------------------------------------------


@scores.register("planted_squashed")
class Squashed(General):
    """sigmoid(s . W h): scores between 0 and 1 cannot make a weight that is more than e times another."""

    def forward(self, queries: Tensor, memory: Memory) -> Tensor:
        return torch.sigmoid(super().forward(queries, memory))


@normalisers.register("planted_softmax_twice")
class SoftmaxTwice(Softmax):
    """The softmax of a softmax: what comes out is e times as large for 1 as for 0, at the most."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().forward(super().forward(scores, mask), mask)


# --- padding leak: the mask is not what it should be ----------------------------------------------------------------


@normalisers.register("planted_unmasked")
class Unmasked(Softmax):
    """The mask is never applied."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().forward(scores, torch.ones_like(mask))


@normalisers.register("planted_multiplied_mask")
class MultipliedMask(Softmax):
    """Scores times the mask: where it is 0 the score becomes 0, not minus infinity."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        return super().forward(scores * mask, torch.ones_like(mask))


@normalisers.register("planted_small_fill")
class SmallFill(Softmax):
    """Masked scores are filled with a number that is not low enough."""

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        filled = torch.where(mask, scores, scores.new_tensor(-4.0))
        return super().forward(filled, torch.ones_like(mask))


# --- ignored: the context does not reach the output -----------------------------------------------------------------


def _faint(memory: Memory) -> Memory:
    return memory._replace(values=1e-3 * memory.values)


@fusions.register("planted_deaf_early")
class DeafEarly(Early):
    """Early fusion into which the context comes a thousand times too small."""

    def prepare(self, encoded: Encoded) -> Memory:
        return _faint(super().prepare(encoded))


@fusions.register("planted_deaf_late")
class DeafLate(Late):
    """Late fusion into which the context comes a thousand times too small."""

    def prepare(self, encoded: Encoded) -> Memory:
        return _faint(super().prepare(encoded))


@readouts.register("planted_state_only")
class StateOnly(Readout):
    """h_t alone: the context is made, and forgotten before the output layer."""

    def __init__(self, fusion: Fusion, *, embedding_size: int, hidden_size: int) -> None:
        super().__init__(fusion, embedding_size=embedding_size, hidden_size=hidden_size)
        self.feature_size = hidden_size

    def forward(self, steps: Steps) -> Tensor:
        return steps.states


# --- shifted by one: rows that are about another word than they say ---------------------------------------------------


@fusions.register("planted_mislabelled_early")
class MislabelledEarly(Early):
    """Early fusion whose rows are said to be about the word just read."""

    row_convention = "input"


@fusions.register("planted_behind_late")
class BehindLate(Late):
    """Late fusion (without input feeding) that reports the weights of the step before; the first step its own."""

    def unroll(self, embeddings: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        steps = super().unroll(embeddings, memory, state)
        assert steps.weights is not None
        return steps._replace(weights=torch.cat([steps.weights[:, :1], steps.weights[:, :-1]], dim=1))

    def step(self, embedding: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        assert isinstance(memory, Memory)
        steps, after = super().step(embedding, memory, state)
        assert steps.weights is not None
        before = self.attention(steps.before, memory).weights
        weights = torch.where(state.step.unsqueeze(-1) > 0, before, steps.weights)
        return steps._replace(weights=weights), after
