"""The options of search and scoring, on every command that answers: made from `heedful.options`, for them to be one."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any, get_args

import typer

from heedful.options import SearchOptions, option_types

Command = Callable[..., None]


def takes(options: type = SearchOptions) -> Callable[[Command], Command]:
    """A command whose last argument, a dictionary, gets those options that were given; they become its flags."""

    def decorate(command: Command) -> Command:
        own = list(inspect.signature(command, eval_str=True).parameters.values())
        name = own.pop().name
        types = option_types(options)

        @functools.wraps(command)
        def call(**arguments: Any) -> None:
            given = {option: arguments.pop(option) for option in (*types, *_HIDDEN)}
            # An option that may be repeated is an empty list where it is not there.
            given = {option: value for option, value in given.items() if value not in (None, [])}
            command(**arguments, **{name: given})

        flags = [_flag(option, kind, meaning) for option, (kind, meaning) in types.items()]
        call.__signature__ = inspect.Signature([*own, *flags, *_HIDDEN.values()])  # pyright: ignore[reportAttributeAccessIssue]
        del call.__wrapped__  # whoever asks for the signature shall find this one
        call.__annotations__ = {}
        return call

    return decorate


def _flag(name: str, kind: Any, meaning: str, *, hidden: bool = False) -> inspect.Parameter:
    several = kind == list[str] | None
    if Mapping in (
        getattr(each, "__origin__", each) for each in get_args(kind)
    ):  # Python's way to give a file's content
        kind = str | None
    option = typer.Option(
        help=f"{meaning} May be repeated." if several else meaning,
        metavar="<str>" if several else None,
        show_default=False,
        hidden=hidden,
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[kind, option])


# Not a setting: it is taken so that the message can name the two that it might have meant.
_HIDDEN = {"temperature": _flag("temperature", float | None, "", hidden=True)}
