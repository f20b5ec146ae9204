"""Ways to look at an alignment."""

from heedful.plots.heatmap import MissingGlyphWarning, draw, save, save_many

__all__ = ["MissingGlyphWarning", "draw", "save", "save_many"]
