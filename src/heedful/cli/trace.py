"""What the command ``trace`` prints."""

from __future__ import annotations

import json
from typing import Literal


def trace_step(
    run: str,
    source: str,
    target: str | None,
    *,
    step: int,
    attention_temperature: float | None,
    dtype: Literal["float64", "float32"],
    digits: int,
    with_weights: bool,
    as_json: bool,
) -> None:
    """Print the step; a disagreement, which is a fault of heedful's own, ends the command with 1."""
    import heedful
    from heedful.cli.show import note, write
    from heedful.tracing.show import as_text

    traced = heedful.trace(run, source, target, step=step, attention_temperature=attention_temperature, dtype=dtype)
    if as_json:
        write(json.dumps(traced.as_json(with_weights=with_weights), ensure_ascii=False))
    else:
        write(as_text(traced, digits=digits, with_weights=with_weights))
    if not traced.agrees:
        note("the model and its equations disagree: this is a fault in heedful, please report it with this output")
        raise SystemExit(1)
