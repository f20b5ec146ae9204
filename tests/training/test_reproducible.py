"""The seed decides everything, and nothing leaks out of a training: no random state, no text, no precision."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
import torch

import heedful
from training.cases import Recorder, resume, rows, same_tensors, train_tiny

# Everything random takes part: dropout, mixed-in predictions, the order of the batches.
RANDOM = {"model.dropout": 0.3, "model.attention_dropout": 0.2, "train.scheduled_sampling": 0.5}


@pytest.mark.parametrize("bidirectional", [True, False])
def test_same_seed_same_bytes(pairs, tmp_path, bidirectional):
    settings = {**RANDOM, "model.bidirectional": bidirectional, "train.updates": 12}
    first = train_tiny(pairs, tmp_path / "first", set=settings)
    torch.manual_seed(99)  # the caller's own random state has no say
    second = train_tiny(pairs, tmp_path / "second", set=settings)
    assert rows(first) == rows(second)
    assert same_tensors(first / "checkpoint.safetensors", second / "checkpoint.safetensors")
    # Not only the tensors: the order of the metadata too.
    assert (first / "model.safetensors").read_bytes() == (second / "model.safetensors").read_bytes()
    for name in ("recipe.toml", "vocabulary.json"):
        assert (first / name).read_bytes() == (second / name).read_bytes()


@pytest.mark.parametrize("change", [{"train.seed": 2}, {"train.scheduled_sampling": 0.0}, {"model.dropout": 0.0}])
def test_another_seed_or_setting_gives_another_model(pairs, tmp_path, change):
    settings = {**RANDOM, "train.updates": 9}
    first = train_tiny(pairs, tmp_path / "first", set=settings)
    second = train_tiny(pairs, tmp_path / "second", set={**settings, **change})
    assert not same_tensors(first / "checkpoint.safetensors", second / "checkpoint.safetensors")


def test_the_seed_decides_the_order_of_batches(pairs, tmp_path):
    seen = []
    for seed in (1, 2):
        recorder = Recorder()
        settings = {"train.seed": seed, "train.updates": 5, "model.dropout": 0.0}
        train_tiny(pairs, tmp_path / str(seed), set=settings, reporter=recorder)
        seen.append(recorder)
    one, other = seen
    assert [update.tokens for update in one.updates] != [update.tokens for update in other.updates]


def test_the_seed_decides_the_first_weights(pairs, tmp_path):
    """In one batch, which has no order, and with nothing random in the model."""
    losses = []
    for seed in (1, 2):
        recorder = Recorder()
        settings = {"train.seed": seed, "train.updates": 1, "train.batch_tokens": 9999}
        train_tiny(pairs, tmp_path / str(seed), set=settings, reporter=recorder)
        losses.append(recorder.updates[0].loss)
    assert abs(losses[0] - losses[1]) > 1e-4


def test_random_states_are_given_back(pairs, tmp_path):
    torch.manual_seed(5)
    np.random.seed(6)
    random.seed(7)
    before = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    folder = train_tiny(pairs, tmp_path / "run", set={**RANDOM, "train.updates": 4})
    run = heedful.load(folder)
    run.predict(["abc", "fed"], beam=3)
    heedful.align(run, pairs)
    heedful.evaluate(run, pairs)
    after = torch.get_rng_state(), np.random.get_state()[1].tolist(), random.getstate()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]


def test_random_state_is_given_back_when_training_breaks_off(pairs, tmp_path):
    def stop(recorder):
        raise KeyboardInterrupt

    state = torch.get_rng_state()
    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, tmp_path / "run", set=RANDOM, reporter=Recorder(stop))
    assert torch.equal(torch.get_rng_state(), state)


def test_the_library_prints_nothing(pairs, tmp_path, capfd, caplog):
    """Neither do the libraries below it: file descriptors are watched, and the log of warnings."""
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 6})
    resume(pairs, folder, set={"train.updates": 8})
    run = heedful.load(folder)
    run.predict(["abc", "", "zzz"], n_best=2, beam=3)
    heedful.evaluate(run, pairs)
    heedful.align(run, pairs)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_precision_does_not_stick(pairs, tmp_path):
    """A bfloat16 training before it changes nothing in a training in single precision."""
    plain = train_tiny(pairs, tmp_path / "plain", set={"train.updates": 7})
    half = train_tiny(pairs, tmp_path / "half", set={"train.updates": 7, "train.precision": "bf16"})
    again = train_tiny(pairs, tmp_path / "again", set={"train.updates": 7})
    assert same_tensors(plain / "checkpoint.safetensors", again / "checkpoint.safetensors")
    # It was bfloat16 indeed: near, but not the same.
    assert not same_tensors(plain / "checkpoint.safetensors", half / "checkpoint.safetensors")
    losses = [float(rows(folder)[-1]["train_loss"]) for folder in (plain, half)]
    assert losses[1] == pytest.approx(losses[0], rel=0.02)
    assert heedful.load(half).predict(["abc"])[0].score < 0


def test_a_recipe_object_trains_as_its_file_does(pairs, tmp_path):
    """What a run wrote down as its recipe gives the same run again."""
    first = train_tiny(pairs, tmp_path / "first", set={"train.updates": 5})
    second = heedful.train(pairs, out=tmp_path / "second", recipe=first / "recipe.toml")
    third = heedful.train(pairs, out=tmp_path / "third", recipe=heedful.load(first).recipe)
    for other in (second, third):
        assert same_tensors(first / "checkpoint.safetensors", other / "checkpoint.safetensors")
        assert (first / "recipe.toml").read_bytes() == (other / "recipe.toml").read_bytes()


def test_messages_name_sizes_and_device(pairs, tmp_path):
    recorder = Recorder()
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 1}, reporter=recorder)
    sizes = re.fullmatch(
        r"(\d+) pairs to train on, (\d+) for development; (\d+) source and (\d+) target symbols",
        recorder.messages[0],
    )
    assert sizes, recorder.messages
    train, dev, source, target = map(int, sizes.groups())
    codec = heedful.load(folder).codec
    assert train + dev == 60
    assert (source, target) == (len(codec.source_vocabulary), len(codec.target_vocabulary))
    weights = heedful.load(folder).predictor.model.parameters()
    assert recorder.messages[-1] == f"{sum(weight.numel() for weight in weights):,} parameters on cpu"
