"""yoyodyne 0.5.27: SoftAttentionGRUModel, trained by Lightning's trainer, as its command line puts them together.

GRUEncoder, bidirectional; additive attention over the concatenation [h_j; s_{t-1}], which is computed anew at each
step; the decoder starts at a learned vector; source and target symbols have embeddings of their own in one table
(tie_embeddings false), so that its output layer has as many symbols as the others'. Dropout 0 (its default is 0.2).
Batches are drawn at random, by a worker process, as it has them. Left out: progress bar, logger, checkpoints and
validation.

Decoding is `predict_step`, greedy or with beam_width 5, under torch.inference_mode as Lightning predicts. The length is
forced by max_target_length, and by a hook that sets the end symbol's logit to minus infinity.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib import metadata
from typing import Any

import lightning
import torch
from yoyodyne import data, models, optimizers, special, trainers
from yoyodyne.data import datasets, mappers
from yoyodyne.models import modules

from peers.child import Job, count
from peers.sides import LEARNING_RATE, SEED, SIZES

VERSION = metadata.version("yoyodyne")


class _Teller(lightning.Callback):
    """Passes on the target tokens of each update."""

    def __init__(self, updated: Callable[[int], None]) -> None:
        self._updated = updated

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._updated(int(batch.target.lengths().sum()))


class Side:
    def __init__(self, job: Job) -> None:
        warnings.filterwarnings("ignore", category=UserWarning)
        lightning.seed_everything(SEED)
        self._steps = job.steps
        self._data = data.DataModule(
            model_dir=str(job.folder / "model"),
            train=str(job.data / "train.tsv"),
            source_sep=" ",
            target_sep=" ",
            tie_embeddings=False,
            batch_size=job.batch,
        )
        encoder = modules.GRUEncoder(
            embedding_size=SIZES["embedding"], hidden_size=SIZES["encoder"], bidirectional=True, layers=1, dropout=0.0
        )
        self._model = models.SoftAttentionGRUModel(
            source_encoder=encoder,
            embedding_size=SIZES["embedding"],
            decoder_hidden_size=SIZES["decoder"],
            decoder_layers=1,
            decoder_dropout=0.0,
            optimizer=partial(optimizers.Adam, lr=LEARNING_RATE),
            vocab_size=self._data.vocab_size,
            target_vocab_size=self._data.target_vocab_size,
        )
        self.parameters = count(self._model)
        self._mapper = mappers.Mapper(self._data.index)
        # Also a model that only answers asks its trainer what is going on.
        self._model.trainer = self._trainer = trainers.Trainer(
            accelerator="cpu",
            max_epochs=-1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            limit_val_batches=0,
            num_sanity_val_steps=0,
            default_root_dir=str(job.folder),
        )

    def train(self, updated: Callable[[int], None]) -> None:
        self._trainer.callbacks.append(_Teller(updated))
        self._trainer.fit(self._model, datamodule=self._data)

    def decode(self, sources: Sequence[str], beam: int) -> list[list[str]]:
        model = self._model.eval()
        model.beam_width, model.max_target_length = beam, self._steps
        batch = self._batch(sources)
        hook = model.classifier.register_forward_hook(_without_end)
        try:
            with torch.inference_mode():
                found = model.predict_step(batch, 0)
        finally:
            hook.remove()
        best = found[0][:, 0, 1:] if beam > 1 else found  # behind the start symbol
        # Not by the mapper, which leaves out special symbols: a model that has not learned much may write some.
        return [[self._data.index.get_symbol(number) for number in row] for row in best.tolist()]

    def _batch(self, sources: Sequence[str]) -> data.Batch:
        parser = self._data.parser
        encoded = (self._mapper.encode_source(parser.source_symbols(source)) for source in sources)
        items = [datasets.Item(source=ids) for ids in encoded]
        return data.Batch(self._data.collator.pad_source(items))


def _without_end(module: Any, inputs: Any, logits: torch.Tensor) -> torch.Tensor:
    logits[..., special.END_IDX] = -torch.inf
    return logits
