"""Every tensor of one decoding step, and the same step once more by NumPy alone. See `heedful.trace`."""

from heedful.tracing.trace import Quantity, Trace

__all__ = ["Quantity", "Trace"]
