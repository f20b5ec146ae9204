"""What a model looked at while it wrote: one value, `Alignment`, made of NumPy and nothing else."""

from heedful.alignment.agreement import LinkScores, link_scores, symmetrise
from heedful.alignment.alignment import START_LABEL, Alignment
from heedful.alignment.files import load_alignments, save_alignments
from heedful.alignment.links import read_links, read_wa
from heedful.alignment.measures import MEASURES, measure
from heedful.alignment.places import found_inside, places
from heedful.alignment.segments import by_segments

__all__ = [
    "MEASURES",
    "START_LABEL",
    "Alignment",
    "LinkScores",
    "by_segments",
    "found_inside",
    "link_scores",
    "load_alignments",
    "measure",
    "places",
    "read_links",
    "read_wa",
    "save_alignments",
    "symmetrise",
]
