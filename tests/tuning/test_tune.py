"""``heedful tune``: the recipe first, then what the trials before make likely; whole at every moment."""

from __future__ import annotations

import csv
import json
import math
import signal
import statistics
import subprocess
import sys
import time
import tomllib

import pytest

from cli.test_streams import PROGRAM
from heedful.errors import MemoryShortage, RecipeError, RunError, TrainingError
from heedful.recipes import load
from heedful.tuning import Trial
from heedful.tuning.loop import _enough
from heedful.tuning.propose import importance, propose
from heedful.tuning.space import parse_ranges

from .conftest import FIXED, RANGES


def bowl(recipe, tenth):
    """Best at a rate of 0.03 whatever the dropout, and better with time."""
    return 20 + 30 * abs(math.log(recipe.train.learning_rate / 0.03)) + (9 - tenth)


def without_times(trials):
    return [{key: value for key, value in trial.as_json().items() if key != "seconds"} for trial in trials]


def test_what_it_ends_in(training, tune, tmp_path):
    """The recipe with the best values, with its own budget and seed, readable by `load`; and a table of all trials."""
    trained = training(bowl)
    found = tune(trials=16)
    recipe = load("tiny", FIXED)
    first = trained[0]
    assert (first.model, first.train.learning_rate) == (recipe.model, recipe.train.learning_rate)
    assert {(each.train.updates, each.train.epochs, each.train.seed) for each in trained} == {(10, None, 1)}
    assert found.best.value == min(trial.value for trial in found.trials if trial.state == "complete")
    assert found.best.value < found.trials[0].value
    assert abs(math.log(found.recipe.train.learning_rate / 0.03)) < 0.3  # chance has a width of 4.6
    assert found.importance[0].key == "train.learning_rate"
    assert found.at_ends == ()
    assert load(found.file) == found.recipe == load(recipe, found.best.values)
    assert found.recipe.train.epochs == recipe.train.epochs
    text = found.file.read_text("utf-8")
    assert text.startswith(f"# tiny, tuned by heedful 0.1.0: sequence_error {found.best.value:.2f} (greedy")
    assert f"Best of 16 trials is trial {found.best.number};" in text
    with open(tmp_path / "tuned" / "trials.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["sequence_error"]) for row in rows] == [round(trial.value, 4) for trial in found.trials]
    assert [float(row["model.dropout"]) for row in rows] == [trial.values["model.dropout"] for trial in found.trials]
    assert sorted(path.name for path in (tmp_path / "tuned").iterdir()) == ["recipe.toml", "study.json", "trials.csv"]


def test_what_was_learned_has_a_say():
    """After eight settings at random the rates are nearer to the best one: by chance half of them are e^1.2 away."""
    space = parse_ranges(RANGES, load("tiny"))
    trials, distances = [], []
    for number in range(16):
        proposal = propose(trials, space, seed=3, maximise=False)
        distances.append(abs(math.log(proposal.values["train.learning_rate"] / 0.03)))
        trials.append(Trial(number, "complete", 20 + 30 * distances[-1], 1.0, 1.0, 7, proposal.values))
    assert statistics.median(distances[9:]) < 0.7 < statistics.median(distances[:8])


def test_nothing_mattered():
    """Where all did alike, or few were complete."""
    space = parse_ranges(RANGES, load("tiny"))

    def trials(count, value):
        values = [{"train.learning_rate": 0.002 * (1 + n), "model.dropout": 0.3} for n in range(count)]
        return [Trial(n, "complete", value(n), 1.0, 1.0, 7, values[n]) for n in range(count)]

    assert importance(trials(12, lambda n: 5), space, maximise=False) == []
    assert importance(trials(9, lambda n: n), space, maximise=False) == []
    assert importance(trials(10, lambda n: n), space, maximise=False)[0].key == "train.learning_rate"


@pytest.mark.parametrize("metric", ["sequence_error", "bleu"])
def test_never_worse_than_the_recipe(training, tune, metric):
    """Of equals the recipe itself; and more BLEU is better."""
    sign = -1 if metric == "bleu" else 1
    training(lambda recipe, tenth: 50 + sign * 9 * (recipe.model.dropout > 0.2))
    found = tune(trials=9, set={**FIXED, "train.metric": metric})
    assert {trial.value for trial in found.trials} == {50, 50 + sign * 9}
    assert found.best.number == 0
    assert found.recipe == load("tiny", {**FIXED, "train.metric": metric})


def test_the_loss_decides_between_equals(tune, training, monkeypatch):
    """While every answer is wrong, say."""
    training(lambda recipe, tenth: 100)
    module = sys.modules["heedful.tuning.loop"]
    every = module.train

    def losing(pairs, *, recipe, reporter, **rest):
        class Loses:
            message, update = reporter.message, reporter.update

            @staticmethod
            def validated(validated):
                reporter.validated(validated._replace(dev_loss=1 + abs(recipe.model.dropout - 0.3)))

        every(pairs, recipe=recipe, reporter=Loses, **rest)

    monkeypatch.setattr(module, "train", losing)
    found = tune(trials=6)
    assert abs(found.best.values["model.dropout"] - 0.3) == min(
        abs(trial.values["model.dropout"] - 0.3) for trial in found.trials if trial.state == "complete"
    )
    assert found.best.number != 0


def test_warnings_of_a_small_budget(training, tune):
    """Of a warm-up that is most of it; none of validations, of which there are ten."""
    said = []

    class Reporter:
        begun = update = ended = staticmethod(lambda *told: None)
        message = staticmethod(said.append)

    training(bowl)
    tune(trials=1, reporter=Reporter, set={**FIXED, "train.warmup_updates": 6})
    assert said[0] == "searched: train.learning_rate 0.001..0.1:log, model.dropout 0.0..0.5"
    (warning,) = [text for text in said if text.startswith("warning")]
    assert warning.startswith("warning: train.warmup_updates = 6, and a trial has 10 updates")
    assert "not searched: train.batch_tokens" not in str(said)  # it was set


def test_interrupted_is_the_same(training, tune, tmp_path):
    """With Ctrl-C in the middle of a training, twice, and one right before: the same trials."""
    training(bowl)
    whole = tune(trials=8, out=tmp_path / "whole")
    calls = []

    def interrupted(recipe, tenth):
        calls.append(tenth)
        if len(calls) in (1, 25, 50):
            raise KeyboardInterrupt
        return bowl(recipe, tenth)

    trained = training(interrupted)
    for done in (0, 2, 4):
        with pytest.raises(KeyboardInterrupt):
            tune(trials=8)
        assert (tmp_path / "tuned" / "recipe.toml").exists() == (done > 0)
        assert not (tmp_path / "tuned" / "trials").exists()
    found = tune(trials=8)
    assert len(trained) == 8 + 3
    assert without_times(found.trials) == without_times(whole.trials)
    assert {trial.state for trial in found.trials} == {"complete", "pruned"}
    assert found.importance == whole.importance
    assert len(tune(trials=8).trials) == 8  # it has ended, and says so again
    assert len(trained) == 8 + 3


def test_another_seed_is_another_search(training, tune, tmp_path):
    training(bowl)
    one = tune(trials=3)
    other = tune(trials=3, out=tmp_path / "other", set={**FIXED, "train.seed": 2})
    assert one.trials[0].values == other.trials[0].values
    assert one.trials[1].values != other.trials[1].values


def test_hopeless_trainings_are_stopped(training, tune):
    """None of the first four, nor in the first two tenths; then those that are worse than the median at their share."""
    trained = training(lambda recipe, tenth: 100 * (len(trained) > 6) - tenth)
    found = tune(trials=9)
    assert [trial.state for trial in found.trials] == ["complete"] * 6 + ["pruned"] * 3
    assert [len(trial.looks) for trial in found.trials] == [10] * 6 + [3] * 3
    assert [trial.updates for trial in found.trials] == [10] * 6 + [3] * 3
    assert found.trials[7].value == 100 - 2  # the best until then


def test_one_look_counts_for_all_shares_before_it(training, tune, monkeypatch):
    """Trials are compared at equal shares of their budget, though larger batches are looked at less often."""
    training(bowl)
    module = sys.modules["heedful.tuning.loop"]
    every = module.train

    def seldom(pairs, *, reporter, **rest):
        class Fewer:
            message, update = reporter.message, reporter.update

            @staticmethod
            def validated(validated):
                if validated.updates in (4, 10):
                    reporter.validated(validated)

        every(pairs, reporter=Fewer, **rest)

    monkeypatch.setattr(module, "train", seldom)
    found = tune(trials=1)
    value = found.trials[0].value
    assert found.trials[0].looks == {tenth: (value + (6 if tenth <= 3 else 0), 1.0) for tenth in range(10)}


def test_failures_are_trials(training, tune):
    """Without a loss, without memory, with parts that do not go together: told, and the search goes on."""
    errors = {2: TrainingError("the loss is nan"), 3: MemoryShortage("no room"), 5: RecipeError("do not go together")}

    def error(recipe, tenth):
        if len(trained) in errors:
            raise errors[len(trained)]
        return bowl(recipe, tenth)

    trained = training(error)
    found = tune(trials=6)
    assert [trial.number for trial in found.trials if trial.state == "failed"] == [1, 2, 4]
    assert [trial.reason for trial in found.trials] == [
        None,
        "the loss is nan",
        "no room",
        None,
        *["do not go together"],
        None,
    ]
    assert found.trials[1].value is None
    assert "3 failed" in found.file.read_text("utf-8")


def test_all_fail(training, tune):
    def error(recipe, tenth):
        raise TrainingError("the loss is nan")

    training(error)
    with pytest.raises(TrainingError, match="none of 3 trials could be trained to its end: the loss is nan"):
        tune(trials=3)


def test_a_recipe_that_cannot_be_trained_leaves_nothing(training, tune, tmp_path):
    def error(recipe, tenth):
        raise RecipeError("no such thing")

    training(error)
    with pytest.raises(RecipeError, match="no such thing"):
        tune()
    training(bowl)
    assert len(tune(trials=1, set={**FIXED, "train.clip_norm": 2.0}).trials) == 1  # in the same folder


def test_every_setting_once(training, tune):
    """Where there are no others, it ends."""
    trained = training(lambda recipe, tenth: 5)
    found = tune(trials=99, range=["model.cell=gru,lstm", "model.encoder_layers=1,2,3"])
    assert len(found.trials) == len({(r.model.cell, r.model.encoder_layers) for r in trained}) == 6
    assert found.ended == "all settings in the ranges have been tried"


def test_a_recipe_outside_of_its_ranges(training, tune):
    """It is tried first all the same, and can win."""
    training(lambda recipe, tenth: 5 + (recipe.model.dropout > 0))
    found = tune(range={"model.dropout": "0.2..0.3"})
    assert found.trials[0].values == {"model.dropout": 0.0}
    assert all(0.2 <= trial.values["model.dropout"] <= 0.3 for trial in found.trials[1:])
    assert found.best.number == 0


def test_several_seeds(training, tune):
    """A setting is judged by the mean."""
    trained = training(lambda recipe, tenth: 10 * recipe.train.seed)
    found = tune(trials=2, seeds=3)
    assert [recipe.train.seed for recipe in trained] == [1, 2, 3, 1, 2, 3]
    assert [(trial.value, trial.updates) for trial in found.trials] == [(20, 30), (20, 30)]


def test_keep(training, tune, tmp_path):
    training(bowl)
    tune(trials=2, keep=True)
    assert sorted(path.name for path in (tmp_path / "tuned" / "trials").iterdir()) == ["000", "001"]


def test_time(training, tune, pairs, tmp_path):
    """No trial is begun that would not end in time, judged by the median of the complete ones."""

    def trial(number, minutes, state="complete"):
        return Trial(number, state, 1.0, 1.0, 60 * minutes, 7, {})

    done = [trial(0, 2), trial(1, 4), trial(2, 3), trial(3, 1, "pruned")]
    assert _enough(done, minutes=13, trials=None) is None
    assert _enough(done, minutes=12.9, trials=None) == "another trial would not end within 12.9 minutes"
    assert _enough([trial(0, 2, "failed")], minutes=3, trials=None) is None
    assert _enough([trial(0, 3, "failed")], minutes=3, trials=None) is not None
    assert _enough(done, minutes=99, trials=4) == "4 trials were asked for"
    training(bowl)
    assert tune(trials=1, updates=None, minutes=30).trials
    study = tmp_path / "tuned" / "study.json"
    assert json.loads(study.read_text())["asked"]["trial_minutes"] == 2.0
    tune(trials=2, updates=None, minutes=60)  # goes on with what a trial has, not with a fifteenth of 60


OTHER = {
    "range": (
        {"range": {**RANGES, "model.dropout": "0.1..0.5"}},
        "range model.dropout '0.0..0.5' there, '0.1..0.5' now",
    ),
    "more": ({"range": {**RANGES, "model.heads": [1, 11]}}, "range model.heads none there, '1,11' now"),
    "setting": ({"set": {**FIXED, "train.clip_norm": 2.0}}, "train.clip_norm 1.0 there, 2.0 now"),
    "updates": ({"updates": 11}, "updates 10 there, 11 now"),
    "seeds": ({"seeds": 2}, "seeds 1 there, 2 now"),
}


@pytest.mark.parametrize("kind", OTHER)
def test_another_search_in_the_folder(training, tune, kind):
    arguments, says = OTHER[kind]
    training(bowl)
    tune(trials=1)
    with pytest.raises(RunError, match="holds another search: ") as refused:
        tune(trials=2, **arguments)
    assert f"{says}; name another folder, or remove that one" in str(refused.value)


def test_other_pairs(training, tune, pairs, tmp_path):
    training(bowl)
    tune(trials=1, dev=pairs)
    (tmp_path / "more.tsv").write_bytes(pairs.read_bytes() + b"abc\tA B C\n")
    with pytest.raises(RunError, match="holds another search: pairs '"):
        tune(pairs=tmp_path / "more.tsv", dev=pairs)
    with pytest.raises(RunError, match="search: development pairs '"):
        tune(dev=tmp_path / "more.tsv")


@pytest.mark.parametrize(
    "change",
    [
        lambda study: study["trials"].pop(0),
        lambda study: study["trials"][0].update(state="done"),
        lambda study: study["trials"][0].update(value=None),
        lambda study: study["trials"][0].update(value="1"),
        lambda study: study["trials"][0].pop("looks"),
        lambda study: study["trials"][0].update(more=1),
        lambda study: study.pop("asked"),
    ],
)
def test_a_damaged_study(training, tune, tmp_path, change):
    training(bowl)
    tune(trials=2)
    path = tmp_path / "tuned" / "study.json"
    study = json.loads(path.read_text())
    change(study)
    for text in (json.dumps(study), path.read_text()[:-9]):
        path.write_text(text)
        with pytest.raises(RunError, match=r"study\.json: expected a search as it was written, got"):
            tune()


def test_a_folder_of_something_else(training, tune, tmp_path):
    training(bowl)
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "recipe.toml").write_text("")
    with pytest.raises(RunError, match=r"run: holds a recipe.toml that is of no search"):
        tune(out=tmp_path / "run")
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="file: expected a folder for the search, got a file"):
        tune(out=tmp_path / "file")


def test_without_optuna(refused, monkeypatch, pairs, tmp_path):
    monkeypatch.setitem(sys.modules, "optuna", None)
    message = refused("tune", pairs, "--out", tmp_path / "tuned", "--recipe", "tiny")
    assert message == "tune needs the package optuna: pip install 'heedful[tune]'"
    assert not (tmp_path / "tuned").exists()


def test_several_processes(refused, monkeypatch, pairs, tmp_path):
    monkeypatch.setenv("WORLD_SIZE", "2")
    message = refused("tune", pairs, "--out", tmp_path / "tuned", "--recipe", "tiny")
    assert message == "tune runs in one process; start it without accelerate launch or torchrun"


NUMBERS = {
    "--minutes=0": "minutes: expected a number above 0, got 0.0",
    "--minutes=inf": "minutes: expected a number above 0, got inf",
    "--trial-minutes=-1": "trial_minutes: expected a number above 0, got -1.0",
    "--trial-minutes=31": "trial_minutes 31 is more than minutes 30, which is for all trials",
    "--trials=0": "trials: expected a whole number from 1 on, got 0",
    "--updates=0": "updates: expected a whole number from 1 on, got 0",
    "--seeds=0": "seeds: expected a whole number from 1 on, got 0",
    "--updates=9 --trial-minutes=9": "updates and trial_minutes are both a trial's budget; choose one",
    "--range=model.dropot=1,2": "range model.dropot: unknown key 'model.dropot'; did you mean 'dropout'?",
    "--range=model.heads=1,3": "range model.heads: 3 does not go with the recipe: ",
    "--set=model.initialisation=unifrom": "unknown initialisation 'unifrom'; did you mean 'uniform'?",
    "--dev=nowhere.tsv": "no such file, nor built-in corpus: 'nowhere.tsv'",
}


@pytest.mark.parametrize("given", NUMBERS)
def test_bad_input(refused, pairs, tmp_path, given):
    """Said before anything is written."""
    message = refused("tune", pairs, "--out", tmp_path / "tuned", "--recipe=tiny", *given.split())
    assert NUMBERS[given] in message
    assert not (tmp_path / "tuned").exists()


def test_nothing_to_search(refused, pairs, tmp_path):
    settings = [f"--set={key}={value}" for key, value in FIXED.items()]
    message = refused("tune", pairs, "--out", tmp_path / "tuned", "--recipe=tiny", *settings)
    assert message == "nothing to search: every range of the recipe is fixed by a setting, or does not fit"


def test_for_real(cli, pairs, tmp_path):
    """Two trials of a model that is trained, by the command line; what it leaves can be trained with."""
    out, sets = tmp_path / "tuned", [f"--set={key}={value}" for key, value in FIXED.items()]
    ranges = ["--range=train.learning_rate=0.01..0.1:log"]
    command = ["tune", pairs, "--out", out, "--recipe=tiny", "--updates=2", "--trials=2", *sets, *ranges]
    done = cli(*command, "--json")
    assert done.code == 0, done.err
    (found,) = done.json
    assert [trial["state"] for trial in found["trials"]] == ["complete", "complete"]
    assert found["trials"][0]["values"] == {"train.learning_rate": 0.003}
    assert "warning: a trial is validated 1 times" in done.err
    recipe = tomllib.loads((out / "recipe.toml").read_text("utf-8"))
    assert recipe["train"]["learning_rate"] == found["trials"][found["best"]]["values"]["train.learning_rate"]
    again = cli(*command)
    assert again.code == 0
    assert (
        f"{out}/recipe.toml written; train with it: heedful train PAIRS --recipe {out}/recipe.toml"
        in again.out.decode()
    )
    assert "2 trials: 2 complete, 0 stopped early, 0 failed; 2 trials were asked for" in again.out.decode()
    settings = ["--set=train.epochs=none", "--set=train.updates=1"]
    assert cli("train", pairs, "--recipe", out / "recipe.toml", "--out", tmp_path / "run", *settings).code == 0


@pytest.mark.slow
def test_ctrl_c(pairs, tmp_path):
    """130 and a word about it; the same command goes on to what a search without it finds."""
    sets = [f"--set={key}={value}" for key, value in FIXED.items()]
    command = [
        "tune",
        str(pairs),
        "--recipe=tiny",
        "--updates=12",
        "--trials=4",
        "--range=model.dropout=0.0..0.5",
        *sets,
    ]

    def search(out):
        program = [sys.executable, "-c", PROGRAM, *command, f"--out={out}"]
        return subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    out, whole = tmp_path / "tuned", tmp_path / "whole"
    process, until = search(out), time.monotonic() + 120
    while not (out / "trials" / "002").exists() and time.monotonic() < until and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, ""), stderr
    assert stderr.rstrip().endswith("heedful: stopped; the same command goes on")
    assert sorted(path.name for path in out.iterdir()) == ["recipe.toml", "study.json", "trials.csv"]
    found = []
    for folder in (out, whole):
        process = search(folder)
        process.communicate(timeout=120)
        assert process.returncode == 0
        found.append(json.loads((folder / "study.json").read_text()))
        for trial in found[-1]["trials"]:
            del trial["seconds"]
    assert found[0] == found[1]
    assert len(found[0]["trials"]) == 4
