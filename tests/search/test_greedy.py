"""Greedy search: the most probable symbol at every step, and nothing else."""

import pytest
import torch

from heedful.search import Ranking, Rules, beam, greedy

from .tables import END, begin, check, plain_greedy, random_table, rows, scripted, step


@pytest.mark.parametrize("end", [-2.0, 0.0, 2.0])
def test_it_is_the_plain_loop(end):
    table = random_table(53, end=end)
    rules, ranking = Rules(torch.arange(53) % 11 + 1), Ranking(0.5)
    found = greedy(step, *begin(table), rules=rules, ranking=ranking, with_weights=True)
    assert len(found) == 53
    for row, (hypothesis,) in enumerate(found):
        assert hypothesis.weights is not None
        check(hypothesis, plain_greedy(table, row, rules), table, row, ranking)
    assert {hypothesis.finished for (hypothesis,) in found} == {True, False}


def test_a_beam_of_one_is_greedy_on_200_random_inputs():
    table = random_table(200, seed=1)
    lengths = torch.arange(200) % 13 + 1
    single = greedy(step, *begin(table), rules=Rules(lengths), with_weights=True)
    found = beam(step, *begin(table), beam_size=1, rules=Rules(lengths), with_weights=True)
    assert len({len(hypothesis.tokens) for (hypothesis,) in single}) > 5
    for (hypothesis,), (only,) in zip(single, found, strict=True):
        assert (only.tokens, only.finished) == (hypothesis.tokens, hypothesis.finished)
        assert only.score == pytest.approx(hypothesis.score, abs=1e-5)
        assert only.log_probability == pytest.approx(hypothesis.log_probability, abs=1e-5)
        assert only.token_scores == pytest.approx(hypothesis.token_scores, abs=1e-5)
        assert torch.equal(only.weights, hypothesis.weights)


def test_no_weights_unless_asked_for():
    table = random_table(3)
    assert [found.weights for (found,) in greedy(step, *begin(table), rules=Rules.up_to(5, 5, 5))] == [None] * 3


def test_no_weights_where_there_are_none():
    def without(tokens, memory, state):
        logs, _, state = step(tokens, memory, state)
        return logs, None, state

    ((found,),) = greedy(without, *begin(random_table(1)), rules=Rules.up_to(5), with_weights=True)
    assert found.weights is None


def test_an_immediate_end_is_an_empty_answer():
    ((found,),) = greedy(step, *begin(scripted({(END,): -0.5})), rules=Rules.up_to(5), with_weights=True)
    assert (found.tokens, found.finished, found.token_scores) == ([], True, [-0.5])
    assert found.weights is not None
    assert found.weights.shape == (1, 1)


def test_what_never_ends_is_returned_unfinished():
    table = scripted({(3, 3, 3, 3, 3): -1.0})
    ((found,),) = greedy(step, *begin(table), rules=Rules.up_to(4), ranking=Ranking(0.0))
    assert (found.tokens, found.finished) == ([3] * 4, False)
    assert len(found.token_scores) == 4


def test_padding_and_start_are_never_chosen():
    table = random_table(23, seed=2)
    table.logs[..., :2] = -0.01
    for (hypothesis,) in greedy(step, *begin(table), rules=Rules(torch.full((23,), 9))):
        assert not {0, 1} & set(hypothesis.tokens)


def test_no_more_steps_than_needed():
    calls = []

    def counted(tokens, memory, state):
        calls.append(tokens.shape[0])
        return step(tokens, memory, state)

    table = scripted({(END,): -1.0}, {(3, 4, END): -1.0}, {(3, END): -1.0}, {(5, 6, END): -1.0})
    found = greedy(counted, *begin(table), rules=Rules.up_to(9, 9, 9, 9))
    assert [hypothesis.tokens for (hypothesis,) in found] == [[], [3, 4], [3], [5, 6]]
    assert calls == [4, 3, 2]  # who is done is left behind once that pays


@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_batches_of_any_size_in_any_order_give_the_same(size):
    table = random_table(20, seed=3)
    lengths = torch.arange(20) % 9 + 1
    whole = greedy(step, *begin(table), rules=Rules(lengths), with_weights=True)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(size)).tolist()
    for start in range(0, 20, size):
        part = order[start : start + size]
        found = greedy(step, *begin(rows(table, part)), rules=Rules(lengths[part]), with_weights=True)
        for index, (hypothesis,) in zip(part, found, strict=True):
            assert hypothesis[:4] == whole[index][0][:4]
            assert torch.equal(hypothesis.weights, whole[index][0].weights)


def test_no_sentences():
    def never(tokens, memory, state):
        raise AssertionError("nothing may be decoded")

    assert greedy(never, *begin(random_table(0)), rules=Rules(torch.zeros(0, dtype=torch.int64))) == []


def test_what_is_given_is_left_alone():
    """The step's own tensors too, should it give out those that it keeps."""

    def step_by_views(tokens, memory, state):
        return memory.logs[:, :1], memory.weights[:, :1], state

    table, lengths = random_table(5), torch.arange(5) + 1
    before = [tensor.clone() for tensor in table]
    greedy(step_by_views, *begin(table), rules=Rules(lengths))
    assert all(torch.equal(tensor, old) for tensor, old in zip(table, before, strict=True))
    assert lengths.tolist() == [1, 2, 3, 4, 5]


def test_no_gradients_are_kept():
    table = random_table(2)
    table.weights.requires_grad_()
    (first,), _ = greedy(step, *begin(table), rules=Rules.up_to(5, 5), with_weights=True)
    assert first.weights is not None
    assert not first.weights.requires_grad
