"""Options that take several values: ``--seeds 1 2 3`` as well as ``--seeds 1 --seeds 2 --seeds 3``."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class Lists(TyperCommand):
    """A command whose repeatable options, but for ``--set``, take all values up to the next option.

    What is behind ``--`` is left as it is.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        several = {
            name
            for parameter in self.params
            for name in parameter.opts
            if getattr(parameter, "multiple", False) and name != "--set"
        }
        spelled: list[str] = []
        option, given = None, 0  # the list that is being read, and how many values it has
        for place, word in enumerate(args):
            if word == "--":
                return super().parse_args(ctx, [*spelled, *args[place:]])
            if word.startswith("-") and len(word) > 1 and not _is_number(word):
                option, given = (word if word in several else None), 0
            elif option is not None:
                spelled += [option] if given else []
                given += 1
            spelled.append(word)
        return super().parse_args(ctx, spelled)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
