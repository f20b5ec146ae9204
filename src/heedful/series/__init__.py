"""A series of trainings: each (name, seed) in a run folder of its own, resumable, one by one or several at once."""

from heedful.series.run import run_series
from heedful.series.trial import Finished, Trial, digest_of, folder_of, is_name, make_trial
from heedful.series.watcher import Unwatched, Watcher

__all__ = ["Finished", "Trial", "Unwatched", "Watcher", "digest_of", "folder_of", "is_name", "make_trial", "run_series"]
