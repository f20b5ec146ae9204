"""The scope of segments: which segment, and which of its words."""

from __future__ import annotations

import torch
from torch import Tensor

from heedful.attention.memory import Groups, Memory, Segments, Window
from heedful.attention.scopes import Scope, scopes
from heedful.attention.scores import scores
from heedful.attention.segments import columns_of, means
from heedful.errors import RecipeError


@scopes.register("hierarchical")
class Hierarchical(Scope):
    """alpha_tj = beta_tg alpha_t(j|g): the weight of the segment g, and within it that of its word j.

    beta_t = normalise(score(s_t, u_g)), u_g = mean of the states h_j of the words in g (in heads, of W_k h_j);
    alpha_t(.|g) = normalise(e_tj), j in g, of the attention's own score. Both levels have its normaliser, at its
    temperature. Rows sum to 1, and a segment's words to beta_tg. What has no segment, tags and the end symbol, is a
    segment of its own.

    The two levels are those of Yang et al. 2016, "Hierarchical attention networks for document classification",
    section 2.2. Differs from the paper in that a decoder's state asks, at both levels and at every step, where the
    paper has two learned vectors that ask once; in that words' states, not the sentences', are what is summed up, so
    that the words' weights are the whole answer; and in that u_g is a mean, not an attention's context.

    All words are scored at each step, and all segments: O(T (S + G)), a little above the global scope.

    Args:
        query_size: Q.
        value_size: V.
        score: of segments: the name of a registered score, with parameters of its own.

    Raises:
        RecipeError: that score goes by positions or remembers earlier steps.
        SizeError: it does not take queries and values of these sizes.
    """

    content_based = False  # what segment a word is in goes by its place
    segmented = True

    def __init__(self, query_size: int, value_size: int, *, score: str = "general") -> None:
        super().__init__()
        self.score = scores.build(score, {}, {"query_size": query_size, "value_size": value_size})
        if self.score.sequential or not self.score.content_based:
            raise RecipeError(
                f"scope 'hierarchical' and score {score!r} of segments do not go together: segments are compared by "
                "what they hold, and the score goes by positions or earlier steps; 'general' does not"
            )

    def cut(self, memory: Memory, numbers: Tensor, compared: Tensor) -> Memory:
        states = means(compared, numbers)  # u_g
        places = torch.arange(1, states.shape[1] + 1, device=numbers.device).expand(states.shape[:2])
        counts = numbers.amax(1)
        mask = places <= counts.unsqueeze(1)
        segments = Memory(states, self.score.keys(states), mask, places * mask, counts)
        return memory._replace(segments=Segments(segments, columns_of(numbers)))

    def forward(self, query: Tensor, memory: Memory, steps: Tensor) -> Window:
        assert memory.segments is not None
        rated = self.score(self.score.queries(query), memory.segments.memory)
        return Window(memory.mask[:, None, :], groups=Groups(rated, memory.segments.columns))
