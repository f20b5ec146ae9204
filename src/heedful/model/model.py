"""model = encoder + decoder; decoder = embedding + fusion(cell, attention) + readout."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn
from torch.nn import functional

from heedful.attention import Attention, Memory, MultiHead, TwoAttentions, Weights
from heedful.attention.normalisers import Normaliser
from heedful.data.batches import Batch, Sequences
from heedful.data.vocabulary import Vocabulary
from heedful.errors import RecipeError, SizeError
from heedful.model.encoder import Encoded, Encoder
from heedful.model.fusion import FixedVector, Fusion
from heedful.model.loss import Loss, cross_entropy, wide
from heedful.model.posterior import posterior
from heedful.model.readout import Output, Readout
from heedful.model.start import Start
from heedful.model.steps import State, Steps
from heedful.room import Whole

_NEVER = 1e-9
"""What counts as the weight of a position that has none, where its logarithm is asked for."""


class Decoder(nn.Module):
    """Embedding, fusion and readout, and where the first step starts.

    Args:
        embedding: of target symbols; a padding row stands for "no previous word" in the papers that start from zero.
        fusion: recurrent layers and attention.
        start: the layers' first states; None for a fusion without recurrent layers.
        readout: features of a step.
        output: logits from features.
        dropout: on embeddings and features.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        *,
        fusion: Fusion,
        start: Start | None,
        readout: Readout,
        output: Output,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.fusion = fusion
        self.start = start
        self.readout = readout
        self.output = output
        self.dropout = nn.Dropout(dropout)

    def begin(
        self, encoded: Encoded, second: Encoded | None = None, *, hypotheses: int = 0
    ) -> tuple[Memory | FixedVector, State]:
        """The memory and the state before the first step, K = 1.

        Args:
            hypotheses: K, for a search by `step`: where there are few target symbols, what its steps share is computed
                now, such as W E y of every symbol y. Its results are the same up to rounding. By default nothing is,
                and `unroll` wants it so.
        """
        memory = self.fusion.prepare(encoded)
        attention = getattr(self.fusion, "attention", None)
        if second is not None and isinstance(attention, TwoAttentions):
            memory = attention.beside(memory, second.values, second.mask, second.positions)  # pyright: ignore
        layers = () if self.start is None else self.start(self.started_from(encoded, second))
        state = self.fusion.initial(layers, memory)
        # All symbols are no more work than those of four steps, unless dropout changes them from step to step.
        few = self.embedding.num_embeddings <= 4 * hypotheses * encoded.mask.shape[0]
        if not few or self.training:
            return memory, state
        shares = self.fusion.shares(self.embedding.weight)
        memory, ahead = self.fusion.ahead(memory, shares, hypotheses=hypotheses)
        return memory, state._replace(ahead=ahead)

    def started_from(self, encoded: Encoded, second: Encoded | None) -> Encoded:
        """What the first state is made of: of two sources that are not both looked at, the one that is not."""
        looks_at_both = isinstance(getattr(self.fusion, "attention", None), TwoAttentions)
        return encoded if second is None or looks_at_both else second

    def unroll(self, tokens: Tensor, memory: Memory | FixedVector, state: State) -> Steps:
        """Teacher forcing: tokens (B, T) are y_0 .. y_{T-1}, y_0 the start symbol."""
        return self.fusion.unroll(self.dropout(self.embedding(tokens)), memory, state)

    def step(self, tokens: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Steps, State]:
        """One step of K hypotheses a sentence: tokens (B, K)."""
        share = None if state.ahead is None else functional.embedding(tokens, state.ahead.shares)
        return self.fusion.step(self.dropout(self.embedding(tokens)), memory, state, share)

    def logits(self, steps: Steps) -> Tensor:
        """(..., Y) before the softmax."""
        return self.output(self.dropout(self.readout(steps)))

    def loss(self, steps: Steps, wanted: Tensor, *, label_smoothing: float = 0.0) -> tuple[Tensor, Tensor]:
        """The cross-entropy of N steps (N, ...) with the tokens (N) that they should write: see `cross_entropy`."""
        features = self.output.projection(self.dropout(self.readout(steps)))
        return cross_entropy(features, self.output.weight, self.output.bias, wanted, label_smoothing=label_smoothing)


class Model(nn.Module):
    """A sequence-to-sequence model over one source, or over two.

    Args:
        encoder: reads the source.
        decoder: asks, and writes.
        second: reads the second source. The decoder looks at it if its attention is `TwoAttentions`; else its first
            state is made of it, so that it is what the source is asked with.
    """

    def __init__(self, encoder: Encoder, decoder: Decoder, *, second: Encoder | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.second = second

    @property
    def row_convention(self) -> str:
        """Which word a row of weights belongs to: "predicted" (y_t) or "input" (y_{t-1})."""
        return self.decoder.fusion.row_convention

    @property
    def attention(self) -> Attention | MultiHead | None:
        """What it looks at the source with, the first of two; None for a model that has a fixed vector."""
        return self.attentions[0] if self.attentions else None

    @property
    def attentions(self) -> tuple[Attention | MultiHead, ...]:
        """What it looks at each of its sources with."""
        own = getattr(self.decoder.fusion, "attention", None)
        return (own.first, own.second) if isinstance(own, TwoAttentions) else () if own is None else (own,)

    def with_normaliser(self, normaliser: Normaliser) -> Model:
        """This model, its weights, with another normaliser in (the first) attention, in every head; it stays as it is.

        Raises:
            RecipeError: the model has no attention.
        """
        self._needed_attention("normaliser")
        model = self._copy()
        model._needed_attention("normaliser").core.normaliser = normaliser
        return model

    def _copy(self) -> Model:
        """Copies the modules and shares what they hold."""
        return copy.deepcopy(self, {id(tensor): tensor for tensor in (*self.parameters(), *self.buffers())})

    def _needed_attention(self, what: str) -> Attention | MultiHead:
        if self.attention is None:
            raise RecipeError(f"the model has no attention (fusion 'none'), so its {what} cannot be changed")
        return self.attention

    @property
    def shortening(self) -> int:
        """How many source positions a column of the weights stands for: a front may make one of several."""
        return self.encoder.shortening

    @property
    def whole_weights(self) -> Whole:
        """Those that given targets make: one a head, or none where attention is `lean`."""
        across = 0 if self.attention is None or self.attention.lean else self.attention.heads
        return Whole(across, self.encoder.own_weights, self.decoder.fusion.own_weights)

    @property
    def has_attention(self) -> bool:
        """Whether there are weights to look at."""
        return self.attention is not None

    def at_attention_temperature(self, temperature: float) -> Model:
        """This model with another temperature in its attention; it is left as it is.

        Raises:
            RecipeError: the model has no attention.
        """
        self._needed_attention("temperature")
        model = self._copy()
        for attention in model.attentions:
            attention.core.normaliser = attention.normaliser.at(temperature)
        return model

    def encode(self, source: Sequences) -> Encoded:
        """The source states of a batch."""
        segments = (source.segments,) if self.encoder.segmented else ()
        encoded: Encoded = self.encoder(source.tokens, source.mask, source.positions, *segments)
        return encoded._replace(segments=source.segments)

    def encode_second(self, second: Sequences | None) -> Encoded | None:
        """Those of its second sources; None for a model of one source.

        Raises:
            SizeError: the model reads two sources and gets one, or the other way round.
        """
        if (self.second is None) != (second is None):
            wanted, got = ("one source", "two") if self.second is None else ("two sources", "one")
            raise SizeError(f"the model reads {wanted}, got {got}")
        read = self.second
        return None if read is None or second is None else read(second.tokens, second.mask, second.positions)

    def begin(
        self, source: Sequences, second: Sequences | None = None, *, hypotheses: int = 0
    ) -> tuple[Memory | FixedVector, State]:
        """Memory and first state; a search says over how many `hypotheses` it is: see `Decoder.begin`."""
        return self.decoder.begin(self.encode(source), self.encode_second(second), hypotheses=hypotheses)

    def started_from(self, source: Sequences, second: Sequences | None = None) -> Encoded:
        """What the decoder's first state is made of."""
        return self.decoder.started_from(self.encode(source), self.encode_second(second))

    def step(self, tokens: Tensor, memory: Memory | FixedVector, state: State) -> tuple[Tensor, Weights | None, State]:
        """Search's step: tokens (B, K) -> log-probabilities (B, K, Y), weights (B, K, S) or None, and state.

        Where it looks at two sources, the columns of the second stand behind those of the first, here and elsewhere.
        """
        steps, state = self.decoder.step(tokens, memory, state)
        return torch.log_softmax(wide(self.decoder.logits(steps)), dim=-1), steps.weighting, state

    def distributions(self, batch: Batch, *, with_weights: bool = True) -> tuple[Tensor, Tensor | None]:
        """Forced decoding: log-probabilities (B, T, Y) at each step of the given targets, and weights (B, T, S), if
        they are wanted."""
        assert batch.target is not None
        steps = self._unroll(batch, _inputs(batch.target))
        weights = steps.weights if with_weights else None
        return torch.log_softmax(wide(self.decoder.logits(steps)), dim=-1), weights

    def force(self, batch: Batch, *, with_weights: bool = True) -> tuple[Tensor, Tensor | None]:
        """Forced decoding: log-probabilities of the given target tokens (B, T), 0 behind the end; weights as there."""
        logs, weights = self.distributions(batch, with_weights=with_weights)
        return of_target(logs, batch), weights

    def posterior(self, batch: Batch) -> Tensor:
        """Where each of the given target words came from, now that it is known, (B, T, S): see `posterior`.

        Raises:
            RecipeError: the model has no attention.
        """
        assert batch.target is not None
        return posterior(self, batch, _inputs(batch.target))

    def forward(
        self, batch: Batch, *, label_smoothing: float = 0.0, own_words: float = 0.0, guided_attention: float = 0.0
    ) -> Loss:
        """The training loss under teacher forcing, on real tokens only.

        Args:
            batch: sources and targets; a target ends in the end symbol.
            label_smoothing: share of the probability that is spread evenly over what can be written: all symbols but
                padding and the start symbol.
            own_words: scheduled sampling in two passes (Mihaylova and Martins 2019): each input word is, with this
                probability, the one that a first, teacher-forced pass predicted in its place.
            guided_attention: how much the cross-entropy of the attention weights counts, with the batch's guide as the
                truth, summed over the rows that it tells of (Chen et al. 2016, "Guided alignment training for
                topic-aware neural machine translation"). Without a guide it is of no effect; nor is a link to a
                position that has no weight at all, as a sparse normaliser or a local scope leaves some.
        """
        assert batch.target is not None
        inputs = _inputs(batch.target)
        if own_words > 0:
            inputs = self._mix(batch, inputs, own_words)
        steps = self._unroll(batch, inputs)
        mask = batch.target.mask
        wanted = batch.target.tokens[mask]
        total, plain = self.decoder.loss(steps.select(mask), wanted, label_smoothing=label_smoothing)
        if guided_attention > 0 and batch.guide is not None and (weights := steps.weights) is not None:
            logs = wide(weights[..., : batch.guide.shape[-1]]).clamp(min=_NEVER).log()
            total = total - guided_attention * (batch.guide * logs).sum()
        return Loss(total, plain, mask.sum())

    def _unroll(self, batch: Batch, inputs: Tensor) -> Steps:
        memory, state = self.begin(*batch.sources)
        return self.decoder.unroll(inputs, memory, state)

    @torch.no_grad()
    def _mix(self, batch: Batch, inputs: Tensor, own_words: float) -> Tensor:
        predicted = self.decoder.logits(self._unroll(batch, inputs)).argmax(-1)  # (B, T), for y_1 .. y_T
        own = torch.rand(inputs.shape, device=inputs.device) < own_words
        shifted = torch.cat([inputs[:, :1], predicted[:, :-1]], dim=1)
        # A decoder never reads padding, the start symbol again, or the end symbol.
        own = own & (shifted > Vocabulary.END)
        return torch.where(own, shifted, inputs)


def of_target(logs: Tensor, batch: Batch) -> Tensor:
    """Of log-probabilities (B, T, Y) those of the batch's target tokens, (B, T), 0 behind the end."""
    assert batch.target is not None
    return logs.gather(2, batch.target.tokens.unsqueeze(-1)).squeeze(-1) * batch.target.mask


def _inputs(target: Sequences) -> Tensor:
    """y_1 .. y_T -> y_0 .. y_{T-1}, y_0 the start symbol."""
    return torch.cat([torch.full_like(target.tokens[:, :1], Vocabulary.START), target.tokens[:, :-1]], dim=1)
