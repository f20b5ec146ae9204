"""A series of trainings: what is finished is passed over, what was stopped goes on, failures are told."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.attention import scores
from heedful.errors import DataError, RecipeError, RunError, TrainingError
from heedful.recipes import load
from heedful.series import Finished, Trial, folder_of, make_trial, run_series
from training.cases import TINY, same_tensors, spelling_pairs


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return spelling_pairs(tmp_path_factory.mktemp("pairs") / "words.tsv", 40)


def trial_of(pairs: Path, name: str = "early", *, seed: int = 1, updates: int = 6, **settings: Any) -> Trial:
    usual = {**TINY, "train.validate_every": 1.0}
    return make_trial(name, "tiny", pairs=pairs, seed=seed, updates=updates, set={**usual, **settings})


class Watching:
    """Remembers what it is told, as (kind, trial's name, seed); `at` is called with each."""

    def __init__(self, at: Any = None) -> None:
        self.told: list[tuple[str, str, int]] = []
        self._at = at or (lambda told: None)

    def _tell(self, kind: str, trial: Trial) -> None:
        self.told.append((kind, trial.name, trial.seed))
        self._at(self.told)

    def began(self, trial: Trial, *, resumed: bool) -> None:
        self._tell("resumed" if resumed else "began", trial)

    def message(self, trial: Trial, text: str) -> None:
        pass

    def update(self, trial: Trial, update: Any) -> None:
        self._tell("update", trial)

    def validated(self, trial: Trial, validated: Any) -> None:
        self._tell("validated", trial)

    def ended(self, trial: Trial, finished: Finished) -> None:
        self._tell("already" if finished.already else "ended", trial)

    def kinds(self) -> list[str]:
        return [kind for kind, *_ in self.told if kind not in ("update", "validated")]


def test_each_trial_is_a_run_and_is_not_trained_again(pairs, tmp_path):
    trials = [trial_of(pairs), trial_of(pairs, seed=2), trial_of(pairs, "a/b", **{"model.fusion": "none"})]
    watching = Watching()
    first = run_series(trials, out=tmp_path, watcher=watching)
    assert [(one.name, one.seed, one.updates, one.stopped) for one in first] == [
        ("early", 1, 6, "budget"),
        ("early", 2, 6, "budget"),
        ("a/b", 1, 6, "budget"),
    ]
    assert [one.folder for one in first] == [
        tmp_path / "early/seed-1",
        tmp_path / "early/seed-2",
        tmp_path / "a/b/seed-1",
    ]
    for one in first:
        model = heedful.load(one.folder).predictor.model
        assert one.parameters == sum(parameter.numel() for parameter in model.parameters())
        assert one.minutes > 0
        assert one.best_updates in range(7)
    assert watching.kinds() == ["began", "ended"] * 3

    again = Watching()
    second = run_series(trials, out=tmp_path, watcher=again)
    assert again.kinds() == ["already"] * 3
    assert [vars(one) | {"already": False} for one in second] == [vars(one) for one in first]


def test_what_was_stopped_goes_on_to_the_same_bits(pairs, tmp_path):
    trials = [trial_of(pairs), trial_of(pairs, seed=2)]
    whole = run_series(trials, out=tmp_path / "whole")

    def stop(told: list[tuple[str, str, int]]) -> None:
        if told[-1] == ("validated", "early", 2):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_series(trials, out=tmp_path / "stopped", watcher=Watching(stop))
    watching = Watching()
    after = run_series(trials, out=tmp_path / "stopped", watcher=watching)
    assert watching.kinds() == ["already", "resumed", "ended"]
    for one, other in zip(whole, after, strict=True):
        assert same_tensors(one.folder / "model.safetensors", other.folder / "model.safetensors")
        assert (one.updates, one.epochs, one.best_updates) == (other.updates, other.epochs, other.best_updates)


def test_another_training_in_the_folder_is_refused_before_any_begins(pairs, tmp_path):
    run_series([trial_of(pairs)], out=tmp_path)
    fresh = trial_of(pairs, "new")
    for changed in (trial_of(pairs, updates=7), trial_of(spelling_pairs(tmp_path / "other.tsv", 41))):
        with pytest.raises(RunError, match=r"seed-1: holds a training with another recipe, budget or data"):
            run_series([fresh, changed], out=tmp_path)
        assert not folder_of(fresh, tmp_path).exists()


def test_a_key_that_is_new_since_then_does_not_make_it_another_training(pairs, tmp_path):
    (one,) = run_series([trial_of(pairs)], out=tmp_path)
    recipe = one.folder / "recipe.toml"
    lines = recipe.read_text("utf-8").splitlines(keepends=True)
    recipe.write_text("".join(line for line in lines if not line.startswith("least_updates")), "utf-8")
    watching = Watching()
    run_series([trial_of(pairs)], out=tmp_path, watcher=watching)
    assert watching.kinds() == ["already"]
    with pytest.raises(RunError, match=r"seed-1: holds a training with another recipe"):
        run_series([trial_of(pairs, **{"train.least_updates": 3})], out=tmp_path)


def test_a_training_that_was_stopped_is_not_taken_up_with_another_recipe(pairs, tmp_path):
    def stop(told: list[tuple[str, str, int]]) -> None:
        if told[-1][0] == "update":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_series([trial_of(pairs)], out=tmp_path, watcher=Watching(stop))
    with pytest.raises(RunError, match=r"seed-1: holds a training with another recipe"):
        run_series([trial_of(pairs, **{"model.cell": "lstm"})], out=tmp_path)


def test_patience_is_told(pairs, tmp_path):
    trial = trial_of(pairs, updates=500, **{"train.learning_rate": 1e-9, "train.patience": 1})
    (one,) = run_series([trial], out=tmp_path)
    assert one.stopped == "patience"
    assert one.updates < 500


def test_a_loss_that_is_no_number_ends_one_training_and_not_the_series(pairs, tmp_path):
    def break_off(told: list[tuple[str, str, int]]) -> None:
        if told[-1] == ("validated", "wild", 1):
            raise TrainingError("the loss is nan at update 4")

    trials = [trial_of(pairs, "wild"), trial_of(pairs)]
    wild, other = run_series(trials, out=tmp_path, watcher=Watching(break_off))
    assert (wild.stopped, other.stopped) == ("the loss is nan at update 4", "budget")
    assert 0 < wild.updates < 6
    assert heedful.load(wild.folder).predict(["abc"])
    assert run_series(trials, out=tmp_path)[0].stopped == wild.stopped  # and it is not tried again


def test_a_training_that_never_began_ends_the_series(pairs, tmp_path, monkeypatch):
    def refuse(*arguments: Any, **keywords: Any) -> None:
        raise TrainingError("memory does not suffice")

    monkeypatch.setattr("heedful.series.run.train", refuse)
    with pytest.raises(TrainingError, match=r"^early, seed 1: memory does not suffice"):
        run_series([trial_of(pairs)], out=tmp_path)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"name": "../up"}, DataError, r"a trial's name: expected letters"),
        ({"name": "a//b"}, DataError, r"a trial's name"),
        ({"updates": 5, "minutes": 1.0}, RecipeError, r"expected a budget of updates or of minutes, got both"),
        ({"set": ["train.epoch=5"]}, RecipeError, r"unknown key 'train.epoch'"),
    ],
)
def test_what_is_no_trial_is_refused(arguments, error, told):
    with pytest.raises(error, match=told):
        make_trial(**{"name": "a", "recipe": "tiny", "pairs": "copy", **arguments})


def test_the_budget_takes_the_place_of_the_recipes(pairs):
    for recipe in ("g2p", "tiny"):  # of minutes, of epochs
        train = make_trial("a", recipe, pairs=pairs, updates=5, seed=7).recipe.train
        assert (train.epochs, train.updates, train.minutes, train.seed) == (None, 5, None, 7)
    own = make_trial("a", load("g2p"), pairs=pairs).recipe.train
    assert (own.minutes, own.seed) == (40, 1)


def test_one_trial_twice_is_refused(pairs, tmp_path):
    with pytest.raises(DataError, match="got one twice"):
        run_series([trial_of(pairs), trial_of(pairs)], out=tmp_path)


def test_an_error_names_the_trial(tmp_path):
    with pytest.raises(DataError, match=r"^early, seed 1: no such file"):
        run_series([trial_of(tmp_path / "nowhere.tsv")], out=tmp_path)


@pytest.mark.slow
def test_several_at_once_are_the_same_bits(pairs, tmp_path):
    trials = [trial_of(pairs), trial_of(pairs, seed=2), trial_of(pairs, "none", **{"model.fusion": "none"})]
    alone = run_series(trials, out=tmp_path / "alone")
    watching = Watching()
    together = run_series(trials, out=tmp_path / "together", jobs=2, watcher=watching)
    for one, other in zip(alone, together, strict=True):
        assert same_tensors(one.folder / "model.safetensors", other.folder / "model.safetensors")
        assert (one.name, one.seed, one.parameters) == (other.name, other.seed, other.parameters)
    assert sorted(watching.kinds()) == ["began"] * 3 + ["ended"] * 3
    assert ("validated", "none", 1) in watching.told


OWN_SCORE = """from heedful.attention import scores
from heedful.attention.scores import General


@scores.register("general_of_ones_own")
class OwnScore(General):
    pass
"""


@pytest.mark.slow
def test_several_at_once_know_a_part_of_ones_own(pairs, tmp_path, monkeypatch):
    (tmp_path / "own_score.py").write_text(OWN_SCORE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(scores, "_members", dict(scores._members))
    importlib.import_module("own_score")
    monkeypatch.delitem(sys.modules, "own_score")
    trials = [trial_of(pairs, seed=seed, **{"model.score": "general_of_ones_own"}) for seed in (1, 2)]
    assert [one.updates for one in run_series(trials, out=tmp_path / "runs", jobs=2)] == [6, 6]


@pytest.mark.slow
def test_of_several_at_once_one_error_stops_all(pairs, tmp_path):
    trials = [trial_of(pairs, updates=1_000_000), trial_of(tmp_path / "nowhere.tsv", "lost")]
    with pytest.raises(DataError, match=r"^lost, seed 1: no such file"):
        run_series(trials, out=tmp_path, jobs=2)
    with pytest.raises(TrainingError, match="not begun"):  # what is stopped stays stopped
        _stopped_children(tmp_path).train(trials[0], False)


def _stopped_children(out: Path) -> Any:
    from heedful.series.parent import Children
    from heedful.series.watcher import Unwatched

    children = Children(out, Unwatched())
    children.stop()
    return children
