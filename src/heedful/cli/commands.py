"""All commands: importing this registers them."""

from __future__ import annotations

from heedful.cli import judge, series, tune
from heedful.cli.app import app

__all__ = ["app", "judge", "series", "tune"]
