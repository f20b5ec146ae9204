"""``heedful.aer``."""

from __future__ import annotations

import os
from typing import Any

from heedful.alignment import LinkScores, link_scores, read_wa
from heedful.alignment.agreement import LinkSets
from heedful.api.links import Links, check_path, links_of, named
from heedful.errors import DataError


def aer(
    links: Links,
    *,
    sure: Links | None = None,
    possible: Links | None = None,
    wa: str | os.PathLike[str] | None = None,
    swap: bool = False,
) -> LinkScores:
    """Alignment error rate, precision, recall and F1 of links against gold links, over all sentences; in percent.

    See `heedful.alignment.LinkScores` for the definitions, which are those of Och and Ney 2003.

    Args:
        links: a Pharaoh file, ``"0-0 1-2"`` a line, source-target; or the links of each sentence: a set or list of
            pairs, such a line, or an `heedful.Alignment`.
        sure: the gold links that must be there, in the same form.
        possible: the gold links that may be there; sure ones count as possible whether or not they are among them. By
            default only sure ones may be there.
        wa: gold of both kinds, in one file of the NAACL 2003 shared task: sentence, source word, target word, S or P,
            counted from 1; see `heedful.alignment.read_wa`.
        swap: the links are target-source, seen from the gold; they are turned.

    Raises:
        DataError: a file cannot be read, these are no links, they have not as many lines, or the gold is not
            `sure` or `wa`.
    """
    if (sure is None) == (wa is None) or (wa is not None and possible is not None):
        raise DataError("expected gold links, either as sure (and possible) or as wa")
    given = links_of(links, swap=swap)
    must, may = _gold(sure, possible) if sure is not None else _read_wa(wa)
    for gold, where in ((must, wa if sure is None else sure), (may, wa if possible is None else possible)):
        if len(gold) != len(given):
            raise DataError(
                f"expected gold for each line of {named(links, 'links')}, which has {len(given)}, "
                f"got {len(gold)} in {named(where, 'the gold')}"
            )
    return link_scores(given, must, may)


def _gold(sure: Links, possible: Links | None) -> tuple[LinkSets, LinkSets]:
    must = links_of(sure, what="sure")
    return must, must if possible is None else links_of(possible, what="possible")


def _read_wa(path: Any) -> tuple[LinkSets, LinkSets]:
    check_path(path, "wa", "a file of gold links in the format of NAACL 2003")
    return read_wa(path)
