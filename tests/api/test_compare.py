"""``heedful.compare``: what is trained, answered, measured and told; what goes on; what is refused before training."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import heedful
from api.comparing import RECIPES, SETTINGS, ask_here, compare_tiny
from heedful.api.comparing.processes import Processes
from heedful.comparison import Comparison
from heedful.comparison.counts import rate_of, sums_of
from heedful.data import held_out
from heedful.errors import DataError, HeedfulError, RecipeError, RunError
from heedful.recipes import load
from heedful.series import Unwatched
from training.cases import write_pairs

ASK = Processes.ask  # before a fixture replaces it
OTHER = load("tiny", {"data.normalisation": "NFD"})


def test_the_file_holds_what_is_returned(compared):
    found, out = compared
    assert Comparison.load(out / "comparison.json") == found
    for report in ("report.html", "report.md"):
        assert found.signature in (out / report).read_text("utf-8").replace("\\", "")
    assert tuple(design.name for design in found.designs) == RECIPES
    assert [run.folder for run in found.designs[1].runs] == ["early/seed-1", "early/seed-2"]
    assert {(run.updates, run.stopped) for design in found.designs for run in design.runs} == {(8, "budget")}
    assert [(part.name, part.lines) for part in found.parts] == [
        (name, len((out / f"data/{name}.tsv").read_text().splitlines())) for name in ("dev", "test")
    ]


def test_scores_are_those_of_evaluate_and_follow_from_the_answers(compared):
    found, out = compared
    design = found.designs[1]
    for part in found.parts:
        for run in design.runs:
            answers = getattr(run, part.name)
            scores = heedful.evaluate(out / run.folder, out / f"data/{part.name}.tsv")
            assert answers.signature == scores.signature
            for metric in ("sequence_error", "token_error", "word_error"):
                sums = sums_of([answers], part, metric).sum(axis=1)
                assert rate_of(metric)(sums).tolist() == pytest.approx([getattr(scores, metric)])
                assert answers.scores[metric] == getattr(scores, metric)
    judged = found.judgement("token_error", "dev").errors[1].value
    assert judged == pytest.approx(sum(run.dev.scores["token_error"] for run in design.runs) / 2)


def test_attention_is_that_of_diagnose(compared):
    found, out = compared
    run = found.designs[2].runs[1]
    diagnosis = heedful.diagnose(out / run.folder, out / "data/test.tsv", size=200)
    assert run.attention is not None
    assert run.attention.verdict == diagnosis.verdict.name
    assert run.attention.measures["entropy"] == pytest.approx(diagnosis.measures["entropy"])
    assert run.attention.measures.get("aer") is None  # no gold links
    assert all(run.attention is None for run in found.designs[0].runs)


def test_parameters_and_speeds(compared):
    found, out = compared
    for design in found.designs:
        model = heedful.load(out / design.runs[0].folder).predictor.model
        assert design.cost.parameters == sum(parameter.numel() for parameter in model.parameters())
        assert design.cost.train_tokens_per_second > 0 < design.cost.sentences_per_second


def test_lengths_and_frequencies_are_counted(compared):
    found, out = compared
    train = "".join(line.partition("\t")[0] for line in (out / "data/train.tsv").read_text().splitlines())
    test = found.part
    for source, length, rarest, unknown in zip(test.sources, test.lengths, test.rarest, test.unknown, strict=True):
        assert length == len(source)
        assert rarest == min(train.count(letter) for letter in source)
        assert unknown == sum(letter not in train for letter in source)


def test_examples_are_answered_by_all_and_have_alignments(compared):
    found, out = compared
    assert [example.why for example in found.examples][-1] == "longest"
    for example in found.examples:
        assert found.part.sources[example.place] == example.source
        for design, answer in zip(found.designs, example.answers, strict=True):
            assert design.runs[0].test is not None
            assert answer.text == design.runs[0].test.texts[example.place]
            assert (answer.alignment is None) == (design.name == "fixed")
    run = heedful.load(out / "early/seed-1")
    example = found.examples[0]
    assert run.predict([example.source])[0].alignment == example.answers[1].alignment


def test_called_again_it_trains_answers_and_measures_nothing(compared, words, tmp_path):
    found, out = compared
    copy = shutil.copytree(out, tmp_path / "out", copy_function=shutil.copy2)
    messages: list[str] = []
    again = compare_tiny(words, copy, message=messages.append)
    assert again.model_dump() == found.model_dump()
    assert [text for text in messages if "answering" in text or "measuring" in text] == []


class Stop(Unwatched):
    """Ctrl-C, when the third training has begun."""

    def __init__(self) -> None:
        self.begun: list[str] = []

    def began(self, trial: Any, *, resumed: bool) -> None:
        self.begun.append(f"{trial.name} {trial.seed} {resumed}")

    def update(self, trial: Any, update: Any) -> None:
        if len(self.begun) == 3:
            raise KeyboardInterrupt


def test_what_was_stopped_goes_on_with_the_same_answers(compared, words, tmp_path):
    found, _ = compared
    stop = Stop()
    with pytest.raises(KeyboardInterrupt):
        compare_tiny(words, tmp_path / "out", watcher=stop)
    assert stop.begun == ["fixed 1 False", "early 1 False", "late_dot 1 False"]
    rest = Stop()
    rest.update = lambda trial, update: None  # type: ignore[method-assign]
    again = compare_tiny(words, tmp_path / "out", watcher=rest)
    assert rest.begun == ["late_dot 1 True", "fixed 2 False", "early 2 False", "late_dot 2 False"]
    for one, other in zip(found.designs, again.designs, strict=True):
        assert [run.test for run in one.runs] == [run.test for run in other.runs]
    assert again.judged == found.judged


def test_another_budget_in_the_same_folder_is_refused(compared, words):
    _, out = compared
    with pytest.raises(HeedfulError, match="holds a training with another recipe, budget or data"):
        compare_tiny(words, out, updates=9)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        ({"recipes": ["earyl"]}, RecipeError, "no such file, design or built-in recipe: 'earyl'; did you mean 'early'"),
        ({"recipes": "early"}, RecipeError, "recipes: expected a list of names"),
        ({"recipes": []}, RecipeError, "recipes: expected a list of names"),
        ({"recipes": ["early", "early"]}, RecipeError, "expected different names, got 'early' twice"),
        ({"base": "tyni"}, RecipeError, "no such file, nor built-in recipe: 'tyni'; did you mean 'tiny'"),
        (
            {"recipes": {"a": "early", "b": OTHER}},
            RecipeError,
            "b: reads with data.normalisation = 'NFD', a with 'NFC'",
        ),
        ({"set": {"data.dev_share": 0.2, "model.decoder_size": 11}}, HeedfulError, "^late_dot: .*query_size 11"),
        ({"set": {"train.seed": 3}}, RecipeError, "train.seed is the same for all designs: give seeds"),
        ({"set": {"train.updates": 3}}, RecipeError, "train.updates is the same for all designs: give updates or min"),
        ({"updates": 3, "minutes": 1.0}, RecipeError, "expected a budget of updates or of minutes, got both"),
        ({"updates": 0}, RecipeError, "train.updates"),
        ({"recipes": {"data": "early"}}, RecipeError, "'data' is where something else is put"),
        ({"recipes": {"a": "early", "a/seed-1": "fixed"}}, RecipeError, "'a' is where something else is put"),
        (
            {"recipes": {"a b": "early"}},
            RecipeError,
            "a name of letters, digits and any of _ . [+] -, got 'a b'",
        ),
        ({"recipes": [None]}, RecipeError, "expected names or files of recipes, got None"),
        ({"dev": 5}, DataError, "dev: expected a file, got 5"),
        ({"base": None}, DataError, "base: expected a recipe, got None"),
        ({"seeds": None}, DataError, "seeds: expected a list of whole numbers, got None"),
        ({"seeds": []}, DataError, "seeds: expected a list of whole numbers"),
        ({"seeds": [1, 1]}, DataError, r"seeds: expected different numbers, got \[1, 1\]"),
        ({"seeds": [-1]}, RecipeError, "train.seed"),
        ({"jobs": 0}, DataError, "jobs must be a whole number of at least 1"),
        ({"size": 0}, DataError, "size must be a whole number of at least 1"),
        ({"test": "nowhere.tsv"}, DataError, "no such file, nor built-in corpus: 'nowhere.tsv'"),
        ({"set": {"data.dev_share": 1e-9}}, DataError, "leaves nothing for dev"),
    ],
)
def test_what_is_refused_is_refused_before_any_training(words, tmp_path, arguments, error, told):
    with pytest.raises(error, match=told):
        compare_tiny(words, tmp_path / "out", **arguments)
    assert not (tmp_path / "out/early").exists()


@pytest.mark.parametrize("change", [{"set": {"data.dev_share": 0.3}}, {"size": 40}])
def test_pairs_that_are_held_out_are_not_changed_under_what_is_trained(compared, words, change):
    _, out = compared
    before = {path: path.read_bytes() for path in (out / "data").iterdir()}
    with pytest.raises(RunError, match="other pairs were held out there than are asked for now"):
        compare_tiny(words, out, **change)
    assert {path: path.read_bytes() for path in (out / "data").iterdir()} == before


@pytest.mark.parametrize("arguments", [{"jobs": 0}, {"set": {"model.decoder_size": 13}}, {"links": __file__}])
def test_what_is_refused_leaves_nothing(words, tmp_path, arguments):
    with pytest.raises(HeedfulError):
        compare_tiny(words, tmp_path / "out", **arguments)
    assert not (tmp_path / "out").exists()


def test_gold_links_give_the_alignment_error_rate(words, quick_costs, tmp_path):
    """And recipes may have names of their own, and be files."""
    lines = words.read_text().splitlines()
    links = tmp_path / "gold.txt"
    links.write_text("".join(" ".join(f"{i}-{i}" for i in range(len(line.split("\t")[0]))) + "\n" for line in lines))
    heedful_recipe = tmp_path / "mine.toml"
    heedful_recipe.write_text("[train]\nepochs = 1\n")
    recipes = {"mine": heedful_recipe, "dot": "late_dot"}
    found = compare_tiny(words, tmp_path / "out", recipes=recipes, links=links, seeds=[5], updates=2)
    assert [design.name for design in found.designs] == ["mine", "dot"]
    for design in found.designs:
        (run,) = design.runs
        assert run.attention is not None
        aer = run.attention.measures["aer"]
        own = heedful.aer(heedful.align(tmp_path / "out" / run.folder, tmp_path / "out/data/test.tsv"),
                          sure=tmp_path / "out/data/links.txt")  # fmt: skip
        assert aer == pytest.approx(own.aer)
    assert any("One seed" in note for note in found.notes)

    links.write_text("0-0\n" * (len(lines) - 1))
    with pytest.raises(DataError, match=rf"gold.txt: expected {len(lines)} lines, one for each of .*words.tsv, got"):
        compare_tiny(words, tmp_path / "other", links=links)


@pytest.mark.slow
def test_at_once_and_measured_alone(words, tmp_path, monkeypatch):
    """The real processes; memory is more than that of the library alone."""
    monkeypatch.setattr("heedful.api.comparing.processes.Processes.ask", ASK)
    messages: list[str] = []
    several = {"recipes": ["early"], "seeds": [1, 2], "updates": 3}
    found = compare_tiny(words, tmp_path / "out", jobs=2, message=messages.append, **several)
    assert "answering: 2 runs" in messages
    assert {text for text in messages if text.startswith("answer")} == {
        "answering: 2 runs",
        "answered: early, seed 1",
        "answered: early, seed 2",
    }
    cost = found.designs[0].cost
    assert found.machine.threads == 1
    assert cost.train_memory is None or cost.train_memory > 100
    assert cost.predict_memory is None or cost.predict_memory > 100
    monkeypatch.setattr("heedful.api.comparing.processes.Processes.ask", ask_here)
    alone = compare_tiny(words, tmp_path / "alone", **several)
    assert [run.test for run in alone.designs[0].runs] == [run.test for run in found.designs[0].runs]


@pytest.mark.slow
def test_what_goes_wrong_in_a_process_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr("heedful.api.comparing.processes.Processes.ask", ASK)
    processes = Processes(threads=1)
    with pytest.raises(RunError, match="nowhere: no such run folder"):
        processes.together([{"do": "predict", "run": "nowhere", "pairs": "copy"}], 2, lambda job: None)
    with pytest.raises(RunError, match="predict: stopped"):  # an error stops all
        processes.ask({"do": "predict"})
    with pytest.raises(RunError, match=r"dance: its process ended with code 1: .*KeyError"):
        Processes(threads=1).ask({"do": "dance"})


def test_a_line_is_copied_as_it_is(tmp_path):
    from heedful.api.comparing.data import Given, split_data

    rows = [(f"w{number}", f"W {number}", "a third\N{LATIN SMALL LETTER E WITH ACUTE}") for number in range(60)]
    pairs = write_pairs(tmp_path / "all.tsv", rows)
    data = load("tiny", {"data.dev_share": 0.2}).data
    split = split_data(Given(str(pairs)), data, tmp_path / "out", check=len)
    files = [Path(place).read_text("utf-8").splitlines() for place in (split.train, split.dev, split.test)]
    assert sorted(line for lines in files for line in lines) == sorted(pairs.read_text("utf-8").splitlines())
    held = {name: {pair.source for pair in split.corpora[name].pairs} for name in ("dev", "test")}
    assert held["dev"] == {source for source, *_ in rows if held_out(source, 0.2)}
    assert held["dev"] | held["test"] == {source for source, *_ in rows if held_out(source, 0.4)}
    # With a test of its own, the same sources are held out for development.
    other = split_data(Given(str(pairs), test=str(pairs)), data, tmp_path / "other", check=len)
    assert (other.dev != split.dev, Path(other.dev).read_text()) == (True, Path(split.dev).read_text())
    assert other.test == str(pairs)
    assert other.size("train") == split.size("train") + split.size("test")


def test_sources_that_parts_share_are_told(tmp_path):
    from heedful.api.comparing.data import Given, split_data

    files = {}
    for name, numbers in {"train": range(20), "dev": range(18, 24), "test": range(15, 30)}.items():
        files[name] = str(write_pairs(tmp_path / f"{name}.tsv", [(f"w{number}", "A") for number in numbers]))
    data = load("tiny").data
    split = split_data(Given(files["train"], files["dev"], files["test"]), data, tmp_path / "out", check=len)
    told = " ".join(split.shared())
    assert "5 of the 15 test sources are trained on too" in told
    assert "6 of the 15 test sources are development sources too" in told
    assert "2 of the 6 development sources are trained on too" in told
    held = split_data(Given(files["train"]), load("tiny", {"data.dev_share": 0.3}).data, tmp_path / "held", check=len)
    assert not held.shared()


def test_parallel_files_and_built_in_corpora(tmp_path):
    from heedful.api.comparing.data import Given, split_data

    data = load("tiny", {"data.dev_share": 0.2}).data
    for name in ("src", "trg"):
        (tmp_path / f"all.{name}").write_text("".join(f"{name}{number}\n" for number in range(40)))
    split = split_data(Given(f"{tmp_path}/all.src,{tmp_path}/all.trg", size=7), data, tmp_path / "out", check=len)
    assert split.train == f"{tmp_path}/out/data/train.src,{tmp_path}/out/data/train.trg"
    assert split.size("train") == 7
    assert all(pair.source[3:] == (pair.target or "")[3:] for pair in split.corpora["dev"].pairs)

    built_in = split_data(Given("copy", size=11), data, tmp_path / "copy", check=len)
    assert (built_in.dev, built_in.test) == ("copy:dev", "copy:test")
    assert (built_in.size("train"), built_in.size("test")) == (11, 500)
    assert split_data(Given("copy", size=12_345), data, tmp_path / "many", check=len).size("train") == 12_345
    whole = split_data(Given("copy"), data, tmp_path / "none", check=len)
    assert (whole.train, whole.dev, whole.test) == ("copy", "copy:dev", "copy:test")
    assert not (tmp_path / "none").exists()


def test_short_designs_differ_from_their_base_in_the_part_that_they_name():
    from heedful.api.comparing.designs import SHORT, check_designs, choose, settings_that_differ
    from heedful.data.pairs import Pair

    chosen = choose(None, base="tiny", set=SETTINGS)
    assert [each.name for each in chosen] == list(SHORT)
    differ = settings_that_differ(chosen)
    assert set(differ[0]) == {"model.fusion", "model.score", "model.scope"}  # the readout follows from the fusion
    assert len({tuple(each.values()) for each in differ}) == len(SHORT)
    check_designs(chosen, [Pair("abc", "A B C", (), 1)])

    by_name = {each.name: each.recipe.model for each in choose(None, base="g2p")}
    assert by_name["early"] == load("g2p").model
    assert by_name["late_concat"].score.model_dump() == {"name": "concat", "attention_size": 128}
    assert by_name["fixed"].readout == by_name["early"].readout
    assert by_name["late_dot"].readout is None
    assert by_name["late_local_p"].scope.model_dump() == {"name": "local_p", "window": 3}


def test_dimensions_in_words():
    from heedful.api.comparing.designs import choose, dimensions

    told = {each.name: dimensions(each.recipe) for each in choose(None, base="g2p")}
    assert told["fixed"].order == "no attention"
    assert told["early"].context == "the cell's input and the readout"
    assert told["early"].score == "additive (attention_size 128)"
    assert told["late_general_feeding"].context.endswith("before the output, and the next step's input")
    assert told["late_general"].context.endswith("before the output")
    assert told["late_local_p"].scope == "local_p (window 3)"


def test_examples_are_where_answers_differ_most():
    from heedful.api.comparing.examples import pick
    from heedful.comparison import Part

    words = ("aa", "bbbb", "ccc", "dddddd", "e", "ffff", "g" * 99)
    part = Part(
        name="test",
        lines=7,
        sources=words,
        references=tuple((word,) for word in words),
        lengths=tuple(map(len, words)),
        rarest=(1,) * 7,
        unknown=(0,) * 7,
    )
    same = list(words)
    other = ["aa", "bbbx", "xyz", "dddddd", "e", "ffff", "x"]
    assert list(pick(part, [same, other], list).items()) == [
        (2, "most different answers"),  # in all of its letters
        (1, "most different answers"),  # in one of four
        (5, "typical"),
        (0, "typical"),
        (3, "longest"),  # of those that can be drawn
    ]
