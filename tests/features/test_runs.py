"""Runs whose sources are features, from the pairs to every verb."""

import json
import math
import re
import shutil

import numpy as np
import pytest

import heedful
from heedful.alignment import Alignment, found_inside, load_alignments, places, save_alignments
from heedful.data.codec import Codec, Encoded, Grid
from heedful.data.features import readers
from heedful.data.pairs import Pair
from heedful.errors import DataError, RecipeError, RunError
from heedful.runs import identity
from heedful.training.reading import read
from training.cases import Recorder, progress_of, resume, rows, same_tensors, train_tiny, write_pairs

from .cases import KINDS, RATE, manifest, reader_of, strings, tone, train_on, write_array, write_wav

every = pytest.mark.parametrize("kind", readers.names())


def paths_of(pairs):
    return [line.split("\t")[0] for line in pairs.read_text("utf-8").splitlines()]


@every
def test_answers_from_paths_are_those_from_pairs(kind, made):
    pairs, folder = made[kind]
    run = heedful.load(folder)
    paths = [str(pairs.parent / path) for path in paths_of(pairs)]
    found = heedful.predict(run, paths)
    corpus = read(pairs, run.recipe.data)
    for answer, (best,) in zip(found, run.predictor.predict(corpus.pairs, with_alignment=True), strict=True):
        assert answer == best
    assert len({answer.text for answer in found}) > 1
    alone = heedful.predict(run, paths, batch_size=1)
    for answer, own in zip(found, alone, strict=True):
        assert answer.text == own.text
        np.testing.assert_allclose(answer.alignment.weights, own.alignment.weights, atol=1e-5)


@every
def test_columns_say_where_they_lie(kind, made):
    """The grid of the reader, by twos where the front makes one of two; and all of the source is covered."""
    pairs, folder = made[kind]
    run, reader = heedful.load(folder), reader_of(kind)
    shortening = run.predictor.model.shortening
    for path, alignment in zip(paths_of(pairs), heedful.align(run, pairs), strict=True):
        features = reader.read(str(pairs.parent / path))
        count = len(features.values)
        assert len(alignment.source) == math.ceil(count / shortening)
        assert alignment.source_positions == tuple(range(1, len(alignment.source) + 1))
        for column, (start, end) in enumerate(alignment.source_spans):
            last = min(column * shortening + shortening, count) - 1
            assert start == pytest.approx(features.step * column * shortening)
            assert end == pytest.approx(features.step * last + features.width)
            number, _, unit = alignment.source[column].partition(" ")
            assert unit == reader.unit
            assert float(number) == pytest.approx(start, abs=0.005)
        assert all(source < len(alignment.source) for source, _ in alignment.links())
        np.testing.assert_allclose(alignment.weights.sum(1), 1, atol=1e-5)


def test_labels_of_a_shortened_source():
    encoded = Encoded(np.zeros((7, 2), np.float32), range(1, 8), [], Grid(0.01, 0.025, "s"))
    columns = encoded.columns(3)
    assert columns.labels == ["0.00 s", "0.03 s", "0.06 s"]
    assert list(columns.positions) == [1, 2, 3]
    np.testing.assert_allclose(columns.spans, [(0, 0.045), (0.03, 0.075), (0.06, 0.085)])
    pixels = Encoded(np.zeros((2, 2), np.float32), range(1, 3), [], Grid(2.5, 5.0, "px")).columns()
    assert pixels.labels == ["0 px", "2.5 px"]


@every
def test_a_run_stopped_and_resumed_is_as_straight(kind, tmp_path):
    """Features are read again, statistics are those of the run."""
    pairs = manifest(tmp_path, kind)
    settings = {"model.dropout": 0.3, "train.validate_every": 0.7, "train.updates": 6}
    front = {"name": "convolution", "stride": 2}
    straight = train_on(pairs, tmp_path / "straight", kind, front=front, set=settings)

    def stop(recorder):
        if len(recorder.updates) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_on(pairs, tmp_path / "run", kind, front=front, set=settings, reporter=Recorder(stop))
    resume(pairs, tmp_path / "run")
    assert progress_of(tmp_path / "run") == progress_of(straight)
    assert rows(tmp_path / "run") == rows(straight)
    for name in ("model.safetensors", "checkpoint.safetensors"):
        assert same_tensors(tmp_path / "run" / name, straight / name)


def test_a_file_that_has_changed_is_noticed(tmp_path):
    pairs = manifest(tmp_path, "array")
    train_on(pairs, tmp_path / "run", "array")
    path = tmp_path / paths_of(pairs)[3]
    values = np.load(path)
    values[-1, -1] += 0.001
    np.save(path, values)
    with pytest.raises(RunError, match=r"was trained on other (development )?pairs than those given"):
        resume(pairs, tmp_path / "run")


@every
def test_a_codec_is_read_as_it_was_written(kind, made):
    codec = Codec.load(made[kind][1] / "vocabulary.json")
    again = Codec.from_json(json.loads(json.dumps(codec.to_json())))
    assert again.to_json() == codec.to_json()
    assert again.source_features == codec.source_features
    assert identity(again) == identity(codec)
    assert codec.source_features.reader == reader_of(kind)
    values = codec.to_json()
    values["source_features"]["mean"][0] += 1e-12
    assert identity(Codec.from_json(values)) != identity(codec)


def test_statistics_are_of_the_training_part_alone(tmp_path):
    """By hand, from those that are not held out."""
    from heedful.data.split import held_out

    pairs = manifest(tmp_path, "array")
    codec = Codec.load(train_on(pairs, tmp_path / "run", "array") / "vocabulary.json")
    kept = [path for path in paths_of(pairs) if not held_out(path, 0.2)]
    assert 0 < len(kept) < 24
    values = np.concatenate([np.load(tmp_path / path) for path in kept])
    np.testing.assert_allclose(codec.source_features.mean, values.mean(0), atol=1e-12)
    np.testing.assert_allclose(codec.source_features.deviation, values.std(0), atol=1e-9)


def test_a_recipe_that_reads_otherwise_is_refused(made, tmp_path):
    folder = shutil.copytree(made["image"][1], tmp_path / "run")
    recipe = (folder / "recipe.toml").read_text("utf-8")
    assert "height = 5" in recipe
    (folder / "recipe.toml").write_text(recipe.replace("height = 5", "height = 6"), "utf-8")
    with pytest.raises(RunError, match=r'data.source_features: expected .*"height": 5.* got .*"height": 6'):
        heedful.load(folder)


def test_max_length_counts_vectors(tmp_path):
    pairs = manifest(tmp_path, "array")
    recorder = Recorder()
    train_on(pairs, tmp_path / "run", "array", set={"data.max_length": 6}, reporter=recorder)
    long = [
        number
        for number, (path, letters) in enumerate(zip(paths_of(pairs), strings(24), strict=True), start=1)
        if len(letters) == 3
    ]
    (told,) = [text for text in recorder.messages if "left out of training" in text]
    lines = {int(number) for number in re.findall(r"\d+", told.partition("(lines")[2])}
    assert lines
    assert lines < set(long)  # the others are held out


def test_training_says_how_many_features_there_are(tmp_path):
    recorder = Recorder()
    train_on(manifest(tmp_path, "array"), tmp_path / "run", "array", reporter=recorder)
    assert any("5 features of a source and 7 target symbols" in text for text in recorder.messages)


# Verbs.


@every
def test_evaluate_and_score(kind, made):
    pairs, folder = made[kind]
    scores = heedful.evaluate(folder, pairs)
    assert scores.sources == 24
    assert 0 <= scores.token_error < 100
    scored = heedful.score(folder, pairs)
    assert len(scored) == 24
    assert all(each.log_probability < 0 for each in scored)


def test_coverage_counts_the_shortened_positions(made, tmp_path):
    """An answer that is searched for has the score that it has when it is given."""
    pairs, folder = made["array"]
    paths = [str(pairs.parent / path) for path in paths_of(pairs)]
    answers = heedful.predict(folder, paths, coverage_penalty=0.5)
    kept = [(path, answer) for path, answer in zip(paths, answers, strict=True) if answer.text and answer.finished]
    assert len(kept) > 5
    given = write_pairs(tmp_path / "given.tsv", [(path, answer.text) for path, answer in kept])
    for scored, (_, answer) in zip(heedful.score(folder, given, coverage_penalty=0.5), kept, strict=True):
        assert scored.score == pytest.approx(answer.score, abs=1e-5)


@every
def test_diagnose(kind, made):
    """All examinations, also with links that count source states."""
    pairs, folder = made[kind]
    alignments = heedful.align(folder, pairs)
    found = heedful.diagnose(folder, pairs, sure=[alignment.links() for alignment in alignments])
    assert found.measures["aer"] == 0
    assert found.measures["on_padding"] == 0
    assert found.measures["beside_others"] < 1e-4
    assert found.measures["gradient_context"] > 0
    last = max(len(alignment.source) for alignment in alignments)
    with pytest.raises(DataError, match="expected links of at most"):
        heedful.diagnose(folder, pairs, sure=[[(last, 0)]] * 24)


@pytest.mark.slow
def test_what_a_word_needs_is_found_among_shortened_positions(tmp_path):
    """A model that has learned needs, for each target, the frames that it is written in: three a letter."""
    from heedful.diagnosis.shift import needed
    from heedful.diagnosis.subject import Subject

    pairs = manifest(tmp_path, "array", 40)
    front = {"name": "convolution", "stride": 3, "kernel": 3}
    settings = {
        "train.updates": 300,
        "train.batch_tokens": 300,
        "train.learning_rate": 0.03,
        "train.validate_every": 99,
    }
    run = heedful.load(train_on(pairs, tmp_path / "run", "array", front=front, set=settings))
    corpus = read(pairs, run.recipe.data)
    subject = Subject(run.predictor.model, run.codec, run.recipe.predict, corpus.pairs, 8)
    found = needed(subject, subject.forced())
    cells = [(word, source) for own in found for word, sources in own.items() for source in sources]
    assert len(cells) > 40
    assert sum(word == source for word, source in cells) / len(cells) > 0.9


@every
def test_look_draws(kind, made, tmp_path):
    pairs, folder = made[kind]
    heedful.look(folder, pairs, out=tmp_path / "maps.html", line="1-3")
    heedful.look(folder, source=str(pairs.parent / paths_of(pairs)[0]), out=tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 1000


def test_trace_and_links_are_refused(made, tmp_path):
    pairs, folder = made["array"]
    with pytest.raises(RunError, match="a trace begins with the symbols of a text, and the sources of this run are"):
        heedful.trace(folder, str(pairs.parent / paths_of(pairs)[0]))
    (tmp_path / "links").write_text("0-0\n" * 24)
    with pytest.raises(RecipeError, match=r"links guide attention to words, and where data.source_features is set"):
        train_on(pairs, tmp_path / "run", "array", links=tmp_path / "links")


@pytest.mark.parametrize("key", ["data.tag_columns", "data.reverse_source"])
def test_settings_of_texts_are_refused(key, made, tmp_path):
    with pytest.raises(RecipeError, match=f"{key}.* no use with data.source_features"):
        train_on(made["array"][0], tmp_path / "run", "array", set={key: [3] if "tag" in key else True})


def test_the_front_of_a_text_is_of_no_effect(tmp_path):
    pairs = write_pairs(tmp_path / "pairs.tsv", [("abc", "A"), ("bc", "B"), ("ca", "C"), ("b", "D"), ("ac", "A")])
    set_ = {"train.updates": 1, "data.dev_share": 0.4}
    one = train_tiny(pairs, tmp_path / "1", set={**set_, "model.front": {"name": "pyramid", "levels": 2}})
    other = train_tiny(pairs, tmp_path / "2", set=set_)
    assert same_tensors(one / "model.safetensors", other / "model.safetensors")


def test_runs_that_shorten_differently_are_no_ensemble(made, tmp_path):
    pairs, folder = made["array"]
    other = train_on(pairs, tmp_path / "run", "array", front="linear")
    assert heedful.load([folder, folder]).predict([str(pairs.parent / paths_of(pairs)[0])])[0].alignment is not None
    with pytest.raises(RecipeError, match="the fronts of these models make one of 1 and 2"):
        heedful.load([folder, other])


def test_the_corpus_of_digits_is_trained_on_as_pictures(tmp_path):
    settings = {"train.updates": 1, "train.minutes": "none", "train.validation_size": 5, "model.encoder_size": 3}
    run = heedful.train("digits:dev", out=tmp_path / "run", recipe="image", set={**settings, "data.dev_share": 0.5})
    assert heedful.load(run).codec.source_features.size == 32
    with pytest.raises(DataError, match=r"digits: its sources are pictures: set data.source_features"):
        train_tiny("digits", tmp_path / "other")
    with pytest.raises(
        DataError, match=r"digits:dev: its sources are pictures, and data.source_features reads 'array'"
    ):
        heedful.train("digits:dev", out=tmp_path / "other", recipe="image", set={"data.source_features": "array"})


# The command line.


@every
def test_predict_reads_paths(kind, made, cli, tmp_path, monkeypatch):
    pairs, folder = made[kind]
    paths = paths_of(pairs)[:5]
    listed = pairs.parent / "list.txt"
    listed.write_text("\n".join([*paths[:2], "", *paths[2:]]) + "\n", "utf-8")
    from_file = cli("predict", folder, listed)
    assert from_file.code == 0, from_file.err
    assert from_file.lines[2] == b""
    monkeypatch.chdir(pairs.parent)
    from_input = cli("predict", folder, stdin=listed.read_bytes())
    assert from_input.out == from_file.out
    (tmp_path / "list.jsonl").write_text(
        "".join(json.dumps({"source": str(pairs.parent / path)}) + "\n" for path in paths)
    )
    as_json = cli("predict", folder, tmp_path / "list.jsonl", "--json")
    assert [row["text"].encode() for row in as_json.json] == [line for line in from_file.lines if line]
    weights = cli("predict", folder, listed, "--with-weights").json[0]["weights"]
    assert Alignment.from_json(weights).source_spans is not None


def test_bad_files_are_told_with_line_and_path(made, refused, tmp_path):
    folder = made["array"][1]
    write_array(tmp_path / "wide.npy", np.ones((2, 7)))
    listed = tmp_path / "list.txt"
    for name, message in (
        ("wide.npy", "expected 5 features in each vector, got 7"),
        ("nothing.npy", "expected a file, got none of this name"),
        ("list.txt", "expected an array of NumPy (.npy or .npz), got something else"),
    ):
        listed.write_text(f"{name}\n")
        told = refused("predict", folder, listed)
        assert told.startswith(f"{listed}:1: {tmp_path}/{name}: {message}"), told


@pytest.mark.parametrize("verb", ["evaluate", "align", "score", "diagnose", "look"])
def test_every_verb_tells_the_pairs_the_line_and_the_path(verb, made, refused, tmp_path):
    pairs, folder = made["array"]
    listed = tmp_path / "a list.tsv"
    good, bad = pairs.parent / paths_of(pairs)[0], tmp_path / "zu weit \xfc.npy"
    write_array(bad, np.ones((2, 7)))
    out = ("--out", tmp_path / "r.html") if verb == "look" else ()
    for name, message in (
        (bad.name, f"{bad}: expected 5 features in each vector, got 7"),
        ("files/nothing", f"{tmp_path}/files/nothing: expected a file, got none of this name"),
    ):
        listed.write_text(f"\ufeff{good}\tA\n{name}\tB\n", "utf-8")
        assert refused(verb, folder, listed, *out) == f"{listed}:2: {message}"
    listed.write_text("\ufeff\n\n", "utf-8")
    assert refused(verb, folder, listed, *out).startswith(f"{listed}: expected at least one line")


def test_development_pairs_have_the_features_of_the_others(tmp_path):
    pairs = manifest(tmp_path, "array")
    write_array(tmp_path / "wide.npy", np.ones((2, 7)))
    dev = write_pairs(tmp_path / "dev.tsv", [("wide.npy", "A")])
    with pytest.raises(DataError, match=re.escape(f"{dev}:1: {tmp_path}/wide.npy: expected 5 features")):
        train_on(pairs, tmp_path / "run", "array", dev=dev)


def test_bad_pairs_are_told_with_line_and_path(refused, tmp_path):
    pairs = manifest(tmp_path, "audio")
    write_wav(tmp_path / paths_of(pairs)[6], tone(60, 90), rate=2 * RATE)
    options = [f"--set={key}={value}" for key, value in {"train.updates": 1}.items()]
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        '[data]\nsource_features = { name = "audio", rate = 1000, mel = 7 }\n[train]\nupdates = 1\n', "utf-8"
    )
    told = refused("train", pairs, "--out", tmp_path / "run", "--recipe", recipe, *options)
    assert told == (
        f"{pairs}:7: {tmp_path}/{paths_of(pairs)[6]}: expected sound of 1000 samples a second (option rate), got 2000"
    )


# Alignments with places.


def one(*, convention="predicted"):
    weights = [[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.0, 0.0, 0.0]]
    spans = [(0.0, 0.25), (0.2, 0.45), (0.4, 0.5)]
    return Alignment.of(
        ["0.00 s", "0.20 s", "0.40 s"], ["a", "b", "c"], weights, source_spans=spans, convention=convention
    )


def test_places_of_words():
    assert places(one()) == [(0.0, 0.25), (0.4, 0.5), None]
    assert places(one(convention="input")) == [(0.4, 0.5), None]
    assert found_inside(one(), [(0.1, 0.2), (0.0, 0.4), (0, 1)]) == [True, False, False]
    assert found_inside(one(), [(0.2, 0.3), (0.0, 0.4), (0, 1)], margin=0.08) == [True, True, False]
    with pytest.raises(DataError, match="an interval for each of the 3 target words, got 1"):
        found_inside(one(), [(0, 1)])
    with pytest.raises(DataError, match="got one of text"):
        places(Alignment.of("ab", "c", [[0.5, 0.5]]))


def test_spans_follow_their_columns():
    turned = Alignment.of("ab", "c", [[0.3, 0.7]], source_positions=[2, 1], source_spans=[(1, 2), (0, 1)])
    assert turned.source_spans == ((0.0, 1.0), (1.0, 2.0))
    merged = one().merged(source=[[0, 1], [2]])
    assert merged.source_spans == ((0.0, 0.45), (0.4, 0.5))
    assert one().without_special().source_spans == one().source_spans
    assert one().moved_to("input").source_spans == one().source_spans


@pytest.mark.parametrize("suffix", [".jsonl", ".npz"])
def test_spans_are_saved(suffix, tmp_path):
    text = Alignment.of("ab", "c", [[0.3, 0.7]])
    empty = Alignment.of((), (), np.zeros((0, 0)), source_spans=())
    saved = [text, one(), empty, one(convention="input"), text]
    save_alignments(saved, tmp_path / f"all{suffix}")
    found = load_alignments(tmp_path / f"all{suffix}")
    assert found == saved
    assert [each.source_spans is None for each in found] == [True, False, False, False, True]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 1)], "source spans: expected one for each of the 2 source labels, got 1"),
        ([(0, 1), (3, 2)], "each before its end, got 3.0 to 2.0"),
        ([(0, 1), (0, float("nan"))], "expected finite starts"),
        ([1, 2], "expected pairs of numbers"),
    ],
)
def test_spans_that_do_not_fit_are_refused(spans, message):
    from heedful.errors import SizeError

    with pytest.raises(SizeError, match=message):
        Alignment.of("ab", "c", [[0.3, 0.7]], source_spans=spans)


def test_sources_without_text_have_no_tokens(made):
    codec = Codec.load(made["array"][1] / "vocabulary.json")
    with pytest.raises(DataError, match=r"are features .* and have no tokens"):
        codec.encode_source("abc")
    assert codec.source_size(Pair("", None, (), 1)) == 0
    assert set(KINDS) == set(readers.names())
