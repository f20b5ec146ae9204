"""Looking at the development pairs: what is measured, what counts as best, when it ends, what is kept."""

from __future__ import annotations

import csv
import itertools
import math

import pytest

import heedful
from heedful.data.batches import plan
from heedful.data.pairs import read_pairs
from heedful.data.split import split, spread
from heedful.diagnosis import HEALTH, attention_health
from heedful.errors import TrainingError
from heedful.training import loop
from heedful.training.train import encode
from heedful.training.validate import Validator, better
from training.cases import Recorder, progress_of, rows, spelling_pairs, tensors_of, train_tiny, words, write_pairs

SCORES = ("sequence_error", "token_error", "word_error", "bleu", "chrf")


def scripted(monkeypatch, values: list[dict[str, float]]) -> None:
    """Validations that say what is written here, one after the other; "loss" stands beside the scores."""
    coming = iter(values)

    def look(self, model):
        said = {**dict.fromkeys(SCORES, 50.0), "loss": 1.0, **next(coming)}
        return said.pop("loss"), said

    monkeypatch.setattr(Validator, "__call__", look)


def keeping_weights(folder):
    """A reporter that keeps the weights of each validation, as the checkpoint has them."""
    kept = []

    def keep(recorder):
        if len(recorder.looks) > len(kept):
            tensors = tensors_of(folder / "checkpoint.safetensors")[0]
            kept.append({n.removeprefix("model."): t for n, t in tensors.items() if n.startswith("model.")})

    return Recorder(keep), kept


def test_patience_ends_it_and_the_best_weights_stay(pairs, tmp_path, monkeypatch):
    errors = [90.0, 40.0, 45.0, 39.5, 60.0, 39.5, 50.0, 1.0]
    scripted(monkeypatch, [{"token_error": error} for error in errors])
    reporter, kept = keeping_weights(tmp_path / "run")
    settings = {"train.metric": "token_error", "train.patience": 3, "train.validate_every": 0.5, "train.updates": 200}
    folder = train_tiny(pairs, tmp_path / "run", set=settings, reporter=reporter)
    # The fourth is the best; an equal one is no better; three bad ones end it before the eighth.
    assert [look.best for look in reporter.looks] == [True, True, False, True, False, False, False]
    assert [row["best"] for row in rows(folder)] == list("1101000")
    assert progress_of(folder)["bad_validations"] == 3
    tensors, about = tensors_of(folder / "model.safetensors")
    assert all((tensors[name] == weight).all() for name, weight in kept[3].items())
    assert not all((tensors[name] == weight).all() for name, weight in kept[4].items())
    assert (about["metric"], about["value"], about["updates"]) == ("token_error", 39.5, reporter.looks[3].updates)


def test_of_equals_the_one_with_the_lower_loss_is_better(pairs, tmp_path, monkeypatch):
    """Early on every answer is wrong: 100 % is as good as 100 %, and the loss tells which weights to keep."""
    looks = [(100.0, 3.0), (100.0, 2.0), (100.0, 2.5), (90.0, 9.0), (90.0, 9.5), (90.0, 8.0), (90.0, 8.0)]
    scripted(monkeypatch, [{"sequence_error": error, "loss": loss} for error, loss in looks])
    recorder = Recorder()
    settings = {"train.epochs": 7, "train.updates": "none", "train.patience": 7}
    train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    assert [look.best for look in recorder.looks] == [True, True, False, True, False, True, False]


@pytest.mark.parametrize("metric", [*SCORES, "loss"])
def test_each_metric_can_choose(pairs, tmp_path, monkeypatch, metric):
    """Three validations; by `metric` the second is the best, and by everything else the others are."""
    good, bad = (60.0, 10.0) if metric in ("bleu", "chrf") else (10.0, 60.0)
    looks = [{name: 100 - bad if name != metric else bad for name in (*SCORES, "loss")} for _ in range(3)]
    looks[1][metric] = good
    scripted(monkeypatch, looks)
    reporter, kept = keeping_weights(tmp_path / "run")
    settings = {"train.metric": metric, "train.epochs": 3, "train.updates": "none"}
    folder = train_tiny(pairs, tmp_path / "run", set=settings, reporter=reporter)
    assert [look.best for look in reporter.looks] == [True, True, False]
    tensors, _ = tensors_of(folder / "model.safetensors")
    assert all((tensors[name] == weight).all() for name, weight in kept[1].items())


def test_better_knows_which_way_is_up():
    for metric in ("bleu", "chrf"):
        assert better(metric, 2.0, 1.0)
        assert not better(metric, 1.0, 2.0)
    for metric in ("sequence_error", "token_error", "word_error", "loss"):
        assert better(metric, 1.0, 2.0)
        assert not better(metric, 2.0, 1.0)
    for metric in ("bleu", "loss"):
        assert better(metric, 1.0, None)
        assert not better(metric, 1.0, 1.0)
        assert not better(metric, math.nan, None)


def test_what_the_log_says_is_what_evaluate_and_forced_decoding_say(tmp_path):
    """The numbers beside the best weights are those of the saved model on the same pairs, greedily."""
    train = spelling_pairs(tmp_path / "train.tsv")
    dev = write_pairs(tmp_path / "dev.tsv", ((word, " ".join(word.upper())) for word in words(37, seed=9)))
    folder = train_tiny(train, tmp_path / "run", dev=dev, set={"train.updates": 40, "train.batch_tokens": 99})
    with open(folder / "log.csv", encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert list(table[0]) == [
        *("updates", "epoch", "seconds", "learning_rate", "train_loss", "dev_loss"),
        *SCORES,
        "best",
        *(f"attention_{name}" for name in HEALTH),
    ]
    best = [row for row in table if row["best"] == "1"][-1]
    run = heedful.load(folder)
    scores = heedful.evaluate(run, dev, beam=1)
    for name in SCORES:
        assert float(best[name]) == pytest.approx(getattr(scores, name), abs=6e-4), name
    forced = run.predictor.force(read_pairs(str(dev)).pairs)
    nats = -sum(answer.log_probability for answer in forced)
    assert float(best["dev_loss"]) == pytest.approx(nats / sum(len(a.token_scores) for a in forced), abs=6e-5)
    health = attention_health(answer.alignment for answer in forced if answer.alignment is not None)
    for name in HEALTH:
        assert float(best[f"attention_{name}"]) == pytest.approx(health[name], abs=6e-5), name


def test_the_training_loss_is_plain(tmp_path, monkeypatch):
    """Whatever smoothing does to the gradients: with weights that stand still, it is the loss of the pairs."""
    monkeypatch.setattr(loop, "learning_rate", lambda recipe, *, share, updates: 0.0)
    train = spelling_pairs(tmp_path / "train.tsv")
    settings = {"train.epochs": 1, "train.updates": "none", "train.label_smoothing": 0.3}
    folder = train_tiny(train, tmp_path / "run", dev=train, set=settings)
    row = rows(folder)[-1]
    assert float(row["train_loss"]) == pytest.approx(float(row["dev_loss"]), abs=1e-4)


def test_validation_pairs_are_spread_over_the_file():
    pairs = read_pairs("reverse:dev").pairs
    assert [pair.line for pair in spread(pairs, 5)] == [1, 101, 201, 301, 401]
    assert spread(pairs, None) == spread(pairs, 500) == spread(pairs, 9999) == list(pairs)


def test_validation_size_is_obeyed(pairs, tmp_path, monkeypatch):
    seen = []
    honest = Validator.__call__
    monkeypatch.setattr(
        Validator, "__call__", lambda self, model: (seen.append(len(self.pairs)), honest(self, model))[1]
    )
    train_tiny(pairs, tmp_path / "run", set={"train.updates": 2, "train.validation_size": 4})
    assert set(seen) == {4}


def test_the_training_mode_is_put_back(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 1, "train.batch_tokens": 9999})
    run = heedful.load(folder)
    model, validator = run.predictor.model, Validator(run.codec, run.recipe, read_pairs(str(pairs)).pairs[:5])
    model.train()
    first = validator(model)
    assert model.training
    model.eval()
    assert validator(model) == first
    assert not model.training


# What is not a number.


def poisoned(monkeypatch, update: int, poison: float = math.nan) -> None:
    """This update, counted from 1, has a rate that makes the weights no numbers, or too large for any."""
    honest = loop.learning_rate

    def rate(recipe, *, share, updates):
        return poison if updates == update - 1 else honest(recipe, share=share, updates=updates)

    monkeypatch.setattr(loop, "learning_rate", rate)


def test_a_loss_that_is_no_number_stops_training_and_names_the_lines(pairs, tmp_path, monkeypatch):
    poisoned(monkeypatch, 9)
    kept = {}

    def keep(recorder):
        if len(recorder.looks) > len(kept):
            kept[len(kept)] = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}

    recorder = Recorder(keep)
    settings = {"train.validate_every": 0.5, "train.metric": "loss", "train.batch_tokens": 180}
    with pytest.raises(TrainingError) as caught:
        train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    # The batch that is named is the one that comes tenth by the plan of the epochs.
    run = heedful.load(tmp_path / "run")
    train, _ = split(read_pairs(str(pairs)).pairs, 0.2)
    examples = encode(train, run.codec)
    coming = (
        (epoch, batch)
        for epoch in range(9)
        for batch in enumerate(plan(examples, batch_tokens=180, seed=1, epoch=epoch))
    )
    epoch, (batch, places) = next(itertools.islice(coming, 9, None))
    lines = ", ".join(str(train[place].line) for place in places[:8]) + (", ..." if len(places) > 8 else "")
    message = str(caught.value)
    assert f"the loss is nan at update 10 (epoch {epoch + 1}, batch {batch + 1}, training lines {lines})" in message
    # What is in the folder is what was there at the last validation before it.
    assert kept
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == kept[len(kept) - 1]


@pytest.mark.parametrize("metric", ["sequence_error", "bleu", "loss"])
@pytest.mark.parametrize("poison", [math.nan, 1e38])
def test_weights_that_are_no_numbers_are_never_best_nor_saved(pairs, tmp_path, monkeypatch, metric, poison):
    """Even if nothing has been measured before, so that a sequence error of 100 % would be the best so far."""
    poisoned(monkeypatch, 1, poison)
    recorder = Recorder()
    settings = {"train.batch_tokens": 9999, "train.updates": 3, "train.metric": metric}  # a batch is an epoch
    settings |= {"train.optimiser": "sgd", "train.clip_norm": "none"}
    with pytest.raises(TrainingError, match=r"is (nan|inf)"):
        train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    assert not any(look.best for look in recorder.looks)
    for name in ("model.safetensors", "checkpoint.safetensors"):
        tensors, _ = tensors_of(tmp_path / "run" / name)
        assert all(tensor.isfinite().all() for tensor in tensors.values()), name
    assert heedful.load(tmp_path / "run").predict(["abc"], beam=2)[0].score < 0


def test_a_gradient_that_is_no_number_stops_training(pairs, tmp_path, monkeypatch):
    """The loss may be finite while its gradient is not: the weights are not touched then."""
    import torch

    from heedful.model import Model

    class Explosive(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value):
            return value.clone()

        @staticmethod
        def backward(ctx, gradient):
            return gradient * math.inf

    honest = Model.forward

    def forward(self, batch, **settings):
        loss = honest(self, batch, **settings)
        return loss._replace(total=Explosive.apply(loss.total))

    monkeypatch.setattr(Model, "forward", forward)
    with pytest.raises(
        TrainingError, match=r"the gradient is (nan|inf) at update 1 \(epoch 1, batch 1, training lines"
    ):
        train_tiny(pairs, tmp_path / "run", set={"train.updates": 3})
    tensors, _ = tensors_of(tmp_path / "run" / "model.safetensors")
    assert all(tensor.isfinite().all() for tensor in tensors.values())
