"""Joey NMT 2.3.0: its recurrent encoder and decoder with attention "bahdanau", trained by its TrainManager.

In spite of the name its decoder steps first and asks then: h~_t = tanh(W [h_t; c_t]) feeds the next step
(input_feeding, its default) and the output layer, which has no bias. GRU; keys once a sentence; the decoder starts at a
projection of the encoder's last state (init_hidden "bridge", its default). Dropout 0; scheduling "exponential" with
factor 1, since it refuses to have none. Batches of so many sentences in random order, as it has them (there is no other
order). Left out: validation, which is put off for ever.

Decoding is `joeynmt.search.search`, which `predict` calls for each batch, with min_output_length (which `predict` does
not hand on) and max_output_length; then its vocabulary makes sentences.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from joeynmt.config import parse_global_args, set_validation_args
from joeynmt.datasets import build_dataset
from joeynmt.prediction import prepare
from joeynmt.search import search
from joeynmt.training import TrainManager

from peers.child import Job, count
from peers.sides import BATCH_SIZE, LEARNING_RATE, SEED, SIZES

VERSION = metadata.version("joeynmt")
_NEVER = 10**9


class Side:
    def __init__(self, job: Job) -> None:
        self._steps = job.steps
        self._args = parse_global_args(_settings(job), mode="train")
        self._model, self._train, self._dev, _ = prepare(self._args, rank=0, mode="train")
        self.parameters = count(self._model)

    def train(self, updated: Callable[[int], None]) -> None:
        class Counting(TrainManager):
            """Tells of an update when the next begins: all that it took is behind it then."""

            _tokens = 0

            def _train_step(self, batch: Any) -> tuple[float, int]:
                if self._tokens:
                    updated(self._tokens)
                self._tokens = batch.ntokens
                return super()._train_step(batch)

        args = self._args
        manager = Counting(
            rank=0,
            model=self._model,
            model_dir=args.model_dir,
            device=args.device,
            num_workers=args.num_workers,
            autocast=args.autocast,
            seed=args.seed,
            train_args=args.train,
            dev_args=set_validation_args(args.test),
        )
        manager.train_and_validate(train_data=self._train, valid_data=self._dev)

    def decode(self, sources: Sequence[str], beam: int) -> list[list[str]]:
        self._model.eval()
        stream = build_dataset(
            "stream",
            path=None,
            src_lang="src",
            trg_lang="trg",
            split="test",
            tokenizer=self._train.tokenizer,
            sequence_encoder=self._train.sequence_encoder,
            has_prompt={"src": False, "trg": False},
        )
        for source in sources:
            stream.set_item(source)
        answers = []
        for batch in stream.make_iter(BATCH_SIZE, pad_index=self._model.pad_index, eos_index=self._model.eos_index):
            order = batch.sort_by_src_length()
            found, _, _ = search(
                self._model,
                batch,
                max_output_length=self._steps,
                min_output_length=self._steps,
                beam_size=beam,
                beam_alpha=self._args.test.beam_alpha,
                autocast=self._args.autocast,
            )
            answers += self._model.trg_vocab.arrays_to_sentences(arrays=found[order], cut_at_eos=True)
        return answers


def _settings(job: Job) -> dict[str, Any]:
    def side(name: str) -> dict[str, Any]:
        return {"lang": name, "level": "word", "lowercase": False, "voc_min_freq": 1}

    def recurrent(size: int) -> dict[str, Any]:
        embeddings = {"embedding_dim": SIZES["embedding"], "dropout": 0.0}
        cell = {"type": "recurrent", "rnn_type": "gru", "hidden_size": size, "num_layers": 1, "dropout": 0.0}
        return {**cell, "embeddings": embeddings}

    data = {"train": str(job.data / "train"), "dev": str(job.data / "dev"), "dataset_type": "plain"}
    training = {
        "optimizer": "adam",
        "learning_rate": LEARNING_RATE,
        "scheduling": "exponential",
        "decrease_factor": 1.0,
        "batch_size": job.batch,
        "batch_type": "sentence",
        "epochs": _NEVER,
        "validation_freq": _NEVER,
        "logging_freq": 100,
    }
    return {
        "name": "peers",
        "model_dir": str(job.folder),
        "use_cuda": False,
        "random_seed": SEED,
        "data": {**data, "src": side("src"), "trg": side("trg")},
        "training": training,
        "testing": {"batch_size": BATCH_SIZE, "batch_type": "sentence"},
        "model": {
            "encoder": {**recurrent(SIZES["encoder"]), "bidirectional": True},
            "decoder": {**recurrent(SIZES["decoder"]), "attention": "bahdanau"},
        },
    }
