"""A training taken up from a folder in which something was changed goes on, or is refused and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import strategies as st

from fuzz.folders import Folder, asked, changed_json, damaged, damages, joined, kinds, parts_of, shares
from fuzz.strategies import json_values, texts
from fuzz.watch import fuzz, message_of
from heedful.errors import RecipeError, RunError, TrainingError
from training.cases import resume


def goes_on_or_is_refused(folder: Folder, pairs: Path) -> None:
    before = folder.now()
    try:
        resume(pairs, folder.path, set={"train.updates": 92})
    except TrainingError as error:  # the weights were damaged beyond learning
        message_of(error)
    except RunError as error:
        message_of(error, folder.path)
        assert folder.now() == before
    except RecipeError as error:
        message_of(error)
        assert folder.now() == before
    else:
        assert asked(folder.path)


FILES = ["checkpoint.safetensors", "checkpoint.safetensors", "log.csv", "model.safetensors", "recipe.toml"]


@fuzz(short=8, slow=500, name=st.sampled_from(FILES), damage=damages)
def test_resuming_with_damaged_files(folders, trained, name, damage):
    folder = folders["letters"]
    (folder.fresh() / name).write_bytes(damaged(folder.files[name], damage, folder.files))
    goes_on_or_is_refused(folder, trained["letters"].parent / "words.tsv")


@fuzz(short=8, slow=500, place=shares, new=json_values, kind=kinds, about=st.integers(0, 3))
def test_resuming_with_another_header(folders, trained, place, new, kind, about):
    folder = folders["letters"]
    path = folder.fresh() / "checkpoint.safetensors"
    header, data = parts_of(folder.files[path.name])
    if about:
        ours = changed_json(json.loads(header["__metadata__"]["heedful"]), place, new, kind)
        header["__metadata__"]["heedful"] = json.dumps(ours)
    else:
        header = changed_json(header, place, new, kind)
    path.write_bytes(joined(header, data))
    goes_on_or_is_refused(folder, trained["letters"].parent / "words.tsv")


cells = st.one_of(texts, st.sampled_from(["30", "-1", "nan", "1e9", "", '"', "9" * 5000, "x" * 140_000]))


@fuzz(short=5, slow=200, rows=st.lists(st.lists(cells, max_size=9).map(",".join), max_size=3), keep=st.booleans())
def test_resuming_with_another_log(folders, trained, rows, keep):
    folder = folders["letters"]
    path = folder.fresh() / "log.csv"
    text = folder.files["log.csv"].decode("utf-8") if keep else ""
    path.write_bytes((text + "\n".join(rows)).encode("utf-8"))
    goes_on_or_is_refused(folder, trained["letters"].parent / "words.tsv")
