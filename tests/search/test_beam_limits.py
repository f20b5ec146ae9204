"""Beam search at its limits: refusals, lengths, ends, batches."""

import pytest
import torch

from heedful.errors import RecipeError
from heedful.search import Ranking, Rules, beam

from .tables import END, begin, check_all, plain_beam, random_table, rows, scripted, step


def limits(*values: int) -> torch.Tensor:
    return torch.tensor(values)


def never(tokens, memory, state):
    raise AssertionError("nothing may be decoded")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beam_size": 5, "n_best": 10}, "n_best must be from 1 to beam, got n_best 10 and beam 5"),
        ({"beam_size": 5, "n_best": 0}, "n_best must be from 1 to beam, got n_best 0 and beam 5"),
        ({"beam_size": 0}, "n_best must be from 1 to beam, got n_best 1 and beam 0"),
        ({"beam_size": 5, "ranking": Ranking(-0.5)}, "penalties must be 0 or more, got -0.5 and 0.0"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_decoding(options, message):
    with pytest.raises(RecipeError, match=message):
        beam(never, *begin(random_table(1)), rules=Rules.up_to(5), **options)


def test_the_length_penalty_is_by_each_hypothesis_own_length():
    """-3.0 at length 3 against -3.6 at length 6: without a penalty the first is better, by the mean the second."""
    table = scripted({(3, 3, END): -3.0, (4, 4, 4, 4, 4, END): -3.6})
    for penalty, wanted, scores in ((0.0, [3, 3], [-3.0, -3.6]), (1.0, [4] * 5, [-0.6, -1.0])):
        (found,) = beam(step, *begin(table), beam_size=5, n_best=2, rules=Rules.up_to(9), ranking=Ranking(penalty))
        assert found[0].tokens == wanted
        assert [hypothesis.score for hypothesis in found] == pytest.approx(scores)


def test_the_default_ranks_by_the_mean():
    table = scripted({(3, 3, END): -3.0, (4, 4, 4, 4, 4, END): -3.6})
    ((found,),) = beam(step, *begin(table), beam_size=5, rules=Rules.up_to(9))
    assert (found.tokens, found.score) == ([4] * 5, pytest.approx(-0.6))


@pytest.mark.parametrize("beam_size", [1, 5])
def test_a_limit_of_one(beam_size):
    table, rules = random_table(11, seed=1), Rules(torch.ones(11).long())
    sizes = {"beam_size": beam_size, "n_best": beam_size}
    for row, hypotheses in enumerate(beam(step, *begin(table), **sizes, rules=rules, with_weights=True)):
        assert hypotheses
        check_all(hypotheses, plain_beam(table, row, rules, Ranking(), **sizes), table, row, Ranking())


@pytest.mark.parametrize("beam_size", [1, 5])
def test_an_immediate_end_is_an_empty_answer(beam_size):
    table = scripted({(END,): -0.5}, {(END,): -0.1, (3,): -9.0})
    found = beam(step, *begin(table), beam_size=beam_size, rules=Rules.up_to(5, 5), with_weights=True)
    for (best,), score in zip(found, (-0.5, -0.1), strict=True):
        assert (best.tokens, best.finished, best.token_scores) == ([], True, [pytest.approx(score)])
        assert best.weights is not None
        assert best.weights.shape == (1, 1)


def test_if_nothing_ends_the_unfinished_are_returned_and_marked():
    table = random_table(5, seed=3)
    table.logs[..., END] = -torch.inf
    rules, sizes = Rules.up_to(5, 5, 1, 5, 2), {"beam_size": 5, "n_best": 3}
    found = beam(step, *begin(table), **sizes, rules=rules, with_weights=True)
    for row, (hypotheses, limit) in enumerate(zip(found, (5, 5, 1, 5, 2), strict=True)):
        assert [hypothesis.finished for hypothesis in hypotheses] == [False] * 3
        assert [len(hypothesis.tokens) for hypothesis in hypotheses] == [limit] * 3
        check_all(hypotheses, plain_beam(table, row, rules, Ranking(), **sizes), table, row, Ranking())


def test_what_was_cut_is_not_returned_beside_what_ended():
    table = scripted({(3, END): -5.0, (4, 4, 4): -0.1, (5, 5, 5): -0.2})
    (found,) = beam(step, *begin(table), beam_size=3, n_best=3, rules=Rules.up_to(3))
    assert [(hypothesis.tokens, hypothesis.finished) for hypothesis in found] == [([3], True)]


def test_a_likely_end_does_not_stop_what_can_still_overtake_it():
    """The short answer ends first, the long one is better by the mean: -1.2 / 2 against -1.3 / 8."""
    table = scripted({(3, END): -1.2, (4, 4, 4, 4, 4, 4, 4, END): -1.3})
    ((best,),) = beam(step, *begin(table), beam_size=2, rules=Rules.up_to(9))
    assert best.tokens == [4] * 7


@pytest.mark.parametrize(("first", "steps"), [(-0.95, 2), (-0.85, 9)])
def test_it_stops_as_soon_as_nothing_can_overtake(first, steps):
    """-0.2 / 2 has ended; what starts with -0.95 cannot get above -0.95 / 9, what starts with -0.85 still might."""
    calls = []

    def counted(tokens, memory, state):
        calls.append(tokens.shape[0])
        return step(tokens, memory, state)

    table = scripted({(3, END): -0.2, (4,) * 9: 0.0})
    table.logs[0, 1, 4] = first
    ((best,),) = beam(counted, *begin(table), beam_size=2, rules=Rules.up_to(9))
    assert best.tokens == [3]
    assert len(calls) == steps


def test_sentences_have_their_own_limits():
    table = random_table(1, seed=4, end=-1.0)
    whole = rows(table, [0] * 5)
    lengths = (1, 9, 3, 7, 2)
    rules, sizes = Rules.up_to(*lengths), {"beam_size": 3, "n_best": 3}
    for row, hypotheses in enumerate(beam(step, *begin(whole), **sizes, rules=rules)):
        check_all(hypotheses, plain_beam(whole, row, rules, Ranking(), **sizes), whole, row, Ranking())


@pytest.mark.parametrize("with_weights", [False, True])
def test_one_sentence_ends_at_step_2_and_another_at_step_9(with_weights):
    early = {(3, END): -0.1, (4, END): -0.2}
    late = {(3, 4, 5, 6, 3, 4, 5, 6, END): -0.3, (4, 4, 4, 4, 4, 4, 4, 4, END): -0.4}
    for order in ((early, late), (late, early), (early, late, early, early)):
        table = scripted(*order)
        found = beam(
            step,
            *begin(table),
            beam_size=2,
            n_best=2,
            rules=Rules(torch.full((len(order),), 11)),
            with_weights=with_weights,
        )
        for sentence, hypotheses in zip(order, found, strict=True):
            wanted = sorted(sentence.items(), key=lambda item: -item[1] / len(item[0]))
            assert [hypothesis.tokens for hypothesis in hypotheses] == [list(path[:-1]) for path, _ in wanted]
            assert [h.log_probability for h in hypotheses] == pytest.approx([value for _, value in wanted])
            assert all((h.weights is not None) == with_weights for h in hypotheses)


@pytest.mark.parametrize("beam_size", [1, 5])
@pytest.mark.parametrize("size", [1, 2, 7, 20])
def test_batches_of_any_size_in_any_order_give_the_same(size, beam_size):
    table = random_table(20, seed=8, end=0.5)
    lengths = torch.arange(20) % 9 + 1

    def run(part):
        return beam(
            step,
            *begin(rows(table, part)),
            beam_size=beam_size,
            n_best=beam_size,
            rules=Rules(lengths[part]),
            with_weights=True,
        )

    whole = run(list(range(20)))
    order = torch.randperm(20, generator=torch.Generator().manual_seed(size)).tolist()
    for start in range(0, 20, size):
        part = order[start : start + size]
        for index, hypotheses in zip(part, run(part), strict=True):
            assert [found[:4] for found in hypotheses] == [found[:4] for found in whole[index]]
            for found, wanted in zip(hypotheses, whole[index], strict=True):
                assert torch.equal(found.weights, wanted.weights)


def test_who_is_done_is_left_behind():
    calls = []

    def counted(tokens, memory, state):
        calls.append(tuple(tokens.shape))
        return step(tokens, memory, state)

    quick = {(END,): -0.1}
    table = scripted(quick, quick, {(3, 4, 5, END): -0.1}, quick)
    beam(counted, *begin(table), beam_size=3, rules=Rules.up_to(9, 9, 9, 9))
    assert calls == [(4, 1), (1, 3), (1, 3), (1, 3)]


def test_no_sentences():
    assert beam(never, *begin(random_table(0)), beam_size=3, rules=Rules(torch.zeros(0, dtype=torch.int64))) == []


def test_what_is_given_is_left_alone():
    """The step's own tensors too, should it give out those that it keeps."""

    def step_by_views(tokens, memory, state):
        count = tokens.shape[1]
        return memory.logs[:, :count], memory.weights[:, :count], state

    table, lengths = random_table(5), torch.arange(5) + 1
    before = [tensor.clone() for tensor in table]
    beam(step_by_views, *begin(table), beam_size=3, rules=Rules(lengths))
    assert all(torch.equal(tensor, old) for tensor, old in zip(table, before, strict=True))
    assert lengths.tolist() == [1, 2, 3, 4, 5]


def test_no_gradients_are_kept():
    table = random_table(2)
    table.logs.requires_grad_()
    table.weights.requires_grad_()
    ((best,), _) = beam(step, *begin(table), beam_size=3, rules=Rules.up_to(5, 5), with_weights=True)
    assert best.weights is not None
    assert not best.weights.requires_grad
