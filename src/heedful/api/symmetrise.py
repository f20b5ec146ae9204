"""``heedful.symmetrise``."""

from __future__ import annotations

from heedful import alignment
from heedful.alignment.links import Link
from heedful.api.links import Links, links_of, named
from heedful.errors import DataError
from heedful.options import Symmetrisation


def symmetrise(
    forward: Links,
    backward: Links,
    *,
    method: Symmetrisation = "grow-diag-final-and",
    swap_backward: bool = False,
) -> list[frozenset[Link]]:
    """The links of two directions as one set for each sentence; `heedful.alignment.symmetrise` describes the methods.

    Args:
        forward: a Pharaoh file, ``"0-0 1-2"`` a line, source-target; or the links of each sentence: a set or list of
            pairs, such a line, or an `heedful.Alignment`.
        backward: the same of a model that was trained in the other direction.
        method: "intersection", "union", "grow-diag", "grow-diag-final" or "grow-diag-final-and".
        swap_backward: the backward links are as its own model wrote them, target-source; they are turned.

    Raises:
        DataError: a file cannot be read, these are no links, they have not as many lines, or there is no such method.
    """
    ours, theirs = links_of(forward, what="forward"), links_of(backward, swap=swap_backward, what="backward")
    if len(ours) != len(theirs):
        raise DataError(
            f"expected as many lines in both directions, got {len(ours)} in {named(forward, 'forward')} and "
            f"{len(theirs)} in {named(backward, 'backward')}"
        )
    return alignment.symmetrise(ours, theirs, method=method)
