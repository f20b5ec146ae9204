"""For all tests: slow ones run only with SLOW=1, and torch uses one thread, here and in child processes."""

import os
import sys

import pytest

os.environ["OMP_NUM_THREADS"] = "1"


def pytest_collection_modifyitems(items):
    if "torch" in sys.modules:  # a test module imported it; tests without torch do not pay for it
        sys.modules["torch"].set_num_threads(1)
    if os.environ.get("SLOW") != "1":
        for item in items:
            if item.get_closest_marker("slow"):
                item.add_marker(pytest.mark.skip(reason="slow: set SLOW=1"))
