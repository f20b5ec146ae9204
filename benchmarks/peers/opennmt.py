"""OpenNMT-py 3.5.1: encoder "brnn" and decoder "rnn", trained by its Trainer with its Optimizer and LossCompute.

LSTM; the decoder starts at the encoder's last states.

mlp: global_attention mlp (additive), input_feed 1, its default: a loop over steps, and keys anew at each. Its h~_t is
    W [c_t; h_t] + b, without a tanh.
general: global_attention general, input_feed 0: all steps at once; h~_t = tanh(W [c_t; h_t]).

Dropout 0, max_grad_norm 0, adam with a constant rate (decay_method none), normalisation by sentences as by default.
Batches of so many sentences, sorted by length in buckets of 12,800 pairs, made in this process (num_workers 0). Left
out: checkpoints and validation.

Decoding is its Translator over build_dynamic_dataset_iter, as its command line has it, with min_length = max_length;
greedy is beam_size 1, its usual way to be greedy.
"""

from __future__ import annotations

import io
import json
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from onmt.constants import CorpusTask
from onmt.inputters import build_vocab
from onmt.inputters.dynamic_iterator import build_dynamic_dataset_iter
from onmt.model_builder import build_model
from onmt.opts import train_opts, translate_opts
from onmt.trainer import build_trainer
from onmt.transforms import get_specials, get_transforms_cls
from onmt.translate import GNMTGlobalScorer
from onmt.translate.translator import Translator
from onmt.utils.misc import set_random_seed
from onmt.utils.optimizers import Optimizer
from onmt.utils.parse import ArgumentParser
from onmt.utils.report_manager import ReportMgrBase
from onmt.utils.statistics import Statistics

from peers.child import Job, count
from peers.sides import BATCH_SIZE, LEARNING_RATE, SEED, SIZES

VERSION = metadata.version("OpenNMT-py")
_VARIANTS = {"mlp": ("mlp", 1), "general": ("general", 0)}


class _Teller(ReportMgrBase):
    """Passes on the target words of each update; what the trainer has counted begins anew then."""

    def __init__(self, updated: Callable[[int], None]) -> None:
        super().__init__(report_every=1)
        self._updated = updated

    def report_training(
        self, step: int, num_steps: int, learning_rate: float, patience: Any, report_stats: Any, multigpu: bool = False
    ) -> Statistics:
        self._updated(int(report_stats.n_words))
        return Statistics()


class Side:
    def __init__(self, job: Job) -> None:
        warnings.filterwarnings("ignore", category=FutureWarning)
        self._steps = job.steps
        self._translators: dict[int, tuple[Any, Translator]] = {}
        self._opt = opt = _parse(train_opts, _training(job))
        ArgumentParser.validate_train_opts(opt)
        ArgumentParser.update_model_opts(opt)
        ArgumentParser.validate_model_opts(opt)
        ArgumentParser.validate_prepare_opts(opt)
        set_random_seed(SEED, False)
        self._transforms = get_transforms_cls(opt._all_transform)
        self._vocabularies = build_vocab(opt, get_specials(opt, self._transforms))
        self._model = build_model(opt, opt, self._vocabularies, None, -1)
        self.parameters = count(self._model)

    def train(self, updated: Callable[[int], None]) -> None:
        optimiser = Optimizer.from_opt(self._model, self._opt)
        trainer = build_trainer(self._opt, -1, self._model, self._vocabularies, optimiser)
        trainer.report_manager = _Teller(updated)
        batches = build_dynamic_dataset_iter(
            self._opt, self._transforms, self._vocabularies, task=CorpusTask.TRAIN, device_id=-1
        )
        trainer.train(batches, 0)

    def decode(self, sources: Sequence[str], beam: int) -> list[list[str]]:
        self._model.eval()
        opt, translator = self._translator(beam)
        batches = build_dynamic_dataset_iter(
            opt, self._transforms, self._vocabularies, task=CorpusTask.INFER, src=list(sources), device_id=-1
        )
        _, found = translator._translate(batches, batches.transforms)
        return [best.split() for best, *_ in found]

    def _translator(self, beam: int) -> tuple[Any, Translator]:
        if beam not in self._translators:
            words = ["-model", "none", "-src", "none", "-beam_size", str(beam), "-batch_size", str(BATCH_SIZE)]
            forced = ["-min_length", str(self._steps), "-max_length", str(self._steps), "-max_length_ratio", "0"]
            opt = _parse(translate_opts, [*words, *forced])
            scorer = GNMTGlobalScorer.from_opt(opt)
            translator = Translator.from_opt(
                self._model,
                self._vocabularies,
                opt,
                self._opt,
                global_scorer=scorer,
                out_file=io.StringIO(),
                report_score=False,
            )
            self._translators[beam] = (opt, translator)
        return self._translators[beam]


def _training(job: Job) -> list[str]:
    attention, input_feed = _VARIANTS[job.variant]
    corpus = {"path_src": str(job.data / "train.src"), "path_tgt": str(job.data / "train.trg"), "weight": 1}
    settings = {
        "data": json.dumps({"corpus": corpus}),
        "src_vocab": _vocabulary(job.data / "train.src", job.folder),
        "tgt_vocab": _vocabulary(job.data / "train.trg", job.folder),
        "encoder_type": "brnn",
        "decoder_type": "rnn",
        "rnn_type": "LSTM",
        "layers": 1,
        "hidden_size": SIZES["decoder"],  # of the encoder too: half in each direction
        "word_vec_size": SIZES["embedding"],
        "global_attention": attention,
        "input_feed": input_feed,
        "dropout": 0.0,
        "attention_dropout": 0.0,
        "batch_type": "sents",
        "batch_size": job.batch,
        "bucket_size": 12800,
        "num_workers": 0,
        "optim": "adam",
        "learning_rate": LEARNING_RATE,
        "decay_method": "none",
        "max_grad_norm": 0,
        "seed": SEED,
    }
    return [word for key, value in settings.items() for word in (f"-{key}", str(value))]


def _vocabulary(corpus: Path, folder: Path) -> str:
    """The tokens of `corpus` with their counts, as its build_vocab writes them."""
    counts = Counter(corpus.read_text("utf-8").split())
    path = folder / f"vocabulary{corpus.suffix}"
    path.write_text("".join(f"{token}\t{count}\n" for token, count in counts.most_common()), "utf-8")
    return str(path)


def _parse(add: Callable[[Any], None], words: Sequence[str]) -> Any:
    parser = ArgumentParser()
    add(parser)
    return parser.parse_args(words)
