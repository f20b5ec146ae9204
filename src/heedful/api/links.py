"""Links as the verbs take them: a file of Pharaoh lines, or those of each sentence."""

from __future__ import annotations

import os

from heedful.alignment import read_links
from heedful.alignment.agreement import LinkSets
from heedful.alignment.links import swapped

Links = str | os.PathLike[str] | LinkSets
"""A Pharaoh file, or for each sentence its links, such as ``[alignment.links() for alignment in alignments]``."""


def links_of(links: Links, *, swap: bool = False) -> LinkSets:
    """The links of each sentence; with `swap` turned."""
    if isinstance(links, str | os.PathLike):
        return read_links(links, swap=swap)
    return [swapped(one) for one in links] if swap else links


def named(links: Links | None, what: str) -> str:
    """What an error calls them: the file's name, or `what`."""
    return os.fspath(links) if isinstance(links, str | os.PathLike) else what
