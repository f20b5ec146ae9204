"""Windows that are looked at by themselves, against the same windows as masks over the whole source."""

import sys
import threading
import time
import weakref

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from heedful.attention import Block, LocalM, LocalP, Scope, Strided, Truncated, Windowed, dense, scopes
from heedful.attention import rows as rows_module
from heedful.attention.interventions import Observed, Uniform
from heedful.attention.rows import Rows

from .cases import B, Q, S, T, make, normal, value_size, words_and_end

WINDOWS = [name for name in scopes.names() if scopes[name].windowed]
LAST_PEAK = "window around the last peak"
SCORES = ["dot", "general", "additive", "location"]
EXACT = 1e-12


class Masked(Scope):
    """The oracle: a scope's windows as masks and priors over the whole source."""

    content_based = False

    def __init__(self, scope):
        super().__init__()
        self.scope = scope
        self.sequential = scope.sequential
        self.begin, self.remember = scope.begin, scope.remember

    def forward(self, query, memory, *rest):
        window = self.scope(query, memory._replace(places=None), *rest)
        assert window.columns is None
        return window


def asked(attention, query, values, mask, positions, *, loop: bool):
    """Context, weights and all gradients."""
    leaves = [query, values, *attention.parameters()]
    memory = attention.prepare(values, mask, positions)
    if loop:
        ask, carry, answers = attention.asked(memory, steps=T), attention.begin(memory), []
        for t in range(T):
            answers.append(ask(query[:, t : t + 1], steps=torch.tensor([[t]]), carry=carry))
            carry = answers[-1].carry
    else:
        answers = [attention(query, memory)]
    found = [torch.cat([getattr(one, part) for one in answers], dim=1) for part in ("context", "weights")]
    total = sum((part * normal(*part.shape, seed=9)).sum() for part in found)
    gradients = torch.autograd.grad(total, leaves, allow_unused=True, materialize_grads=True)
    return answers, [*found, *gradients]


def example(score):
    """Tags in front, read from last to first, an end symbol: no column is its word's place."""
    mask, positions = words_and_end(10, 4)
    order = torch.tensor([10, 3, 9, 1, 0, 7, 2, 8, 5, 4, 6])
    values = normal(B, S, value_size(score), seed=2).requires_grad_()
    return normal(B, T, Q).requires_grad_(), values, mask[:, order], positions[:, order]


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("scope", [*WINDOWS, LAST_PEAK])
@pytest.mark.parametrize("blocks", [False, True])
def test_windows_are_masks(score, scope, loop, blocks, monkeypatch):
    """In value and gradient, all steps at once, in blocks, or in a loop."""
    if blocks:
        monkeypatch.setattr(sys.modules["heedful.attention.attention"], "BLOCK", 100)
    attention = make(score, "local_m" if scope == LAST_PEAK else scope)
    if scope == LAST_PEAK:
        attention.scope = Truncated(width=1, around="last_peak")
    given = example(score)
    answers, found = asked(attention, *given, loop=loop)
    assert all(isinstance(answer.weighting, Windowed) for answer in answers)
    attention.scope = Masked(attention.scope)
    _, wanted = asked(attention, *given, loop=loop)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=EXACT)


@pytest.mark.parametrize(
    ("scope", "seen"),
    [
        (LocalM(window=2), 5),
        (LocalP(Q, window=2), 5),
        (Truncated(width=2), 5),
        (Truncated(width=2, around="last_peak"), 5),
        (Block(width=3, neighbours=1), 9),
        (Strided(width=2, stride=10), 5 + 4),
    ],
)
def test_nothing_outside_a_window_is_computed(scope, seen, monkeypatch):
    """The score sees as many positions as windows have, forward; of a source that is not much longer, all."""
    attention, counts = make("general"), []
    attention.scope = scope.double()
    attention.score.register_forward_hook(lambda score, given, scores: counts.append(scores.numel()))
    mask, positions = words_and_end(40, 23)
    query, values = normal(B, T, Q), normal(B, 41, 3, seed=2)
    attention(query, attention.prepare(values, mask, positions))
    assert sum(counts) == B * T * seen
    counts.clear()
    monkeypatch.setattr(sys.modules["heedful.attention.scopes"], "CROSSING", 41 / seen)
    attention(query, attention.prepare(values, mask, positions))
    assert sum(counts) == B * T * 41


def test_weights_put_in_from_elsewhere_need_whole_rows():
    seen = []
    attention = make("general", "local_m")
    plain = attention(*(lambda query, *rest: (query, attention.prepare(*rest)))(*example("general")))
    attention.normaliser = Observed(attention.normaliser, lambda scores, mask, weights: seen.append(weights))
    query, *rest = example("general")
    answer = attention(query, attention.prepare(*rest))
    assert seen[0].shape == (B, T, S)
    torch.testing.assert_close(answer.weights, plain.weights, rtol=0, atol=EXACT)
    attention.normaliser = Uniform()
    assert isinstance(attention(query, attention.prepare(*rest)).weighting, Windowed)


def test_weights_are_joined_along_the_steps():
    weights = [Windowed(torch.tensor([[[step, 3]]]), torch.tensor([[[0.25, 0.5]]]), 5) for step in (0, 2)]
    assert dense(weights[0].join(weights[1:])).tolist() == [[[0.25, 0, 0, 0.5, 0], [0, 0, 0.25, 0.5, 0]]]


# ---------------------------------------------------------------------------------------------- rows


def test_rows_have_the_gradients_of_plain_indexing():
    """In one take or several, gone through again and in part."""
    table = normal(2, 5, 3).requires_grad_()
    windows = [torch.tensor([[[0, 1, 1]], [[4, 3, 2]]]), torch.tensor([[[2, 1, 0]], [[4, 4, 4]]])]
    shares = [normal(2, 3, 3, seed=seed) for seed in (7, 8)]
    rows = Rows(table)
    taken = [(rows(window).rows[0] * share).sum() for window, share in zip(windows, shares, strict=True)]
    plain = [
        (torch.stack([table[b, window[b, 0]] for b in range(2)]) * share).sum()
        for window, share in zip(windows, shares, strict=True)
    ]
    for pick in ([0], [1], [0, 1], [0, 1]):
        found, wanted = (
            torch.autograd.grad(sum(each[place] for place in pick), table, retain_graph=True)[0]
            for each in (taken, plain)
        )
        torch.testing.assert_close(found, wanted, rtol=0, atol=EXACT)


def test_rows_twice_differentiated_are_refused():
    table = nn.Parameter(normal(1, 4, 2))
    (rows,) = Rows(table)(torch.tensor([[[0, 3]]])).rows
    with pytest.raises(RuntimeError, match="differentiated twice"):
        torch.autograd.grad(rows.square().sum(), table, create_graph=True)


def test_rows_are_written_over_when_nobody_has_them():
    table, columns = normal(B, S, 3), torch.randint(S, (B, T, 2))
    rows, seen = Rows(table.requires_grad_()), set()
    for _ in range(5):
        taken = rows(columns)
        seen.add(taken.rows[0].untyped_storage().data_ptr())
        del taken
    assert len(seen) == 1
    kept = [rows(columns + 0).rows[0] for _ in range(3)]
    assert len({each.untyped_storage().data_ptr() for each in kept}) == 3


@pytest.mark.parametrize("needed", [True, False])
def test_rows_that_somebody_has_stay(needed):
    """Kept for a backward pass, in a view, or by whoever computes with them once more in it."""
    table, weight = normal(B, S, 3).requires_grad_(needed), normal(3).requires_grad_()
    windows = [torch.randint(S, (B, T, 2)) for _ in range(4)]
    rows = Rows(table)
    ways = [
        lambda part: (part * weight).sum(),
        lambda part: checkpoint(lambda factor: (part * factor).sum(), weight, use_reentrant=False),
        lambda part: (part.mT[:, :1] * weight[0]).sum(),
        lambda part: (part * weight).square().sum(),
    ]
    found = sum(way(rows(window).rows[0]) for way, window in zip(ways, windows, strict=True))
    flat = table.flatten(0, 1)
    plain = [flat[(window + torch.arange(B)[:, None, None] * S).flatten()].view(B * T, 2, 3) for window in windows]
    expected = sum(way(part) for way, part in zip(ways, plain, strict=True))
    leaves = [weight, *([table] if needed else [])]
    for one, other in zip(torch.autograd.grad(found, leaves), torch.autograd.grad(expected, leaves), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=EXACT)


@pytest.mark.parametrize("needed", [True, False])
def test_rows_are_taken_with_gradients_and_without(needed):
    table, columns = normal(B, S, 3).requires_grad_(needed), torch.randint(S, (B, T, 2))
    expected = Rows(table)(columns).rows[0]
    for made in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        with made():
            rows = Rows(table)
        for mode in (torch.inference_mode, torch.no_grad, torch.inference_mode, torch.enable_grad):
            if made is torch.inference_mode and mode is torch.enable_grad:
                continue  # its tensors cannot be differentiated
            with mode():
                assert rows(columns).rows[0].equal(expected)
        if needed and made is torch.enable_grad:
            torch.autograd.grad(rows(columns).rows[0].sum(), table)


def test_rows_are_not_kept_for_the_backward_pass():
    tables = [nn.Parameter(normal(2, 5, size)) for size in (3, 2)]
    taken = Rows(*tables)(torch.tensor([[[0, 1]], [[4, 3]]]))
    with taken.once_more():
        squares = [rows.mT.square() for rows in taken.rows]
    for square, rows in zip(squares, taken.rows, strict=True):
        kept = square.grad_fn._saved_self
        assert kept.equal(rows.mT)
        assert kept.data_ptr() != rows.data_ptr()


def test_rows_taken_once_more_are_written_over_when_nobody_has_them():
    table, columns = normal(2, 5, 3).requires_grad_(), torch.tensor([[[0, 1]], [[4, 3]]])
    taken = Rows(table)(columns)
    with taken.once_more():
        square = taken.rows[0].square()
    del taken
    with torch.no_grad():  # as in a backward pass
        kept = square.grad_fn._saved_self
        first = kept.data_ptr()
        other = square.grad_fn._saved_self
        assert other.equal(kept)
        assert other.data_ptr() != first
        second = other.data_ptr()
        del other
        free = torch.empty_like(kept)  # where those would be, if their place had been given back
        assert free.data_ptr() != second
        assert square.grad_fn._saved_self.data_ptr() == second


def test_rows_of_two_threads_have_rooms_of_their_own(monkeypatch):
    """Which go backwards through one graph: one thread at a time looks for room."""
    table, columns = normal(2, 5, 3).requires_grad_(), torch.tensor([[[0, 1]], [[4, 3]]])
    taken = Rows(table)(columns)
    with taken.once_more():
        square = taken.rows[0].square()
    found, rooms, looking, free = {}, [], [], rows_module._free

    def slowly(room):
        looking.append(1)
        assert len(looking) == 1
        time.sleep(0.05)
        looking.pop()
        return free(room)

    def take(name):
        with torch.no_grad():
            rooms.append(square.grad_fn._saved_self)  # a room that is free again
            rooms.clear()
            found[name] = square.grad_fn._saved_self

    monkeypatch.setattr(rows_module, "_free", slowly)
    threads = [threading.Thread(target=take, args=(name,)) for name in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({each.data_ptr() for each in found.values()}) == 2


def test_room_of_rows_is_given_back_while_a_graph_can_still_take_them():
    table, columns = normal(2, 5, 3).requires_grad_(), torch.tensor([[[0, 1]], [[4, 3]]])
    rows = Rows(table)
    taken = rows(columns)
    with taken.once_more():
        square = taken.rows[0].square()
    room = weakref.ref(taken.rows[0].untyped_storage())
    del rows, taken
    assert room() is None
    torch.autograd.grad(square.sum(), table)


def test_rows_have_no_gradient_left_of_a_pass_that_broke():
    table = nn.Parameter(normal(1, 4, 2))
    rows = Rows(table)
    broken = rows(torch.tensor([[[0, 3]]])).rows[0] * 1  # what is made first is come by last
    broken.register_hook(lambda gradient: 1 / 0)
    taken = rows(torch.tensor([[[1, 3]]])).rows[0]
    with pytest.raises(ZeroDivisionError):
        torch.autograd.grad(taken.sum() + broken.sum(), table, retain_graph=True)
    (gradient,) = torch.autograd.grad(taken.sum(), table)
    assert gradient[0, :, 0].tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("score", ["general", "linear", "linear of exp"])
@pytest.mark.parametrize("scope", scopes.names())
def test_lean_says_whether_a_long_source_has_dense_weights(scope, score):
    attention = make(score, scope)
    memory = attention.prepare(normal(B, 97, value_size(score)), segments=torch.arange(97).expand(B, 97) // 7 + 1)
    weighting = attention(normal(B, T, Q), memory).weighting
    assert attention.lean == (not isinstance(weighting, torch.Tensor))
