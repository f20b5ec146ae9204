"""What a recipe may say. Every key is here, with its default; a key that is not is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

PositiveInt = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _none(value: Any) -> Any:
    return None if value == "none" else value


NoneIsAWord = BeforeValidator(_none)  # TOML has no null: "none" takes a value away


def _as_table(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict):
        return {key: item if key == "name" else _none(item) for key, item in value.items()}
    return value


class PartRecipe(BaseModel):
    """A part: its name, and beside it the options that its class takes."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str


Part = Annotated[PartRecipe, BeforeValidator(_as_table)]


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class DataRecipe(_Table):
    """Where texts are in the data, and how they become tokens."""

    source_column: PositiveInt | str = 1
    target_column: PositiveInt | str = 2
    tag_columns: list[PositiveInt | str] = []
    tag_separator: str = Field(default=";", min_length=1)
    bad_lines: Literal["error", "skip"] = "error"
    source_tokens: Part = Field(default="characters")  # pyright: ignore[reportAssignmentType]
    target_tokens: Part = Field(default="characters")  # pyright: ignore[reportAssignmentType]
    source_min_count: PositiveInt = 1
    target_min_count: PositiveInt = 1
    source_max_size: Annotated[PositiveInt | None, NoneIsAWord] = None
    target_max_size: Annotated[PositiveInt | None, NoneIsAWord] = None
    reverse_source: bool = False
    max_length: Annotated[PositiveInt | None, NoneIsAWord] = None
    dev_share: Share = 0.05


class ModelRecipe(_Table):
    """The arguments of `heedful.model.build`, less the vocabularies' sizes."""

    embedding_size: PositiveInt = 128
    cell: str = "gru"
    encoder_size: PositiveInt = 256
    encoder_layers: PositiveInt = 1
    bidirectional: bool = True
    decoder_size: PositiveInt = 256
    decoder_layers: PositiveInt = 1
    start: Part = Field(default="learned_last")  # pyright: ignore[reportAssignmentType]
    fusion: Part = Field(default="early")  # pyright: ignore[reportAssignmentType]
    score: Part = Field(default="additive")  # pyright: ignore[reportAssignmentType]
    scope: Part = Field(default="global")  # pyright: ignore[reportAssignmentType]
    normaliser: Part = Field(default="softmax")  # pyright: ignore[reportAssignmentType]
    attention_dropout: Share = 0.0
    readout: Annotated[PartRecipe | None, BeforeValidator(_as_table), NoneIsAWord] = None
    output_bias: bool = True
    tied_embeddings: bool = False
    zero_start: bool = False
    dropout: Share = 0.0
    initialisation: str = "default"


class TrainRecipe(_Table):
    """How the model is trained; the first budget to be used up ends it."""

    epochs: Annotated[PositiveFloat | None, NoneIsAWord] = None
    updates: Annotated[PositiveInt | None, NoneIsAWord] = None
    minutes: Annotated[PositiveFloat | None, NoneIsAWord] = None
    batch_tokens: PositiveInt = 2000
    loss_per: Literal["token", "sentence"] = "token"
    optimiser: Literal["adam", "adadelta", "sgd"] = "adam"
    learning_rate: PositiveFloat = 0.001
    weight_decay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    schedule: Literal["constant", "linear", "cosine", "halving"] = "linear"
    halving_start: Share = 0.5
    halvings: PositiveInt = 5
    warmup_updates: Annotated[int, Field(ge=0)] = 0
    clip_norm: Annotated[PositiveFloat | None, NoneIsAWord] = 1.0
    label_smoothing: Share = 0.0
    scheduled_sampling: Share = 0.0
    metric: Literal["sequence_error", "token_error", "word_error", "bleu", "chrf", "loss"] = "sequence_error"
    validate_every: PositiveFloat = 1.0
    validation_size: Annotated[PositiveInt | None, NoneIsAWord] = 1000
    patience: Annotated[PositiveInt | None, NoneIsAWord] = None
    checkpoint_minutes: PositiveFloat = 2.0
    seed: int = 1
    device: Literal["auto", "cpu"] = "auto"
    precision: Literal["no", "fp16", "bf16"] = "no"
    tensorboard: bool = False

    @model_validator(mode="after")
    def _has_a_budget(self) -> TrainRecipe:
        if self.epochs is None and self.updates is None and self.minutes is None:
            raise ValueError("a budget is needed: epochs, updates or minutes")
        return self


class PredictRecipe(_Table):
    """How answers are searched for and judged, unless a command says otherwise."""

    beam: PositiveInt = 5
    length_penalty: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 1.0
    max_length_ratio: PositiveFloat = 3.0
    max_length_extra: PositiveInt = 20
    batch_size: PositiveInt = 64
    bleu_tokenizer: Literal["13a", "none", "intl", "char", "zh"] = "13a"


class Recipe(_Table):
    """One experiment."""

    data: DataRecipe = DataRecipe()
    model: ModelRecipe = ModelRecipe()
    train: TrainRecipe
    predict: PredictRecipe = PredictRecipe()
