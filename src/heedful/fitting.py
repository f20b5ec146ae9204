"""What a model and the data that it is for cannot do together, though each is right by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heedful.data.codec import Codec
from heedful.errors import RecipeError
from heedful.recipes import Recipe

if TYPE_CHECKING:
    from heedful.model import Model


def check_fit(recipe: Recipe, codec: Codec, model: Model) -> None:
    """Refuse parts that would have nothing to work with.

    Raises:
        RecipeError: a part needs segments, and sources have none; or the one question about a label is no question.
    """
    if codec.segmenter is None:
        _check_segments(recipe, codec, model)
    if codec.has_label:
        _check_question(recipe, model)


def _check_segments(recipe: Recipe, codec: Codec, model: Model) -> None:
    parts = [("encoder", recipe.model.encoder.name)] if model.encoder.segmented else []
    if model.attention is not None and model.attention.scope.segmented:
        parts.append(("scope", recipe.model.scope.name))
    for kind, name in parts:
        if codec.source_features is not None:
            raise RecipeError(
                f"{kind} {name!r} does not go with data.source_features: sources are cut into segments between their "
                "tokens, and features have none"
            )
        raise RecipeError(
            f"{kind} {name!r} needs data.segments: say how sources are cut, 'line', 'marks' or 'length'; got 'none'"
        )


def _check_question(recipe: Recipe, model: Model) -> None:
    """A label is one step. If that asks before any word has been read, it asks with the state that a start makes."""
    start, attention = recipe.model.start, model.attention
    if attention is None or recipe.model.fusion.name != "early" or start is None or start.name != "zero":
        return
    rated = [("model.score", attention.score)]
    if attention.scope.segmented:
        scope: Any = attention.scope
        rated.append((f"the score of segments of model.scope = {recipe.model.scope.name!r},", scope.score))
    for what, score in rated:
        if score.multiplies:
            raise RecipeError(
                f"{what} {type(score).__name__} does not go with model.start = 'zero' and data.target_tokens = 'label':"
                " it multiplies by the question, which is all zeros, so that all would be looked at alike; 'additive' "
                "rates without a question, and 'learned_mean' makes one"
            )
