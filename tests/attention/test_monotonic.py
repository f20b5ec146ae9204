"""Monotonic attention against the papers' recurrences as literal loops, numbers worked out by hand, and itself."""

import math

import pytest
import torch
from torch import Tensor

from heedful.attention import Additive, Attention, Monotonic
from heedful.attention.interventions import Observed, Shuffled
from heedful.errors import RecipeError, SizeError
from heedful.testing import check_normaliser

from .cases import B, Q, S, T, V, draw, make, normal, words_and_end

STOP, GO = 3.0, -3.0


def close(actual, expected, tolerance=1e-12):
    torch.testing.assert_close(actual, expected, rtol=0, atol=tolerance)


def rows(normaliser: Monotonic, scores: Tensor, mask: Tensor, positions: Tensor | None = None) -> Tensor:
    """Step after step: scores (B, T, S), mask (B, S) -> weights (B, T, S)."""
    memory = make("general", normaliser="monotonic").prepare(normal(*mask.shape, V), mask, positions)
    carry, found = normaliser.begin(memory), []
    for step in scores.split(1, dim=1):
        weights, carry = normaliser(step, mask[:, None, :], memory, carry)
        found.append(weights)
    return torch.cat(found, dim=1)


def all_of(scores: Tensor) -> Tensor:
    return torch.ones(scores.shape[0], scores.shape[2], dtype=torch.bool)


def literal(scores: Tensor, r: float, w: int = 1) -> Tensor:
    """One sentence (T, S): Raffel et al. 2017, equations 8 and 9; Chiu and Raffel 2018, 10 to 13, of one score."""
    before, found = [1.0] + [0.0] * (scores.shape[1] - 1), []
    for e in scores:
        p, q, alpha = torch.sigmoid(e + r), [], []
        for j in range(len(e)):
            q.append(before[j] + ((1 - p[j - 1]) * q[j - 1] if j else 0.0))
            alpha.append(p[j] * q[j])
        beta = []
        for j in range(len(e)):
            stops = range(j, min(j + w, len(e)))
            beta.append(sum(alpha[k] * e[j].exp() / e[max(0, k - w + 1) : k + 1].exp().sum() for k in stops))
        found.append(torch.stack(beta))
        before = alpha
    return torch.stack(found)


@pytest.mark.parametrize("chunk", [1, 2, 5, 13])
def test_expected_weights_are_those_of_the_papers_loops(chunk):
    """In value and gradient, for a sentence that is padded and one that is not."""
    mask = torch.arange(S) < torch.tensor([[S], [4]])
    scores = normal(B, T, S).requires_grad_()
    normaliser = draw(Monotonic(chunk=chunk, soft=True)).eval()
    found = rows(normaliser, scores, mask)
    r = normaliser.bias.detach()
    wanted = torch.stack(
        [literal(scores[0], r, chunk), torch.nn.functional.pad(literal(scores[1, :, :4], r, chunk), (0, 7))]
    )
    close(found, wanted)
    shares = normal(B, T, S, seed=4)
    for one, other in zip(
        torch.autograd.grad((found * shares).sum(), [scores, normaliser.bias]),
        [torch.autograd.grad((wanted * shares).sum(), scores)[0], None],
        strict=True,
    ):
        assert one.isfinite().all()
        if other is not None:
            close(one, other)
    assert (found.sum(-1) <= 1 + 1e-12).all()
    assert (found.sum(-1) < 0.99).any()  # what went past the end


def test_two_steps_by_hand():
    scores = torch.tensor([[[0.0, math.log(3)], [0.0, 0.0]]], dtype=torch.float64)  # p = 1/2, 3/4; then 1/2, 1/2
    weights = rows(Monotonic(bias=0.0, soft=True).double().eval(), scores, all_of(scores))
    close(weights, torch.tensor([[[1 / 2, 3 / 8], [1 / 4, (1 / 4 + 3 / 8) / 2]]], dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_probabilities_of_0_and_1_divide_nothing(dtype):
    """Where the paper's closed form would be 0 / 0: the expected weights are those of the walk."""
    scores = 1e4 * torch.where(normal(B, T, 301) > 1.5, 1.0, -1.0).to(dtype).requires_grad_()
    soft = rows(Monotonic(soft=True).to(dtype).eval(), scores, all_of(scores))
    assert soft.equal(rows(Monotonic().to(dtype).eval(), scores, all_of(scores)))
    (gradient,) = torch.autograd.grad((soft * normal(*soft.shape, seed=2, dtype=dtype)).sum(), scores)
    assert gradient.isfinite().all()


# ---------------------------------------------------------------------------------------------- the walk


def test_the_walk_by_hand():
    """It may stay, never goes back, and where it has found no stop it has ended."""
    kinds = [[GO, STOP, GO, STOP], [STOP, STOP, GO, GO], [STOP, GO, GO, STOP], [STOP, STOP, STOP, GO], [STOP] * 4]
    scores = torch.tensor([kinds])
    weights = rows(Monotonic(bias=0.0).eval(), scores, all_of(scores))
    assert weights[0].nonzero().tolist() == [[0, 1], [1, 1], [2, 3]]
    assert weights[0, :3].sum(-1).tolist() == [1, 1, 1]


def test_the_bias_decides():
    scores = torch.tensor([[[1.5, 2.5]]])
    assert rows(Monotonic(bias=-2.0).eval(), scores, all_of(scores)).tolist() == [[[0, 1]]]
    assert rows(Monotonic(bias=-1.0).eval(), scores, all_of(scores)).tolist() == [[[1, 0]]]


def test_the_order_is_that_of_the_sentence_and_what_has_no_place_comes_last():
    """A tag, three words read from the last to the first, the end symbol."""
    positions, mask = torch.tensor([[0, 3, 2, 1, 0]]), torch.ones(1, 5, dtype=torch.bool)
    scores = torch.full((1, 7, 5), STOP)
    for step, column in enumerate((3, 2, 1, 0, 4)):
        scores[0, step + 1 :, column] = GO
    weights = rows(Monotonic(bias=0.0).eval(), scores, mask, positions)
    assert weights[0].nonzero().tolist() == [[0, 3], [1, 2], [2, 1], [3, 0], [4, 4]]


def test_a_chunk_by_hand():
    scores = torch.tensor([[[GO, math.log(3) - 9, -9.0, STOP, STOP]]], dtype=torch.float64)
    scores[0, 0, 3] = math.log(6)
    weights = rows(Monotonic(bias=0.0, chunk=2).double().eval(), scores, all_of(scores))
    lower, upper = math.exp(-9), 6
    close(weights[0, 0], torch.tensor([0, 0, lower, upper, 0], dtype=torch.float64) / (lower + upper))


@pytest.mark.parametrize("scope", ["global", "local_m", "local_p"])
@pytest.mark.parametrize("chunk", [1, 2, 5, 13])
def test_what_is_walked_is_what_is_computed_over_the_whole_source(scope, chunk):
    attention = make("additive", scope, "monotonic").eval()
    attention.normaliser.chunk = chunk
    mask, positions = words_and_end(S - 1, 3)
    memory, query = attention.prepare(normal(B, S, V), mask, positions), normal(B, T, Q)
    walked = attention(query, memory)
    told = []
    attention.normaliser = Observed(attention.normaliser, lambda *parts: told.append(parts[-1]))
    whole = attention(query, memory)
    assert len(told) == T
    close(walked.weights, whole.weights)
    close(walked.context, whole.context)
    assert whole.weights.any()


@pytest.mark.parametrize("chunk", [1, 3])
def test_no_more_scores_than_source_and_target_are_long(chunk):
    """In a batch too, where others go on: S + T of a sentence, and w more of each step that looks back."""
    attention = Attention(Additive(Q, V), normaliser=Monotonic(bias=0.1, chunk=chunk)).double().eval()
    mask, positions = words_and_end(40, 23)
    memory, query = attention.prepare(normal(B, 41, V), mask, positions), normal(B, 17, Q)
    count = []
    attention.score.register_forward_hook(lambda module, given, scores: count.append(scores.numel()))
    weights = attention(query, memory).weights
    most = mask.sum() + B * 17
    assert 0 < sum(count) <= most + (B * 17 * chunk if chunk > 1 else 0) < mask.sum() * 17
    assert weights.any()


def test_hypotheses_walk_apart():
    attention = make("additive", normaliser="monotonic").eval()
    memory, query = attention.prepare(normal(B, S, V)), normal(B, 3, Q)
    carry = (None, None, torch.tensor([[0, 5, S], [10, 2, 1]]))
    together = attention(query, memory, carry=carry)
    for k in range(3):
        alone = attention(query[:, k : k + 1], memory, carry=(None, None, carry[2][:, k : k + 1]))
        close(together.weights[:, k : k + 1], alone.weights)
        close(together.carry[2][:, k : k + 1], alone.carry[2])
    assert not together.weights[0, 2].any()
    stopped = together.weights.sum(-1) > 0
    assert together.carry[2][stopped].equal(together.weights.argmax(-1)[stopped])
    assert stopped.any()


# ---------------------------------------------------------------------------------------------- training


def test_noise_is_for_training_and_of_its_deviation():
    scores = torch.zeros(1, 1, 1).expand(4001, 1, 1)
    normaliser = Monotonic(bias=0.0, noise=2.0, soft=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        weights = rows(normaliser.train(), scores, all_of(scores))
    assert torch.logit(weights).std().item() == pytest.approx(2.0, abs=0.1)
    assert torch.logit(weights).mean().item() == pytest.approx(0.0, abs=0.1)
    close(rows(normaliser.eval(), scores, all_of(scores)), torch.full((4001, 1, 1), 0.5))


def test_a_temperature_leaves_the_stops_where_they_are():
    scores = normal(B, T, S)
    plain, hot = (Monotonic(bias=0.5, temperature=heat).double().eval() for heat in (1.0, 9.0))
    assert rows(plain, scores, all_of(scores)).equal(rows(hot, scores, all_of(scores)))
    soft = rows(Monotonic(bias=0.5, soft=True).double().eval().at(2.0), scores, all_of(scores))
    close(soft, rows(Monotonic(bias=0.25, soft=True).double().eval(), scores / 2, all_of(scores)))


@pytest.mark.parametrize("options", [{"soft": True}, {"chunk": 3}, {"soft": True, "chunk": 2}])
def test_every_form_keeps_the_rules(options):
    check_normaliser("monotonic", options={"noise": 0.0, **options})


def test_others_weights_go_beside_ones_own_walk():
    """Shuffled: sentences change their rows, each walks on from where it was itself."""
    attention = make("additive", normaliser="monotonic").eval()
    memory, query = attention.prepare(normal(B, S, V)), normal(B, T, Q)
    own = attention(query, memory)
    attention.normaliser = Shuffled(attention.normaliser)
    other = attention(query, memory)
    close(other.weights, own.weights[[1, 0]])
    assert other.carry[2].equal(own.carry[2])


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"noise": -1.0}, RecipeError, "takes a bias and, from 0, the deviation of noise, got -2.0 and -1.0"),
        ({"bias": math.nan}, RecipeError, "got nan and 1.0"),
        ({"chunk": 0}, SizeError, "chunk must be at least 1, got 0"),
    ],
)
def test_options_that_make_no_sense(options, error, said):
    with pytest.raises(error, match=said):
        Monotonic(**options)
