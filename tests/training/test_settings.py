"""Each setting of [train] and [data] does what its name says, and what was left out is told."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import suppress

import pytest
import torch

import heedful
from heedful.errors import DataError, RecipeError, TrainingError
from heedful.recipes import TrainRecipe
from heedful.training.optimisers import make_optimiser
from training.cases import (
    Recorder,
    rows,
    same_tensors,
    spelled,
    spelling_pairs,
    tensors_of,
    train_tiny,
    words,
    write_pairs,
)


def moved(folder) -> float:
    """How far the weights are from where they started (model.safetensors, if no validation was the best)."""
    before = tensors_of(folder / "model.safetensors")[0]
    after = tensors_of(folder / "checkpoint.safetensors")[0]
    squares = sum(float(((after[f"model.{name}"] - value).double() ** 2).sum()) for name, value in before.items())
    return squares**0.5


@pytest.fixture
def first_weights_stay(monkeypatch):
    """No validation counts as the best, so that model.safetensors holds the first weights."""
    from heedful.training import loop

    monkeypatch.setattr(loop, "better", lambda metric, new, old: False)


@pytest.mark.parametrize("limit", [0.01, 0.002])
def test_gradients_are_clipped_to_the_norm(pairs, tmp_path, first_weights_stay, limit):
    """One step of plain gradient descent with a clipped gradient is as long as rate x limit."""
    settings = {"train.updates": 1, "train.optimiser": "sgd", "train.learning_rate": 0.5, "train.schedule": "constant"}
    folder = train_tiny(pairs, tmp_path / "run", set={**settings, "train.clip_norm": limit})
    assert moved(folder) == pytest.approx(0.5 * limit, rel=1e-3)


def test_without_clipping_the_gradient_is_whole(pairs, tmp_path, first_weights_stay):
    settings = {"train.updates": 1, "train.optimiser": "sgd", "train.learning_rate": 0.5, "train.schedule": "constant"}
    free = train_tiny(pairs, tmp_path / "free", set={**settings, "train.clip_norm": "none"})
    wide = train_tiny(pairs, tmp_path / "wide", set={**settings, "train.clip_norm": 1e6})
    assert moved(free) == pytest.approx(moved(wide))
    assert moved(free) > 0.5 * 0.01


def test_optimisers_are_those_of_the_papers():
    weights = torch.nn.Linear(2, 3)
    made = {
        name: make_optimiser(weights, TrainRecipe(updates=1, optimiser=name, learning_rate=0.5, weight_decay=0.25))
        for name in ("adam", "adadelta", "sgd")
    }
    assert [type(one) for one in made.values()] == [torch.optim.AdamW, torch.optim.Adadelta, torch.optim.SGD]
    for one in made.values():
        assert [len(group["params"]) for group in one.param_groups] == [2]
        assert (one.param_groups[0]["lr"], one.param_groups[0]["weight_decay"]) == (0.5, 0.25)
    assert (made["adadelta"].param_groups[0]["rho"], made["adadelta"].param_groups[0]["eps"]) == (0.95, 1e-6)
    assert made["sgd"].param_groups[0]["momentum"] == 0


def test_weight_decay_is_decoupled(pairs, tmp_path, monkeypatch, first_weights_stay):
    """With AdamW and a rate r, all weights shrink by r x decay beside the step, which decay does not change."""
    settings = {"train.updates": 1, "train.schedule": "constant", "train.learning_rate": 0.01}
    plain = train_tiny(pairs, tmp_path / "plain", set=settings)
    decayed = train_tiny(pairs, tmp_path / "decayed", set={**settings, "train.weight_decay": 2.0})
    first = tensors_of(plain / "model.safetensors")[0]
    one, other = (tensors_of(folder / "checkpoint.safetensors")[0] for folder in (plain, decayed))
    for name, value in first.items():
        torch.testing.assert_close(other[f"model.{name}"], one[f"model.{name}"] - 0.02 * value, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("optimiser", ["adam", "adadelta", "sgd"])
def test_every_optimiser_learns(pairs, tmp_path, optimiser):
    rate = {"adam": 0.02, "adadelta": 1.0, "sgd": 1.0}[optimiser]
    settings = {"train.optimiser": optimiser, "train.learning_rate": rate, "train.updates": 40}
    table = rows(train_tiny(pairs, tmp_path / "run", set=settings))
    assert float(table[-1]["train_loss"]) < float(table[0]["train_loss"]) - 0.05


@pytest.mark.parametrize("setting", ["label_smoothing", "scheduled_sampling"])
def test_smoothing_and_sampling_change_the_weights_only_where_on(pairs, tmp_path, setting):
    plain = train_tiny(pairs, tmp_path / "plain", set={"train.updates": 6})
    off = train_tiny(pairs, tmp_path / "off", set={"train.updates": 6, f"train.{setting}": 0.0})
    on = train_tiny(pairs, tmp_path / "on", set={"train.updates": 6, f"train.{setting}": 0.5})
    assert same_tensors(plain / "checkpoint.safetensors", off / "checkpoint.safetensors")
    assert not same_tensors(plain / "checkpoint.safetensors", on / "checkpoint.safetensors")


def test_scheduled_sampling_grows_from_nothing(pairs, tmp_path, monkeypatch):
    from heedful.model import Model

    shares = []
    honest = Model.forward

    def forward(self, batch, *, label_smoothing=0.0, own_words=0.0, guided_attention=0.0):
        if self.training:
            shares.append(own_words)
        return honest(self, batch, label_smoothing=label_smoothing, own_words=own_words)

    monkeypatch.setattr(Model, "forward", forward)
    train_tiny(pairs, tmp_path / "run", set={"train.updates": 8, "train.scheduled_sampling": 0.4})
    assert shares[0] == 0.4  # the rehearsal of the largest batch, which changes nothing
    assert shares[1:] == pytest.approx([0.4 * done / 8 for done in range(8)])


def test_batches_stay_within_their_tokens(pairs, tmp_path, monkeypatch):
    from heedful.model import Model

    sizes = []
    honest = Model.forward

    def forward(self, batch, **settings):
        if self.training:
            sizes.append(batch.sources[0].tokens.numel() + batch.target.tokens.numel())
        return honest(self, batch, **settings)

    monkeypatch.setattr(Model, "forward", forward)
    train_tiny(pairs, tmp_path / "run", set={"train.epochs": 1, "train.updates": "none", "train.batch_tokens": 60})
    assert max(sizes) <= 60
    assert max(sizes) > 40


def test_the_loss_may_be_per_sentence(pairs, tmp_path, first_weights_stay):
    """The gradient of the sum over a sentence's words: longer than that of the mean, by the words of a sentence."""
    settings = {"train.updates": 1, "train.optimiser": "sgd", "train.schedule": "constant", "train.batch_tokens": 9999}
    settings |= {"train.clip_norm": "none", "train.learning_rate": 1e-2}
    recorder = Recorder()
    token = train_tiny(pairs, tmp_path / "token", set=settings, reporter=recorder)
    sentence = train_tiny(pairs, tmp_path / "sentence", set={**settings, "train.loss_per": "sentence"})
    sentences = int(recorder.messages[0].split()[0])
    assert moved(sentence) == pytest.approx(moved(token) * recorder.updates[0].tokens / sentences, rel=1e-3)
    assert rows(token)[0]["train_loss"] == rows(sentence)[0]["train_loss"]  # what is reported is per token always


def test_development_pairs_that_are_trained_on_are_counted(pairs, tmp_path):
    both = write_pairs(tmp_path / "dev.tsv", [(words(60)[7], "A"), (words(60)[8], "B"), ("notthere", "C")])
    recorder = Recorder()
    train_tiny(pairs, tmp_path / "run", dev=both, set={"train.updates": 1}, reporter=recorder)
    assert "2 of 3 development sources are trained on too" in recorder.messages


def test_long_pairs_are_left_out_and_counted(tmp_path):
    long = [("a" * 9, "A"), ("b", " ".join("B" * 9))]
    pairs = write_pairs(tmp_path / "pairs.tsv", [*((word, spelled(word)) for word in words(40, longest=4)), *long])
    recorder = Recorder()
    settings = {"data.max_length": 8, "train.updates": 2}
    train_tiny(pairs, tmp_path / "run", dev="reverse:dev", set=settings, reporter=recorder)
    assert "2 pairs of more than 8 tokens left out of training (lines 41, 42)" in recorder.messages
    assert any(message.startswith("40 pairs to train on") for message in recorder.messages)
    with pytest.raises(DataError, match=r"all 42 training pairs are longer than data\.max_length = 8 tokens"):
        train_tiny(write_pairs(tmp_path / "long.tsv", long * 21), tmp_path / "none", dev=pairs, set=settings)
    assert not (tmp_path / "none").exists()


def test_bad_lines_are_skipped_and_counted(tmp_path):
    lines = [f"{word}\t{spelled(word)}\n".encode() for word in words(50)]
    lines[3:3] = [b"no target\n", b"\tNO SOURCE\n", b"not \xff UTF-8\tX\n", b"\n"]
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress(b"".join(lines)))
    with pytest.raises(DataError, match=r"pairs\.tsv\.gz:4: "):
        train_tiny(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    recorder = Recorder()
    train_tiny(path, tmp_path / "run", set={"data.bad_lines": "skip", "train.updates": 1}, reporter=recorder)
    assert f"{path}: bad lines skipped, 4 in all: 4, 5, 6, 7" in recorder.messages


def test_symbols_that_were_not_separated_are_noticed(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", ((word, word.upper()) for word in words(90)))
    recorder = Recorder()
    train_tiny(pairs, tmp_path / "run", set={"train.updates": 1}, reporter=recorder)
    (warning,) = [message for message in recorder.messages if message.startswith("warning")]
    assert "occur only once; is data.target_tokens right?" in warning
    shown = re.search(r"The first target is '([A-F]+)', cut into \['([A-F]+)'\]", warning)
    assert shown
    assert shown[1] == shown[2]


def test_unknown_tokens_of_the_development_pairs_are_counted(tmp_path, pairs):
    dev = write_pairs(tmp_path / "dev.tsv", [("abq", "A B Q"), ("zq", "A X"), ("f", "F")])
    recorder = Recorder()
    train_tiny(pairs, tmp_path / "run", dev=dev, set={"train.updates": 1}, reporter=recorder)
    assert any(message.startswith("3 of 6 source tokens") and "'q', 'z'" in message for message in recorder.messages)
    assert any(message.startswith("2 of 6 target tokens") and "'Q', 'X'" in message for message in recorder.messages)


def test_columns_and_json_keys(tmp_path):
    """Columns in another order, and the same pairs as JSON lines with keys of their own: the same model."""
    chosen = words(40)
    table = write_pairs(tmp_path / "pairs.tsv", ((str(n), spelled(word), word) for n, word in enumerate(chosen)))
    lines = tmp_path / "pairs.jsonl"
    lines.write_text("".join(json.dumps({"form": spelled(word), "word": word}) + "\n" for word in chosen), "utf-8")
    numbers = {"data.source_column": 3, "data.target_column": 2, "train.updates": 3}
    keys = {"data.source_column": "word", "data.target_column": "form", "train.updates": 3}
    one = train_tiny(table, tmp_path / "one", set=numbers)
    other = train_tiny(lines, tmp_path / "other", set=keys)
    assert same_tensors(one / "checkpoint.safetensors", other / "checkpoint.safetensors")
    assert heedful.evaluate(one, table) == heedful.evaluate(other, lines)


# What cannot be done is told before anything is written.


@pytest.mark.parametrize("optimiser", ["adam", "adadelta", "sgd"])
@pytest.mark.parametrize("key", ["learning_rate", "weight_decay"])
def test_numbers_beyond_reason(pairs, tmp_path, optimiser, key):
    """A larger one ends in an error of PyTorch's own in the middle of a step; the largest that is allowed does not."""
    settings = {"train.optimiser": optimiser, "train.updates": 3}
    for value in (1e308, 1e38, 1.1e6, -1.0):
        with pytest.raises(RecipeError, match=rf"'train\.{key}': input should be (less|greater) than .*got"):
            train_tiny(pairs, tmp_path / "run", set={**settings, f"train.{key}": value})
    assert not (tmp_path / "run").exists()
    with suppress(TrainingError):  # the weights may become infinite
        train_tiny(pairs, tmp_path / "run", set={**settings, f"train.{key}": 1e6})


@pytest.mark.parametrize("seed", [-1, 2**63, 2**64])
def test_a_seed_that_is_none(pairs, tmp_path, seed):
    with pytest.raises(RecipeError, match=r"'train\.seed': input should be (less|greater) than"):
        train_tiny(pairs, tmp_path / "run", set={"train.seed": seed})
    train_tiny(pairs, tmp_path / "run", set={"train.seed": 2**63 - 1, "train.updates": 1})


def test_no_development_pairs_is_an_error_with_a_way_out(pairs, tmp_path):
    with pytest.raises(DataError, match=r"dev_share"):
        train_tiny(pairs, tmp_path / "run", set={"data.dev_share": 0})
    assert not (tmp_path / "run").exists()
    train_tiny(pairs, tmp_path / "run", dev=pairs, set={"data.dev_share": 0, "train.updates": 1})


def test_tensorboard_that_is_missing_is_told_first(pairs, tmp_path, monkeypatch):
    import sys

    for name in [name for name in sys.modules if name.startswith(("tensorboard", "torch.utils.tensorboard"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(RecipeError, match=r"pip install 'heedful\[tensorboard\]'"):
        train_tiny(pairs, tmp_path / "run", set={"train.tensorboard": True})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model.score": "dott"}, "did you mean 'dot'"),
        ({"model.score": {"name": "additive", "atention_size": 3}}, "did you mean 'attention_size'"),
        ({"model.start": "last"}, "start 'last' needs"),
        ({"model.encoder_layers": 99}, "encoder_layers must be from 1 to 16"),
        ({"data.source_tokens": "charcters"}, "did you mean 'characters'"),
        ({"data.tag_columns": [3]}, "expected at least 3 columns"),
        # A bug fails these: the values reach PyTorch, or are taken for true.
        ({"model.score": {"name": "additive", "attention_size": "big"}}, "attention_size.*'big'"),
        ({"model.score": {"name": "additive", "attention_size": 2.5}}, "attention_size.*2.5"),
        ({"model.scope": {"name": "local_m", "window": "x"}}, "window.*'x'"),
        ({"model.normaliser": {"name": "softmax", "temperature": "hot"}}, "temperature.*'hot'"),
        ({"model.readout": {"name": "maxout", "readout_size": "x"}}, "readout_size.*'x'"),
        ({"model.fusion": {"name": "late", "input_feeding": "False"}}, "input_feeding.*'False'"),
    ],
)
def test_a_recipe_that_does_not_fit_is_told_first(pairs, tmp_path, settings, says):
    from heedful.errors import HeedfulError

    with pytest.raises(HeedfulError, match=says):
        train_tiny(pairs, tmp_path / "run", set=settings)
    assert not (tmp_path / "run").exists()


def test_a_folder_that_cannot_be_made(pairs, tmp_path):
    from heedful.errors import RunError

    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file"):
        train_tiny(pairs, tmp_path / "file" / "run")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"predict.banned": ["Q7"]}, "the target vocabulary has no token 'Q7'"),
        ({"predict.prefix": "A B", "predict.max_length": 2}, "max_length 2 leaves no room for a prefix of 2 tokens"),
        ({"predict.coverage_penalty": 0.2, "model.fusion": "none"}, "no use to a model without attention"),
        ({"predict.unknown": "replace", "model.fusion": "none"}, "cannot be replaced by a model without attention"),
        ({"predict.attention_temperature": 0.0}, "attention_temperature"),
    ],
    ids=str,
)
def test_rules_for_answers_that_do_not_fit_are_told_before_anything_is_written(tmp_path, settings, message):
    pairs = spelling_pairs(tmp_path / "pairs.tsv")
    with pytest.raises(RecipeError, match=message):
        train_tiny(pairs, tmp_path / "run", set=settings)
    assert not (tmp_path / "run").exists()
