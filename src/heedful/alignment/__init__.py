"""What a model looked at while it wrote: one value, `Alignment`, made of NumPy and nothing else."""

from heedful.alignment.alignment import START_LABEL, Alignment

__all__ = ["START_LABEL", "Alignment"]
