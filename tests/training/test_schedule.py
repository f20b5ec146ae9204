"""Budgets and learning rates, by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.recipes import TrainRecipe, load
from heedful.training.schedule import learning_rate, share_used
from training.cases import Recorder, resume, rows, tensors_of, train_tiny


def recipe(**settings) -> TrainRecipe:
    return TrainRecipe(**{"learning_rate": 0.5, "epochs": 10, **settings})


def rates(settings: TrainRecipe, shares, updates=1000) -> list[float]:
    return [learning_rate(settings, share=share, updates=updates) for share in shares]


def test_constant_linear_and_cosine():
    shares = (0.0, 0.25, 0.5, 1.0)
    assert rates(recipe(schedule="constant"), shares) == [0.5, 0.5, 0.5, 0.5]
    assert rates(recipe(schedule="linear"), shares) == [0.5, 0.375, 0.25, 0.0]
    root = math.sqrt(2) / 2  # cos of a quarter of pi
    assert rates(recipe(schedule="cosine"), shares) == pytest.approx([0.5, (1 + root) / 4, 0.25, 0.0])


def test_halving_as_luong_for_ten_epochs():
    """Section 4.1: 10 epochs; after 5 of them the rate is halved every epoch."""
    luong = recipe(schedule="halving", halving_start=0.5, halvings=5, learning_rate=1.0)
    starts = rates(luong, [epoch / 10 for epoch in range(10)])
    assert starts == [1, 1, 1, 1, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32]
    assert rates(luong, [epoch / 10 + 0.0999 for epoch in range(10)]) == starts  # the same all through an epoch


def test_the_luong_recipe_halves_after_eight_of_twelve_epochs():
    """Section 4.1: with dropout 12 epochs, halved every epoch after 8 of them."""
    train = load("luong2015").train
    assert (train.epochs, train.learning_rate, train.optimiser, train.clip_norm) == (12, 1.0, "sgd", 5.0)
    starts = rates(train, [epoch / 12 for epoch in range(12)])
    assert starts == [1, 1, 1, 1, 1, 1, 1, 1, 1 / 2, 1 / 4, 1 / 8, 1 / 16]
    assert rates(train, [(epoch + 0.999) / 12 for epoch in range(12)]) == starts


def test_warm_up_rises_in_a_line_and_then_has_no_say():
    warm = recipe(schedule="constant", warmup_updates=4)
    assert [learning_rate(warm, share=0.1, updates=done) for done in range(6)] == [0.125, 0.25, 0.375, 0.5, 0.5, 0.5]
    both = recipe(schedule="linear", warmup_updates=2)
    assert learning_rate(both, share=0.2, updates=0) == pytest.approx(0.5 * 0.8 / 2)
    assert learning_rate(both, share=0.2, updates=2) == pytest.approx(0.5 * 0.8)


def test_the_tightest_budget_counts():
    spent = {"epochs": 3.0, "updates": 40, "seconds": 90.0}
    assert share_used(recipe(epochs=12), **spent) == 0.25
    assert share_used(recipe(epochs="none", updates=50), **spent) == 0.8
    assert share_used(recipe(epochs="none", minutes=3), **spent) == 0.5
    assert share_used(recipe(epochs=12, updates=50, minutes=3), **spent) == 0.8
    assert share_used(recipe(epochs=2), **spent) == 1.0


def test_epochs_last_for_the_updates_that_there_are_to_be_at_least():
    spent = {"epochs": 3.0, "updates": 40, "seconds": 90.0}
    assert share_used(recipe(epochs=2, least_updates=160), **spent) == 0.25
    assert share_used(recipe(epochs=6, least_updates=50), **spent) == 0.5
    assert share_used(recipe(epochs=2, least_updates=40), **spent) == 1.0
    assert share_used(recipe(epochs=2, least_updates=160, minutes=3), **spent) == 0.5
    assert share_used(recipe(epochs="none", updates=50, least_updates=4000), **spent) == 0.8


@given(
    st.sampled_from(["constant", "linear", "cosine", "halving"]),
    st.floats(0, 1),
    st.integers(0, 50),
    st.floats(0, 0.99),
    st.integers(1, 7),
)
def test_rates_stay_between_0_and_the_given_one(schedule, share, updates, start, halvings):
    settings = recipe(schedule=schedule, halving_start=start, halvings=halvings, warmup_updates=20)
    assert 0 <= learning_rate(settings, share=share, updates=updates) <= 0.5
    later = learning_rate(settings, share=min(1.0, share + 0.01), updates=100)
    assert later <= learning_rate(settings, share=share, updates=100)


def test_rates_reach_the_optimiser(pairs, tmp_path):
    """Linear over 8 updates with a warm-up of 2, as a reporter sees it and as the log has it."""
    recorder = Recorder()
    settings = {"train.updates": 8, "train.warmup_updates": 2, "train.learning_rate": 0.5, "train.schedule": "linear"}
    folder = train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    expected = [0.25, *(0.5 * (1 - done / 8) for done in range(1, 8))]
    assert list(recorder.rates().values()) == pytest.approx(expected)
    assert [update.share for update in recorder.updates] == [done / 8 for done in range(8)]
    assert float(rows(folder)[-1]["learning_rate"]) == pytest.approx(expected[-1])


def test_a_rate_of_zero_moves_nothing(pairs, tmp_path, monkeypatch):
    """The optimiser's own rate is never used: it is set before every update."""
    from heedful.training import loop

    monkeypatch.setattr(loop, "learning_rate", lambda recipe, *, share, updates: 0.0)
    monkeypatch.setattr(loop, "better", lambda metric, new, old: False)  # model.safetensors keeps the first weights
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 3, "train.optimiser": "sgd"})
    first = tensors_of(folder / "model.safetensors")[0]
    last = tensors_of(folder / "checkpoint.safetensors")[0]
    assert all((last[f"model.{name}"] == value).all() for name, value in first.items())


def test_epochs_end_training(pairs, tmp_path):
    """Two epochs: each pair twice, the target tokens counted; one validation for each."""
    recorder = Recorder()
    settings = {"train.epochs": 2, "train.updates": "none"}
    folder = train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    from heedful.data.pairs import read_pairs
    from heedful.data.split import split

    train, _ = split(read_pairs(str(pairs)).pairs, 0.2)
    tokens = sum(len((pair.target or "").split()) + 1 for pair in train)
    assert sum(update.tokens for update in recorder.updates) == 2 * tokens
    assert [update.epoch for update in recorder.updates] == sorted(update.epoch for update in recorder.updates)
    assert {update.epoch for update in recorder.updates} == {1, 2}
    assert [row["epoch"] for row in rows(folder)] == ["1.0", "2.0"]


def test_part_of_an_epoch_is_a_budget(pairs, tmp_path):
    whole, half = Recorder(), Recorder()
    for recorder, epochs in ((whole, 1), (half, 0.5)):
        settings = {"train.epochs": epochs, "train.updates": "none"}
        train_tiny(pairs, tmp_path / str(epochs), set=settings, reporter=recorder)
    assert len(half.updates) == math.ceil(len(whole.updates) / 2)
    assert len(half.looks) == 1


class Clock:
    """Moves one second at each look at it."""

    def __init__(self, now: float) -> None:
        self.now = now

    def monotonic(self) -> float:
        self.now += 1.0
        return self.now


MINUTES = {"train.minutes": 2, "train.updates": "none", "train.schedule": "linear"}


def test_minutes_end_training(pairs, tmp_path, monkeypatch):
    from heedful.training import loop

    monkeypatch.setattr(loop, "time", Clock(0.0))
    recorder = Recorder()
    train_tiny(pairs, tmp_path / "run", set=MINUTES, reporter=recorder)
    shares = [update.share for update in recorder.updates]
    assert shares == sorted(shares)
    assert 0 < len(shares) <= 120
    assert shares[-1] > 0.9
    assert [update.learning_rate for update in recorder.updates] == pytest.approx([0.02 * (1 - s) for s in shares])
    assert recorder.looks[-1].seconds >= 120


def test_minutes_are_counted_over_all_sittings(pairs, tmp_path, monkeypatch):
    """On another machine, whose clock says something else, the schedule goes on where the checkpoint was."""
    from heedful.training import loop

    def stop(recorder: Recorder) -> None:
        if recorder.updates[-1].share > 0.5:
            raise KeyboardInterrupt

    monkeypatch.setattr(loop, "time", Clock(0.0))
    first, second = Recorder(stop), Recorder()
    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, tmp_path / "run", set=MINUTES, reporter=first)
    spent = tensors_of(tmp_path / "run" / "checkpoint.safetensors")[1]["progress"]["seconds"]
    assert 40 < spent == first.looks[-1].seconds
    monkeypatch.setattr(loop, "time", Clock(1e6))
    resume(pairs, tmp_path / "run", reporter=second)
    updates, (before,) = second.updates, [u for u in first.updates if u.updates == second.updates[0].updates - 1][-1:]
    assert updates[0].share == pytest.approx(spent / 120)
    assert before.share <= updates[0].share < updates[1].share
    assert [update.learning_rate for update in updates] == pytest.approx([0.02 * (1 - u.share) for u in updates])
    assert updates[-1].share > 0.9
    assert second.looks[-1].seconds == pytest.approx(120, abs=10)
    done = Recorder()
    resume(pairs, tmp_path / "run", reporter=done)
    assert not done.updates


def test_validations_come_at_even_distances(pairs, tmp_path):
    recorder = Recorder()
    settings = {"train.epochs": 2, "train.updates": "none", "train.validate_every": 0.5}
    train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    assert [look.epoch for look in recorder.looks] == pytest.approx([0.5, 1.0, 1.5, 2.0], abs=0.1)
