"""Ways to look at an alignment."""

from heedful.plots.heatmap import SmallCellsWarning, draw, save, save_many
from heedful.plots.parts import MissingGlyphWarning
from heedful.plots.picture import Picture
from heedful.plots.report import Entry, Map, Report, load_report, save_report

__all__ = [
    "Entry",
    "Map",
    "MissingGlyphWarning",
    "Picture",
    "Report",
    "SmallCellsWarning",
    "draw",
    "load_report",
    "save",
    "save_many",
    "save_report",
]
