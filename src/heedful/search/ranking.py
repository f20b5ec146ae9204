"""Which of two answers is better."""

from __future__ import annotations

from typing import Literal, NamedTuple

from torch import Tensor

from heedful.errors import RecipeError
from heedful.tensors import precise

COVERAGE_FLOOR = 1e-9
"""What a source position that was never looked at counts for, since log 0 would outweigh everything."""


class Ranking(NamedTuple):
    """score(Y) = log P(Y) / lp(|Y|) + cp(X, Y), in nats; |Y| counts the end symbol.

    lp is |Y| ** alpha (``"power"``; alpha 1 is the mean), or ((5 + |Y|) / 6) ** alpha (``"gnmt"``); alpha 0 is none.
    cp is beta * sum_i log min(sum_t a_ti, 1): each source position i should be looked at once in all.
    Both as in Wu et al. 2016 (GNMT), section 7.
    """

    length_penalty: float = 1.0  # alpha
    length_normalisation: Literal["power", "gnmt"] = "power"
    coverage_penalty: float = 0.0  # beta
    words: Tensor | None = None  # (B, S) bool: the positions i; needed where beta is not 0. Any behind do not count

    def check(self) -> None:
        """Refuse what early stopping could not be right with.

        Raises:
            RecipeError: a penalty is negative or no number.
        """
        if not (self.length_penalty >= 0 and self.coverage_penalty >= 0):
            raise RecipeError(f"penalties must be 0 or more, got {self.length_penalty} and {self.coverage_penalty}")

    def score(self, totals: Tensor, lengths: Tensor, coverage: Tensor | None, words: Tensor | None) -> Tensor:
        """Scores (N) of log-probabilities (N), lengths (N), attention summed over steps (N, S) and positions (N, S)."""
        scores = totals / self.divisor(lengths)
        if self.coverage_penalty:
            if coverage is None or words is None:
                raise RecipeError("coverage needs attention weights, and words that are to be covered")
            missed = coverage[..., : words.shape[-1]].to(totals.dtype).clamp(COVERAGE_FLOOR, 1).log()
            scores = scores + self.coverage_penalty * (missed * words).sum(-1)
        return scores

    def bound(self, totals: Tensor, max_lengths: Tensor) -> Tensor:
        """The most that an open hypothesis can still score: log P only falls, lp only grows, cp is at most 0."""
        return totals / self.divisor(max_lengths)

    def divisor(self, lengths: Tensor) -> Tensor:
        """lp(|Y|)."""
        lengths = lengths.to(precise(lengths.device)).clamp(min=1)
        return ((5 + lengths) / 6 if self.length_normalisation == "gnmt" else lengths) ** self.length_penalty
