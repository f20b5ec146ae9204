"""Short names for parts. A part is one class, registered where it is written; everything else finds it here."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from heedful.errors import HeedfulError, RecipeError, excerpt, nearest

Part = TypeVar("Part")
Member = TypeVar("Member", bound=type)

_TOO_LARGE = 2**63  # for tensors; nan and infinity are no settings either
_VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)

_registries: list[Registry[Any]] = []


def modules_of(names: Collection[str]) -> list[str]:
    """The modules outside of heedful whose parts have any of these names: another process has to import them first."""
    members = [member for registry in _registries for name, member in registry._members.items() if name in names]
    return sorted({member.__module__ for member in members if member.__module__.partition(".")[0] != "heedful"})


class Registry(Generic[Part]):
    """The members of one axis (scores, scopes, ...), by name.

    Args:
        kind: what the members are, in the singular, for messages: ``"score"``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._members: dict[str, type[Part]] = {}
        _registries.append(self)

    def register(self, name: str) -> Callable[[Member], Member]:
        """A class decorator: ``@scores.register("dot")``."""

        def add(member: Member) -> Member:
            if name in self._members:
                raise RecipeError(f"two parts are registered as {self.kind} {name!r}")
            self._members[name] = member  # pyright: ignore[reportArgumentType]
            return member

        return add

    def names(self) -> list[str]:
        """All registered names, in the order of registration."""
        return list(self._members)

    def __getitem__(self, name: str) -> type[Part]:
        if name not in self._members:
            raise RecipeError(f"unknown {self.kind} {name!r}{nearest(name, self._members)}")
        return self._members[name]

    def build(self, name: str, options: Mapping[str, Any], context: Mapping[str, Any]) -> Part:
        """Make the part `name`. `options` are the user's, and each must be one that the part takes;
        of `context` (sizes known to the builder) the part gets those that its constructor names.

        Raises:
            RecipeError: unknown name or option (names the nearest), or a value that the part cannot be made with.
            SizeError: the part does not fit the sizes in `context`.
        """
        member = self[name]
        parameters = {key for key, value in inspect.signature(member).parameters.items() if value.kind not in _VARIADIC}
        own = {key: value for key, value in context.items() if key in parameters}
        allowed = parameters - set(own)
        for option in options:
            if option not in allowed:
                raise RecipeError(f"{self.kind} {name!r} has no option {option!r}{nearest(option, allowed)}")
        kinds = get_type_hints(member.__init__)
        for option, value in options.items():
            if not _fits(value, kinds.get(option, Any)):
                kind = getattr(kinds[option], "__name__", str(kinds[option]))
                raise RecipeError(
                    f"{self.kind} {name!r}: option {option!r} must be of type {kind}, got {excerpt(value)}"
                )
            if isinstance(value, int | float) and not abs(value) < _TOO_LARGE:
                raise RecipeError(
                    f"{self.kind} {name!r}: option {option!r} must be between -2**63 and 2**63, got {excerpt(value)}"
                )
        try:
            return member(**own, **options)
        except (TypeError, ValueError, RuntimeError) as error:
            if isinstance(error, HeedfulError):
                raise
            why = str(error).partition("\n")[0]  # PyTorch adds its own stack
            raise RecipeError(f"{self.kind} {name!r} cannot be made with {dict(options)}: {why}") from error


def _fits(value: Any, kind: Any) -> bool:
    """Whether `value` is of `kind`, a plain type or a union of such; a whole number may stand for a float."""
    if get_origin(kind) in (Union, UnionType):
        return any(_fits(value, one) for one in get_args(kind))
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, kind) if isinstance(kind, type) else True
