"""A run folder in which something was changed either is refused in one line, or answers.

What is checked: every file can be read as what it is; the weights' names, sizes and types are those of the recipe's
model, and all of them are finite; their metadata tell the same vocabularies and the same table [model]. What cannot be
seen: a weight that was changed to another finite number, and settings of [data], [train] and [predict] that are valid.
"""

from __future__ import annotations

import json
import math
import tomllib

import tomli_w
from hypothesis import strategies as st

from fuzz.folders import (
    NAMES,
    asked,
    changed_json,
    damaged,
    damages,
    joined,
    kinds,
    parts_of,
    shares,
    without_more,
)
from fuzz.strategies import json_values, nested, texts
from fuzz.test_recipes import changes, put
from fuzz.watch import fuzz
from heedful.recipes import load

RUNS = ["letters", "tags", "pieces", "fixed"]


@fuzz(short=60, slow=1200, run=st.sampled_from(RUNS), name=st.sampled_from(NAMES), damage=damages)
def test_damaged_files(folders, run, name, damage):
    folder = folders[run]
    path = folder.fresh()
    data = damaged(folder.files[name], damage, folder.files)
    (path / name).write_bytes(data)
    if asked(path) and name == "vocabulary.json":
        assert json.loads(data) == json.loads(folder.files[name])


@fuzz(
    short=10,
    slow=100,
    run=st.sampled_from(RUNS),
    name=st.sampled_from(NAMES),
    kind=st.sampled_from(["gone", "folder", "link"]),
)
def test_files_that_are_none(folders, run, name, kind):
    path = folders[run].fresh()
    (path / name).unlink()
    if kind == "folder":
        (path / name).mkdir()
    elif kind == "link":
        (path / name).symlink_to(path / name)
    assert not asked(path)


# Another model whose weights would have the same names and sizes.
likenesses = st.tuples(
    st.sampled_from([("model", key) for key in ("normaliser", "scope", "score", "start", "dropout", "initialisation")]),
    st.sampled_from(["entmax15", "softmax", "global", "local_m", "dot", "zero", "last", "uniform", 0.5, 0.0]),
)


@fuzz(short=30, slow=600, run=st.sampled_from(RUNS), changed=st.one_of(changes, st.lists(likenesses, max_size=2)))
def test_other_recipes(folders, run, changed):
    """Whatever the recipe says: the table [model] is that of the weights, or the run is refused."""
    folder = folders[run]
    path = folder.fresh()
    tables = tomllib.loads(folder.files["recipe.toml"].decode("utf-8"))
    for place, value in changed:
        put(tables, place, value)
    before = load(path / "recipe.toml")
    (path / "recipe.toml").write_bytes(tomli_w.dumps(tables).encode("utf-8"))
    if asked(path):
        assert load(path / "recipe.toml").model == before.model


@fuzz(short=30, slow=600, run=st.sampled_from(RUNS), place=shares, new=json_values, kind=kinds)
def test_other_vocabularies(folders, run, place, new, kind):
    folder = folders[run]
    path = folder.fresh()
    before = json.loads(folder.files["vocabulary.json"])
    after = changed_json(before, place, new, kind)
    (path / "vocabulary.json").write_text(json.dumps(after), encoding="utf-8")
    if asked(path):
        known = {key: value for key, value in after.items() if key in before}
        assert bool(known["reverse_source"]) == before["reverse_source"]
        assert known["source_vocabulary"]["tokens"] == before["source_vocabulary"]["tokens"]
        assert known["target_vocabulary"]["tokens"] == before["target_vocabulary"]["tokens"]


TYPES = ["F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U8", "BOOL", "F8_E4M3", "F8_E5M2", "F8_E8M0"]
TYPES += ["U16", "U32", "U64", "C64", "F4", "X", ""]


@fuzz(
    short=40,
    slow=800,
    run=st.sampled_from(RUNS),
    place=shares,
    new=st.one_of(json_values, st.sampled_from(TYPES)),
    kind=kinds,
    about=st.booleans(),
)
def test_other_headers(folders, run, place, new, kind, about):
    """Of the weights' file, or (about) of our own table in its metadata."""
    folder = folders[run]
    path = folder.fresh()
    header, data = parts_of(folder.files["model.safetensors"])
    if about:
        ours = changed_json(json.loads(header["__metadata__"]["heedful"]), place, new, kind)
        header["__metadata__"]["heedful"] = json.dumps(ours)
    else:
        header = changed_json(header, place, new, kind)
    (path / "model.safetensors").write_bytes(joined(header, data))
    if asked(path) and not about:
        before, _ = parts_of(folder.files["model.safetensors"])
        assert without_more(header) == without_more(before)


@fuzz(
    short=10,
    slow=150,
    run=st.sampled_from(RUNS),
    header=st.one_of(nested(), nested('{"a":', "}"), texts, json_values.map(json.dumps)),
)
def test_headers_that_are_none(folders, run, header):
    folder = folders[run]
    for name, text in (
        ("model.safetensors", header.encode("utf-8", "surrogatepass")),
        ("model.safetensors", json.dumps({"__metadata__": {"heedful": header}}).encode("utf-8")),
        ("vocabulary.json", header.encode("utf-8", "surrogatepass")),
    ):
        path = folder.fresh()
        (path / name).write_bytes(text if name.endswith("json") else joined(text, b""))
        assert not asked(path)


@fuzz(
    short=40,
    slow=700,
    run=st.sampled_from(RUNS),
    place=shares,
    kind=st.sampled_from(["type", "shape", "drop", "add", "nan", "inf", "huge", "zero", "metadata", "noise"]),
    choice=st.integers(0, 99),
)
def test_other_weights(folders, run, place, kind, choice):
    """Whole files of tensors that are not those of this run."""
    import torch
    from safetensors import safe_open
    from safetensors.torch import save_file

    folder = folders[run]
    path = folder.fresh() / "model.safetensors"
    with safe_open(str(path), framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    name = sorted(tensors)[int(place * len(tensors))]
    tensor = tensors[name]
    types = [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.uint8, torch.bool, torch.complex64]
    if kind == "type":
        tensors[name] = tensor.to(types[choice % len(types)])
    elif kind == "shape":
        tensors[name] = [tensor[None], tensor[:-1], torch.cat([tensor, tensor]), tensor.reshape(-1)[:0]][
            choice % 4
        ].clone()
    elif kind == "drop":
        del tensors[name]
    elif kind == "add":
        tensors[f"{name}2"] = tensor.clone()
    elif kind == "metadata":
        metadata = [None, {}, {"heedful": "{}"}, {**metadata, "format": "pt"}][choice % 4]
    elif kind == "noise":
        tensors[name] = tensor + torch.randn(tensor.shape, generator=torch.Generator().manual_seed(choice))
    else:
        number = {"nan": math.nan, "inf": -math.inf, "huge": 3e38, "zero": 0.0}[kind]
        tensors[name] = tensor.clone()
        tensors[name].view(-1)[choice % tensor.numel()] = number
    save_file(tensors, str(path), metadata=metadata)
    able = asked(path.parent)
    if kind in ("type", "shape", "drop", "add", "nan", "inf"):
        assert not able or tensors[name].shape == tensor.shape == torch.Size([1])
    elif kind in ("zero", "noise"):
        assert able
