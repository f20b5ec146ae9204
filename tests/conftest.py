"""For all tests: slow ones run only with SLOW=1, and torch uses one thread, here and in child processes."""

import os
import sys

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


def pytest_collection_modifyitems(config, items):
    if "torch" in sys.modules:  # a test module imported it; tests without torch do not pay for it
        sys.modules["torch"].set_num_threads(1)
    if scopes := sys.modules.get("heedful.attention.scopes"):
        scopes.CROSSING = 1  # short sources are looked at by their windows too, as long ones are
    if not SLOW:  # they are thousands, and to skip them one by one takes seconds
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
