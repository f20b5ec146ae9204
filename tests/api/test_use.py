"""``import heedful``: load once, ask often, from several threads; answers do not depend on the company they are in."""

from __future__ import annotations

import copy
import dataclasses
import math
import os
import random
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import heedful
from heedful.errors import DataError, HeedfulError, RunError
from training.cases import spelled, train_tiny, words, write_pairs

WORDS = words(20, seed=8, longest=30)


def test_answers_come_in_the_order_of_the_texts(run):
    """Twenty lengths, shuffled, in batches of every size, greedily and with a beam: the same as each on its own."""
    for beam in (1, 5):
        alone = {word: run.predict([word], beam=beam)[0] for word in WORDS}
        assert len({answer.text for answer in alone.values()}) > 5
        for size in (1, 2, 7, 20, 65):
            order = random.Random(size).sample(WORDS, len(WORDS))
            for word, answer in zip(order, run.predict(order, beam=beam, batch_size=size), strict=True):
                assert answer.text == alone[word].text
                assert answer.score == pytest.approx(alone[word].score, abs=1e-5)
                assert answer.alignment.source == (*word, "∎")


def test_blank_texts_are_blank_and_cost_nothing(run):
    for blank in ("", " ", "\t", "\u3000", "\u00a0", "\n"):
        first, answer, last = run.predict(["abc", blank, "fed"])
        assert (answer.text, answer.tokens, answer.log_probability, answer.alignment) == ("", (), 0.0, None)
        assert first.text == run.predict(["abc"])[0].text
        assert last.text == run.predict(["fed"])[0].text
    assert run.predict([]) == []
    assert run.predict(["", " "], n_best=2, beam=3)[1][0].text == ""


def test_n_best(run):
    """A list for each text, best first, all different; each is scored as it is when it is given as a target."""
    several = run.predict(["abcd", "fe"], n_best=4, beam=9, length_penalty=0.5)
    for text, answers in zip(("abcd", "fe"), several, strict=True):
        assert 1 < len(answers) <= 4
        assert len({answer.text for answer in answers}) == len(answers)
        scores = [answer.score for answer in answers]
        assert scores == sorted(scores, reverse=True)
        for answer in answers:
            assert answer.finished
            assert math.fsum(answer.token_scores) == pytest.approx(answer.log_probability, abs=1e-4)
            length = len(answer.tokens) + 1
            assert answer.score == pytest.approx(answer.log_probability / length**0.5, abs=1e-5)
            if answer.text:
                pair = heedful.predictor.Pair(text, answer.text, (), 1)
                (forced,) = run.predictor.with_options({"length_penalty": 0.5}).force([pair])
                assert forced.score == pytest.approx(answer.score, abs=1e-4)
    one = run.predict(["abcd", "fe"], beam=9, length_penalty=0.5)
    assert [answer.text for answer in one] == [answers[0].text for answers in several]


def test_the_recipe_gives_the_defaults(run):
    settings = run.recipe.predict
    assert settings.beam == 5
    explicit = run.predict(WORDS[:5], beam=5, length_penalty=settings.length_penalty, batch_size=settings.batch_size)
    for one, other in zip(run.predict(WORDS[:5]), explicit, strict=True):
        assert (one.text, one.score) == (other.text, other.score)
    assert run.predict(WORDS[:5], beam=1)[0].score <= explicit[0].score + 1e-6


def test_alignments_only_where_wanted(run):
    assert all(answer.alignment is None for answer in run.predict(["abc", "f"], with_alignment=False))
    assert all(answer.alignment is not None for answer in run.predict(["abc", "f"]))


def test_a_bare_text_is_refused(run, folder):
    for ask in (run.predict, lambda text: heedful.predict(folder, text)):
        with pytest.raises(DataError, match=r"expected a list of texts, got one text; write \['abc'\]"):
            ask("abc")


def test_functions_and_methods_agree(run, folder, pairs):
    for one, other in zip(heedful.predict(folder, WORDS), run.predict(WORDS), strict=True):
        assert (one.text, one.score, one.alignment) == (other.text, other.score, other.alignment)
    assert heedful.evaluate(folder, pairs) == heedful.evaluate(run, str(pairs))
    assert heedful.align(str(folder), pairs) == heedful.align(run, pairs)


def test_align_is_predict_with_the_answer_given(run, tmp_path):
    """The alignment of a predicted text is that of the same text as a given target."""
    answers = run.predict(WORDS)
    chosen = [(word, answer) for word, answer in zip(WORDS, answers, strict=True) if answer.text and answer.finished]
    assert len(chosen) > 10
    path = write_pairs(tmp_path / "pairs.tsv", ((word, answer.text) for word, answer in chosen))
    for (_, answer), alignment in zip(chosen, heedful.align(run, path, batch_size=3), strict=True):
        assert alignment.source == answer.alignment.source
        assert alignment.target == answer.alignment.target
        assert alignment.weights == pytest.approx(answer.alignment.weights, abs=1e-5)
        assert alignment.weights.sum(1) == pytest.approx(1.0, abs=1e-5)


def test_score_is_the_probability_of_the_target(run, pairs, tmp_path):
    """Of all targets of one symbol, the end behind it, and the empty one: each as often as the model says it."""
    letters = [label for label in "ABCDEF" if not run.codec.target_vocabulary.unknown([label])]
    path = write_pairs(tmp_path / "pairs.tsv", (("abc", letter) for letter in letters))
    scored = heedful.score(run, path, length_penalty=0.0)
    assert [answer.text for answer in scored] == letters
    assert all(len(answer.token_scores) == 2 and answer.finished for answer in scored)
    assert sum(math.exp(answer.token_scores[0]) for answer in scored) < 1
    assert all(answer.score == answer.log_probability for answer in scored)
    best, *_ = sorted(scored, key=lambda answer: -answer.log_probability)
    several = run.predict(["abc"], n_best=30, beam=60, length_penalty=0.0)[0]
    found = {answer.text: answer.log_probability for answer in several}
    assert found.get(best.text, best.log_probability) == pytest.approx(best.log_probability, abs=1e-4)
    assert [answer.alignment for answer in scored] == heedful.align(run, path)


def test_evaluate_scores_what_predict_says(run, tmp_path):
    """Against a count by hand; every third target is another than the one that was taught."""
    chosen = words(40, seed=1)
    table = [(word, spelled(word) + " A" * (number % 3 == 0)) for number, word in enumerate(chosen)]
    pairs = write_pairs(tmp_path / "pairs.tsv", table)
    answers = run.predict([source for source, _ in table])
    wrong = sum(answer.text != target for answer, (_, target) in zip(answers, table, strict=True))
    scores = heedful.evaluate(run, pairs)
    assert scores.sequence_error == pytest.approx(100 * wrong / len(table))
    assert 0 < wrong < len(table)
    seen = []
    heedful.evaluate(run, pairs, progress=seen.append, batch_size=7)
    heedful.align(run, pairs, progress=seen.append, batch_size=50)
    assert sum(seen) == 2 * len(table)
    assert max(seen) == 40


def test_evaluate_searches_as_it_is_told(run, tmp_path):
    """The answers of one search, given as targets, are all right by the same search, and not by others."""
    options = {"beam": 7, "length_penalty": 0.0}
    answers = [(word, answer.text) for word, answer in zip(WORDS, run.predict(WORDS, **options), strict=True)]
    path = write_pairs(tmp_path / "pairs.tsv", ((word, text) for word, text in answers if text))
    assert heedful.evaluate(run, path, **options).sequence_error == 0
    assert heedful.evaluate(run, path, beam=1).sequence_error > 0
    assert heedful.evaluate(run, path, beam=7, length_penalty=5.0).sequence_error > 0


def test_reversed_sources_are_shown_as_they_were_written(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"data.reverse_source": True, "train.updates": 3})
    (answer,) = heedful.load(folder).predict(["abcd"])
    assert answer.alignment.source == ("a", "b", "c", "d", "∎")
    assert answer.alignment.source_positions == (1, 2, 3, 4, 0)


def test_a_model_without_attention(pairs, tmp_path):
    folder = train_tiny(pairs, tmp_path / "run", set={"model.fusion": "none", "train.updates": 3})
    run = heedful.load(folder)
    assert run.predict(["abc"])[0].alignment is None
    with pytest.raises(RunError, match=r"has no attention \(fusion 'none'\), so there is nothing to align"):
        heedful.align(run, pairs)


def test_threads_share_a_run(run, pairs):
    """Four threads with questions of their own; no answer is another's."""
    expected = {beam: [(a.text, a.score) for a in run.predict(WORDS, beam=beam)] for beam in (1, 2, 3, 4)}
    weights = [alignment.weights for alignment in heedful.align(run, pairs)]

    def ask(beam: int) -> bool:
        answers = [(a.text, a.score) for a in run.predict(WORDS, beam=beam)]
        aligned = [alignment.weights for alignment in heedful.align(run, pairs)]
        return answers == expected[beam] and all((a == b).all() for a, b in zip(aligned, weights, strict=True))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, [1, 2, 3, 4] * 3))


def test_asking_changes_nothing(run, folder, pairs):
    model = run.predictor.model
    before = copy.deepcopy(model.state_dict())
    run.predict(WORDS, n_best=2)
    heedful.align(run, pairs)
    assert not model.training
    assert all((before[name] == value).all() for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert dataclasses.is_dataclass(run)
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.folder = Path("elsewhere")


def test_a_run_can_be_moved(run, folder, tmp_path):
    """To another folder; nothing in it knows where it was."""
    moved = Path(shutil.copytree(folder, tmp_path / "somewhere" / "else"))
    assert [a.score for a in heedful.load(moved).predict(WORDS)] == [a.score for a in run.predict(WORDS)]
    for path in moved.iterdir():
        assert str(folder).encode() not in path.read_bytes()


def test_nothing_in_a_run_is_unpickled(folder):
    """Plain text, CSV, JSON and safetensors, and that is all."""
    assert {path.name for path in folder.iterdir()} == {
        *("recipe.toml", "vocabulary.json", "model.safetensors", "checkpoint.safetensors", "log.csv")
    }
    for name in ("model.safetensors", "checkpoint.safetensors"):
        head = (folder / name).read_bytes()[8:9]
        assert head == b"{"


@pytest.mark.parametrize(
    "options", [{"beam": 0}, {"n_best": 0}, {"beam": 2, "n_best": 3}, {"batch_size": 0}, {"batch_size": -1},
                {"length_penalty": -1.0}, {"length_penalty": math.nan}, {"length_penalty": 1e3}]
)  # fmt: skip
def test_options_that_make_no_sense(run, options):
    with pytest.raises(HeedfulError, match=next(iter(options))):
        run.predict(["abc"], **options)
    if "n_best" not in options:
        with pytest.raises(HeedfulError, match=next(iter(options))):
            run.predict(["abc"], **{"beam": 1, **options})  # greedy search is no exception


def test_other_python_errors_are_not_hidden():
    with pytest.raises(AttributeError, match="has no attribute 'nope'"):
        _ = heedful.nope  # type: ignore[attr-defined]
    assert {"load", "train", "predict", "evaluate", "align", "Run", "Prediction", "Alignment"} <= set(dir(heedful))
    for name in heedful.__all__:
        assert getattr(heedful, name) is not None


LIGHT = """
import sys
HEAVY = ("torch", "numpy", "pydantic", "matplotlib", "accelerate", "tokenizers", "sacrebleu", "rich")
def loaded(*but):
    return sorted(name for name in HEAVY if name in sys.modules and name not in but)
import heedful
assert not loaded(), loaded()
from heedful.cli import run
assert run(["--help"]) == 0
assert not loaded(), loaded()
for verb in ("train", "predict", "demo", "recipes"):
    assert run([verb, "--help"]) == 0
    assert not loaded("pydantic"), loaded()  # Typer takes it to read a command's options
import heedful.alignment, heedful.evaluation, heedful.plots
from heedful.data import read_pairs
assert len(read_pairs("copy:dev").pairs) == 500
assert "torch" not in sys.modules
"""


def test_imports_are_light():
    """`import heedful` and `--help` load none of the large libraries; reading pairs and looking do not load torch."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0, done.stderr


PREDICTS = """
import sys
from heedful.cli import run
assert run(["predict", sys.argv[1], sys.argv[2]]) == 0
own = ("heedful.training", "heedful.diagnosis", "heedful.tracing", "heedful.plots", "heedful.evaluation")
others = ("accelerate", "matplotlib", "entmax", "tokenizers", "sacrebleu", "rapidfuzz", "torch._dynamo")
print(sorted({*own, *others} & set(sys.modules)), file=sys.stderr)
"""


def test_predicting_loads_nothing_that_training_or_looking_needs(run, tmp_path):
    (tmp_path / "words").write_text("abc\n", encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV_")}
    command = [sys.executable, "-c", PREDICTS, str(run.folder), str(tmp_path / "words")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "[]\n"), done.stderr


def test_a_run_is_loaded_without_drawing_weights_that_are_overwritten(folder, monkeypatch):
    """Orthogonal matrices of a large model take seconds."""

    def refuse(*arguments):
        raise AssertionError("initialised")

    monkeypatch.setattr(sys.modules["heedful.model.build"], "initialise", refuse)
    assert heedful.load(folder).predict(["abc"]) == heedful.load(folder).predict(["abc"])
