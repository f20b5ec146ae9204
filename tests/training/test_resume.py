"""A training that was broken off and taken up again is the training that was not."""

from __future__ import annotations

import shutil

import pytest

import heedful
from heedful.errors import HeedfulError, RecipeError, RunError
from training.cases import Recorder, progress_of, resume, rows, same_tensors, tensors_of, train_tiny, write_pairs

# Randomness in the model, a schedule with a warm-up, validations in the middle of epochs.
SETTINGS = {
    "model.dropout": 0.3,
    "train.scheduled_sampling": 0.5,
    "train.schedule": "cosine",
    "train.warmup_updates": 5,
    "train.updates": 23,
    "train.validate_every": 0.4,
    "train.metric": "token_error",
}
# Each names a moment: an update (by its number) or a validation (by its place) after which Ctrl-C comes.
MOMENTS = {
    "first update": ("update", 1),
    "middle of an epoch": ("update", 8),
    "first validation": ("look", 1),
    "later validation": ("look", 3),
    "last update": ("update", 23),
}
CLOCK = {"train.checkpoint_minutes": 1e-9}  # a checkpoint after every update


def breaking_off(kind: str, count: int) -> Recorder:
    def stop(recorder: Recorder) -> None:
        done = recorder.updates[-1].updates if kind == "update" else len(recorder.looks)
        if done == count and not getattr(recorder, "stopped", False):
            recorder.stopped = True
            raise KeyboardInterrupt

    return Recorder(stop)


@pytest.fixture(scope="module")
def straight(pairs, tmp_path_factory):
    recorder = Recorder()
    folder = train_tiny(pairs, tmp_path_factory.mktemp("straight") / "run", set=SETTINGS, reporter=recorder)
    return folder, recorder


@pytest.mark.parametrize(
    ("moment", "clock"),
    [
        ("middle of an epoch", {}),
        ("middle of an epoch", CLOCK),
        ("later validation", {}),
        *(
            pytest.param(moment, {}, marks=pytest.mark.slow)
            for moment in ("first update", "first validation", "last update")
        ),
    ],
)
def test_stopped_and_resumed_is_as_straight(pairs, tmp_path, straight, moment, clock):
    folder, without_stop = straight
    recorder = breaking_off(*MOMENTS[moment])
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, out, set={**SETTINGS, **clock}, reporter=recorder)
    heedful.load(out)  # whatever the moment, there is a model
    resume(pairs, out, reporter=recorder)

    assert recorder.rates() == without_stop.rates()
    assert progress_of(out) == progress_of(folder)
    assert rows(out) == rows(folder)
    for name in ("model.safetensors", "checkpoint.safetensors"):  # weights, optimiser, random state
        assert same_tensors(out / name, folder / name), name


def test_a_checkpoint_holds_all_of_the_optimiser(straight):
    tensors, metadata = tensors_of(straight[0] / "checkpoint.safetensors")
    weights = {name.removeprefix("model.") for name in tensors if name.startswith("model.")}
    moments = [name for name in tensors if name.startswith("optimiser.")]
    assert len(moments) == 3 * len(weights)  # two moments and a count of AdamW for each
    assert all(tensors[name] == 23 for name in moments if name.endswith(".step"))
    assert metadata["progress"]["updates"] == 23


def test_there_is_a_checkpoint_before_the_first_update(pairs, tmp_path):
    def stop(recorder):
        assert progress_of(tmp_path / "run")["updates"] == 0
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, tmp_path / "run", reporter=Recorder(stop))
    assert heedful.load(tmp_path / "run").predict(["abc"])[0].score < 0


def test_checkpoints_by_the_clock(pairs, tmp_path):
    """Without a validation in between, work is saved every `checkpoint_minutes`."""
    settings = {**CLOCK, "train.validate_every": 100.0}
    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, tmp_path / "run", set=settings, reporter=breaking_off("update", 9))
    # The update that was under way is the only one that is lost.
    assert progress_of(tmp_path / "run")["updates"] == 8


def test_patience_goes_on_counting(pairs, tmp_path):
    """Nothing improves at a rate of almost 0: the third bad validation ends it, whenever it was broken off."""
    settings = {"train.learning_rate": 1e-30, "train.patience": 3, "train.updates": 100, "train.validate_every": 0.5}
    straight = train_tiny(pairs, tmp_path / "straight", set=settings)
    recorder = breaking_off("look", 3)  # the first is the best, two are bad
    with pytest.raises(KeyboardInterrupt):
        train_tiny(pairs, tmp_path / "run", set=settings, reporter=recorder)
    assert progress_of(tmp_path / "run")["bad_validations"] == 2
    before = len(recorder.looks)
    resume(pairs, tmp_path / "run", reporter=recorder)
    assert len(recorder.looks) == before + 1
    assert rows(tmp_path / "run") == rows(straight)
    assert len(rows(straight)) == 4


def test_a_finished_run_goes_on_with_a_larger_budget(pairs, tmp_path):
    """A constant rate does not depend on the budget: 6 updates and 5 more are 11."""
    settings = {"train.schedule": "constant", "model.dropout": 0.2, "train.validate_every": 100.0}
    once = train_tiny(pairs, tmp_path / "once", set={**settings, "train.updates": 11})
    twice = train_tiny(pairs, tmp_path / "twice", set={**settings, "train.updates": 6})
    resume(pairs, twice, set=["train.updates=11"])
    assert same_tensors(once / "checkpoint.safetensors", twice / "checkpoint.safetensors")
    assert heedful.load(twice).recipe.train.updates == 11  # and the recipe says so
    assert len(rows(twice)) == 2


def test_a_finished_run_without_a_larger_budget_stays(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 4})
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    recorder = Recorder()
    resume(pairs, folder, reporter=recorder)
    assert (recorder.updates, recorder.looks) == ([], [])
    assert recorder.messages[-1] == "nothing left to train: the budget or the patience is used up"
    kept = ("recipe.toml", "vocabulary.json", "model.safetensors", "log.csv")
    assert all((folder / name).read_bytes() == before[name] for name in kept)


def test_a_new_rate_is_used(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"train.updates": 4, "train.schedule": "constant"})
    recorder = Recorder()
    resume(pairs, folder, set={"train.learning_rate": 0.125, "train.updates": 6}, reporter=recorder)
    assert recorder.rates() == {5: 0.125, 6: 0.125}


@pytest.fixture
def finished(pairs, tmp_path):
    return train_tiny(pairs, tmp_path / "run", set={"train.updates": 4})


def unchanged(folder, act, *, error: type[HeedfulError], says: str) -> None:
    """`act` fails with a message, and not a byte of the run is another than before."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(error, match=says):
        act()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_resume_with_other_pairs_is_refused(finished, tmp_path):
    """And the run is as it was, the settings that came with it included."""
    other = write_pairs(tmp_path / "other.tsv", ((f"w{number}", "W") for number in range(50)))
    settings = {"train.updates": 9}
    unchanged(finished, lambda: resume(other, finished, set=settings), error=RunError, says="other pairs")


def test_resume_with_pairs_in_another_order_is_refused(finished, pairs, tmp_path):
    lines = pairs.read_bytes().splitlines(keepends=True)
    other = tmp_path / "other.tsv"
    other.write_bytes(b"".join(reversed(lines)))
    unchanged(finished, lambda: resume(other, finished), error=RunError, says="other pairs")


def test_resume_may_only_change_how_it_is_trained(finished, pairs):
    for settings in ({"model.cell": "lstm"}, ["data.dev_share=0.3"], ["predict.beam=3"]):
        act = lambda settings=settings: resume(pairs, finished, set=settings)  # noqa: E731
        unchanged(finished, act, error=RecipeError, says=r"only change settings of \[train\]")


@pytest.mark.parametrize("optimiser", ["adadelta", "sgd"])
def test_resume_with_another_optimiser_is_refused(finished, pairs, optimiser):
    """What Adam remembers is of no use to others: it must not be dropped in silence, nor end in a traceback."""
    settings = {"train.optimiser": optimiser, "train.updates": 9}
    unchanged(finished, lambda: resume(pairs, finished, set=settings), error=HeedfulError, says="optimiser")


@pytest.mark.parametrize("name", ["recipe.toml", "vocabulary.json", "model.safetensors", "checkpoint.safetensors"])
def test_resume_without_a_file_is_refused(finished, pairs, name):
    """Without the best weights too: training on would not bring them back."""
    (finished / name).unlink()
    settings = {"train.updates": 9}
    unchanged(finished, lambda: resume(pairs, finished, set=settings), error=RunError, says=name.replace(".", r"\."))


@pytest.mark.parametrize("name", ["recipe.toml", "vocabulary.json", "model.safetensors", "checkpoint.safetensors"])
def test_resume_with_a_cut_file_is_refused(finished, pairs, name):
    path = finished / name
    whole = path.read_bytes()
    sizes = (0, len(whole) // 2, len(whole) - 3)
    if name == "recipe.toml":  # a text may end early and still be a recipe
        sizes = (0, whole.index(b"[train]"), whole.index(b"seed = ") + 5)
    for size in sizes:
        path.write_bytes(whole[:size])
        unchanged(finished, lambda: resume(pairs, finished), error=RunError, says=name.replace(".", r"\."))


@pytest.mark.parametrize("content", ["updates;epoch\n4;1.0\n", "updates,epoch\nfour,1.0\n", "\xff\n"])
def test_a_log_that_was_edited_is_refused(finished, pairs, content):
    """A spreadsheet may have saved it in its own way."""
    (finished / "log.csv").write_text(content, encoding="latin-1")
    unchanged(finished, lambda: resume(pairs, finished), error=RunError, says=r"log\.csv: expected")


def test_resume_with_a_recipe_is_refused(finished, pairs):
    unchanged(finished, lambda: resume(pairs, finished, recipe="tiny"), error=RecipeError, says="with its own recipe")


def test_resume_of_nothing_is_refused(pairs, tmp_path):
    with pytest.raises(RunError, match="no such run folder"):
        resume(pairs, tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
    with pytest.raises(RunError, match="choose one"):
        resume(pairs, tmp_path / "nothing", overwrite=True)


def test_a_run_is_neither_trained_over_nor_mixed(finished, pairs, tmp_path):
    settings = {"model.cell": "lstm", "train.updates": 2}
    unchanged(finished, lambda: train_tiny(pairs, finished), error=RunError, says=r"holds a run already.*overwrite")
    train_tiny(pairs, finished, set=settings, overwrite=True)
    fresh = train_tiny(pairs, tmp_path / "fresh", set=settings)
    assert rows(finished) == rows(fresh)
    assert same_tensors(finished / "checkpoint.safetensors", fresh / "checkpoint.safetensors")


def test_part_of_a_run_is_not_trained_over_either(finished, pairs, tmp_path):
    for name in ("checkpoint.safetensors", "model.safetensors"):
        folder = tmp_path / name.partition(".")[0]
        folder.mkdir()
        shutil.copy(finished / name, folder / name)
        unchanged(folder, lambda folder=folder: train_tiny(pairs, folder), error=RunError, says="holds a run already")


def test_what_a_training_left_that_never_began_may_be_trained_over(finished, pairs, tmp_path):
    """A recipe and vocabularies without weights are no run; nor are files of somebody else's, which stay."""
    for name in ("checkpoint.safetensors", "model.safetensors", "log.csv"):
        (finished / name).unlink()
    (finished / "notes.txt").write_text("mine")
    train_tiny(pairs, finished, set={"train.updates": 2})
    assert heedful.load(finished).recipe.train.updates == 2
    assert (finished / "notes.txt").read_text() == "mine"


def test_a_file_is_no_folder(pairs, tmp_path):
    (tmp_path / "run").write_text("mine")
    with pytest.raises(RunError, match="expected a folder for the run, got a file"):
        train_tiny(pairs, tmp_path / "run", overwrite=True)
    assert (tmp_path / "run").read_text() == "mine"
