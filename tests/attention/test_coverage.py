"""Scores that see earlier weights, against their papers' equations as literal loops."""

import pytest
import torch
from torch import Tensor

from heedful.attention import Attention, Coverage, LocationSensitive
from heedful.attention.monotonic import Monotonic
from heedful.errors import RecipeError, SizeError

from .cases import A, B, Q, S, T, V, draw, normal, words_and_end


def close(actual, expected, tolerance=1e-12):
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


def literal(score, query: Tensor, h: Tensor, order: list[int]) -> Tensor:
    """One sentence, (T, Q) and (S, V) -> softmax weights (T, S); `order`: the columns as the sentence has them."""
    weights: list[Tensor] = []
    for s in query:
        rated = []
        for j in range(len(h)):
            x = score.query_projection.weight @ s + score.key_projection.weight @ h[j] + score.key_projection.bias
            if isinstance(score, Coverage):
                x = x + score.coverage_projection * sum((alpha[j] for alpha in weights), torch.zeros(()))
            else:
                last, total = (weights[-1:], weights)
                channels = {"last": [last], "sum": [total], "both": [last, total]}[score.weights]
                F, place = score.convolution.weight, order.index(j)
                f = torch.zeros(F.shape[0], dtype=x.dtype)
                for c, rows in enumerate(channels):
                    for k in range(F.shape[2]):
                        other = place + k - F.shape[2] // 2
                        if 0 <= other < len(order):
                            f = f + F[:, c, k] * sum((alpha[order[other]] for alpha in rows), torch.zeros(()))
                x = x + score.feature_projection.weight @ f
            rated.append(score.v @ torch.tanh(x))
        weights.append(torch.softmax(torch.stack(rated), dim=0))
    return torch.stack(weights)


KINDS = {
    "coverage": lambda: Coverage(Q, V, attention_size=A),
    **{
        f"{weights} {kernel}": lambda weights=weights, kernel=kernel: LocationSensitive(
            Q, V, attention_size=A, filters=2, kernel=kernel, weights=weights
        )
        for weights, kernel in (("last", 3), ("sum", 1), ("both", 5))
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_scores_are_those_of_the_papers(kind):
    """In value and gradient; the second sentence is padded, and its words are held from the last to the first."""
    attention = draw(Attention(KINDS[kind]()))
    mask, positions = words_and_end(S - 1, 3)
    positions[1, :3] = torch.tensor([3, 2, 1])
    query, values = normal(B, T, Q).requires_grad_(), normal(B, S, V).requires_grad_()
    weights = attention(query, attention.prepare(values, mask, positions)).weights
    wanted = torch.zeros_like(weights)
    wanted[0] = literal(attention.score, query[0], values[0], list(range(S)))
    wanted[1, :, :4] = literal(attention.score, query[1], values[1, :4], [2, 1, 0, 3])
    close(weights, wanted)
    leaves, shares = [query, values, *attention.parameters()], normal(B, T, S, seed=4)
    found, expected = (torch.autograd.grad((one * shares).sum(), leaves) for one in (weights, wanted))
    for one, other in zip(found, expected, strict=True):
        close(one, other)
        assert one.any()


@pytest.mark.parametrize("kind", KINDS)
def test_hypotheses_remember_apart(kind):
    """After a reordering, each has what its parent has seen."""
    attention = draw(Attention(KINDS[kind]()))
    memory, query = attention.prepare(normal(B, S, V)), normal(B, 3, Q)
    _, score, _ = attention(query[:, :1], memory, carry=attention.begin(memory)).carry
    first = (None, score.repeat_interleave(3, dim=1), None)
    _, many, _ = attention(query, memory, carry=first).carry
    for k in range(3):
        _, own, _ = attention(query[:, k : k + 1], memory, carry=(None, score, None)).carry
        close(many[:, k : k + 1], own)
    parents = [2, 0, 1]
    together = attention(query, memory, carry=(None, many[:, parents], None))
    for k, parent in enumerate(parents):
        alone = attention(query[:, k : k + 1], memory, carry=(None, many[:, parent : parent + 1], None))
        close(together.weights[:, k : k + 1], alone.weights)
    assert not torch.allclose(together.weights, attention(query, memory, carry=first).weights)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_summed_is_not_held_in_half_precision(kind):
    """There 256 and a weight of 0.5 would be 256 for ever."""
    attention = draw(Attention(KINDS[kind]())).bfloat16()
    memory = attention.prepare(normal(B, S, V, dtype=torch.bfloat16))
    _, score, _ = attention(normal(B, 1, Q, dtype=torch.bfloat16), memory, carry=attention.begin(memory)).carry
    assert score.dtype == attention.score.begin(memory).dtype == torch.float32


def test_a_walk_and_a_score_that_remembers_go_together():
    """Then the whole source is scored."""
    attention = draw(Attention(KINDS["both 5"](), normaliser=Monotonic(bias=1.0))).eval()
    weights = attention(normal(B, T, Q), attention.prepare(normal(B, S, V))).weights
    places = weights.argmax(-1)
    assert set(weights.unique().tolist()) == {0, 1}
    assert (places.diff(dim=1)[weights.sum(-1)[:, 1:] > 0] >= 0).all()


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"kernel": 4}, SizeError, "a kernel must be odd, so that it has a middle, got 4"),
        ({"kernel": 0}, SizeError, "kernel must be at least 1, got 0"),
        ({"filters": 0}, SizeError, "filters must be at least 1, got 0"),
        ({"weights": "first"}, RecipeError, "the 'last' step, their 'sum' over all, or 'both', got 'first'"),
    ],
)
def test_options_that_make_no_sense(options, error, said):
    with pytest.raises(error, match=said):
        LocationSensitive(Q, V, **options)
