"""Which answers are allowed."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from heedful.data.vocabulary import Vocabulary


class Rules(NamedTuple):
    """What the answers to B sentences may look like. Lengths are in symbols, the end symbol counted.

    A hypothesis that the rules leave no way to go on is cut where it stands.
    """

    max_lengths: Tensor  # (B) int64, at least 1
    min_lengths: Tensor | None = None  # (B) int64; the end symbol may not come earlier
    banned: tuple[int, ...] = ()  # symbols that are never written, beside padding and the start symbol
    no_repeat_ngram: int = 0  # no sequence of so many symbols comes twice in an answer; 0 = no such rule
    prefix: Tensor | None = None  # (B, P) int64, PAD behind each; answers begin so, against all other rules

    @classmethod
    def up_to(cls, *lengths: int) -> Rules:
        """At most so many symbols, one number for each sentence."""
        return cls(torch.tensor(lengths))

    def forbid(self, logs: Tensor, time: int, history: Tensor | None) -> Tensor:
        """`logs` (B, K, Y) with -inf for each symbol that may not come at `time`, counted from 0.

        `history` (B, K, time) are the symbols so far; it is only looked at by the rule against repetition.
        """
        never = torch.tensor([Vocabulary.PAD, Vocabulary.START, *self.banned], device=logs.device)
        allowed = logs.index_fill(-1, never, -torch.inf)
        if self.min_lengths is not None:
            allowed[..., Vocabulary.END].masked_fill_((self.min_lengths > time + 1)[:, None], -torch.inf)
        if self.no_repeat_ngram and history is not None and time >= self.no_repeat_ngram:
            _forbid_repetition(allowed, history, self.no_repeat_ngram)
        if self.prefix is not None and time < self.prefix.shape[1]:
            wanted = self.prefix[:, time]  # (B)
            forced = (wanted != Vocabulary.PAD)[:, None, None]
            only = torch.arange(logs.shape[-1], device=logs.device) == wanted[:, None, None]
            allowed = torch.where(forced, logs.masked_fill(~only, -torch.inf), allowed)
        return allowed


def _forbid_repetition(allowed: Tensor, history: Tensor, size: int) -> None:
    """-inf, in place, for what followed the last ``size - 1`` symbols when they came before."""
    ngrams = history.unfold(-1, size, 1)  # (B, K, N, size)
    again = (ngrams[..., :-1] == history[..., None, history.shape[-1] - size + 1 :]).all(-1)  # (B, K, N)
    values = torch.where(again, -torch.inf, torch.inf).to(allowed.dtype)
    allowed.scatter_reduce_(-1, ngrams[..., -1], values, "amin")
