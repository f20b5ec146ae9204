"""For all tests: slow ones run only with SLOW=1, and torch uses one thread, here and in child processes."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ["OMP_NUM_THREADS"] = "1"

# Both suites try the same examples every time, so that a change is judged by what it changes: the slow one many more of
# them. SLOW=new looks for new ones, and says how to repeat a failure.
# Nothing is timed: this is run on busy machines too. (What hangs is caught by a watch of its own: tests/fuzz.)
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("default", _UNTIMED, derandomize=True)
settings.register_profile("slow", _UNTIMED, derandomize=os.environ.get("SLOW") != "new", print_blob=True)
SLOW = os.environ.get("SLOW") in ("1", "new")
settings.load_profile("slow" if SLOW else "default")


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of words with their letters. Not to be changed."""
    from training.cases import spelling_pairs

    return spelling_pairs(tmp_path_factory.mktemp("pairs") / "words.tsv")


@pytest.fixture(scope="session")
def speller(pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Early, additive; it has learned a little, so that its answers differ from word to word. Not to be changed."""
    from training.cases import train_tiny

    settings = {"train.updates": 120, "train.batch_tokens": 300, "model.encoder_size": 16, "model.decoder_size": 16}
    settings["train.validate_every"] = 5.0
    return train_tiny(pairs, tmp_path_factory.mktemp("speller") / "run", set=settings)


def pytest_collection_modifyitems(config, items):
    if "torch" in sys.modules:  # a test module imported it; tests without torch do not pay for it
        sys.modules["torch"].set_num_threads(1)
    if scopes := sys.modules.get("heedful.attention.scopes"):
        scopes.CROSSING = 1  # short sources are looked at by their windows too, as long ones are
    if not SLOW:  # they are thousands, and to skip them one by one takes seconds
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
