"""What a recipe may say. Every key is here, with its default; a key that is not is an error."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from heedful.errors import excerpt

PositiveInt = Annotated[int, Field(ge=1, lt=2**63)]
NotNegativeInt = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, lt=1)]
Size = Annotated[int, Field(ge=1, le=1_000_000)]
PositiveFloat = Annotated[float, Field(gt=0, allow_inf_nan=False)]


Temperature = Annotated[float, Field(ge=1e-6, allow_inf_nan=False)]


def _none(value: Any) -> Any:
    return None if value == "none" else value


NoneIsAWord = BeforeValidator(_none)  # TOML has no null: "none" takes a value away


def _as_table(value: Any) -> Any:
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict):
        return {key: item if key == "name" else _none(item) for key, item in value.items()}
    if not isinstance(value, PartRecipe | None):
        raise ValueError("expected the name of a part, or a table with name and options")
    return value


class PartRecipe(BaseModel):
    """A part: its name, and beside it the options that its class takes: numbers, texts, true or false."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    name: str

    @model_validator(mode="after")
    def _has_plain_options(self) -> PartRecipe:
        for key, value in (self.model_extra or {}).items():
            if not isinstance(value, str | int | float | None):
                raise ValueError(f"option {key!r} must be a number, a text, true or false, got {excerpt(value)}")
            if isinstance(value, int) and not abs(value) < 2**63:
                raise ValueError(f"option {key!r} must be between -2**63 and 2**63, got {excerpt(value)}")
        return self


Part = Annotated[PartRecipe, BeforeValidator(_as_table)]


class _Table(BaseModel):
    # Strict: a flag is no number, and a number in quotes is a text.
    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, values: Any) -> Any:
        """From Python, a list may also be a tuple."""
        if not isinstance(values, dict):
            return values
        return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


class DataRecipe(_Table):
    """Where texts are in the data, and how they become tokens."""

    source_column: PositiveInt | str = 1
    target_column: PositiveInt | str = 2
    second_source_column: Annotated[PositiveInt | str | None, NoneIsAWord] = None
    tag_columns: list[PositiveInt | str] = []
    tag_separator: str = Field(default=";", min_length=1)
    normalisation: Literal["NFC", "NFD", "NFKC", "NFKD", "none"] = "NFC"
    bad_lines: Literal["error", "skip"] = "error"
    source_features: Annotated[PartRecipe | None, BeforeValidator(_as_table), NoneIsAWord] = None
    source_tokens: Part = Field(default="characters")  # pyright: ignore[reportAssignmentType]
    target_tokens: Part = Field(default="characters")  # pyright: ignore[reportAssignmentType]
    second_source_tokens: Part = Field(default="characters")  # pyright: ignore[reportAssignmentType]
    source_min_count: PositiveInt = 1
    target_min_count: PositiveInt = 1
    source_max_size: Annotated[PositiveInt | None, NoneIsAWord] = None
    target_max_size: Annotated[PositiveInt | None, NoneIsAWord] = None
    reverse_source: bool = False
    segments: Annotated[PartRecipe | None, BeforeValidator(_as_table), NoneIsAWord] = None
    max_length: Annotated[PositiveInt | None, NoneIsAWord] = None
    dev_share: Share = 0.05

    @model_validator(mode="after")
    def _fits_together(self) -> DataRecipe:
        if self.second_source_column is not None and self.second_source_column == self.target_column:
            raise ValueError(
                f"data.second_source_column and data.target_column are both {self.target_column!r}: the target would "
                "be asked with itself"
            )
        if self.source_features is not None:
            if self.tag_columns:
                raise ValueError("data.tag_columns are of no use with data.source_features: features have no tags")
            if self.reverse_source:
                raise ValueError("data.reverse_source is of no use with data.source_features: it reverses tokens")
            if self.segments is not None:
                raise ValueError("data.segments are of no use with data.source_features: they are made of tokens")
        return self


class ModelRecipe(_Table):
    """The arguments of `heedful.model.build`, less the sizes of vocabularies and features."""

    front: Part = Field(default="linear")  # pyright: ignore[reportAssignmentType]
    embedding_size: Size = 128
    cell: str = "gru"
    encoder: Part = Field(default="recurrent")  # pyright: ignore[reportAssignmentType]
    encoder_size: Size = 256
    encoder_layers: PositiveInt = 1
    bidirectional: bool = True
    second: Annotated[Literal["concat", "gate", "query"] | None, NoneIsAWord] = None
    decoder_size: Size = 256
    decoder_layers: PositiveInt = 1
    start: Annotated[PartRecipe | None, BeforeValidator(_as_table), NoneIsAWord] = None
    fusion: Part = Field(default="early")  # pyright: ignore[reportAssignmentType]
    score: Part = Field(default="additive")  # pyright: ignore[reportAssignmentType]
    scope: Part = Field(default="global")  # pyright: ignore[reportAssignmentType]
    normaliser: Part = Field(default="softmax")  # pyright: ignore[reportAssignmentType]
    heads: PositiveInt = 1
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
    least_updates: NotNegativeInt = 0
    updates: Annotated[PositiveInt | None, NoneIsAWord] = None
    minutes: Annotated[PositiveFloat | None, NoneIsAWord] = None
    batch_tokens: PositiveInt = 2000
    loss_per: Literal["token", "sentence"] = "token"
    optimiser: Literal["adam", "adadelta", "sgd"] = "adam"
    learning_rate: Annotated[float, Field(gt=0, le=1e6)] = 0.001
    weight_decay: Annotated[float, Field(ge=0, le=1e6)] = 0.0
    schedule: Literal["constant", "linear", "cosine", "halving"] = "linear"
    halving_start: Share = 0.5
    halvings: PositiveInt = 5
    warmup_updates: NotNegativeInt = 0
    clip_norm: Annotated[PositiveFloat | None, NoneIsAWord] = 1.0
    label_smoothing: Share = 0.0
    scheduled_sampling: Share = 0.0
    guided_attention: Annotated[float, Field(ge=0, le=1e6)] = 1.0
    metric: Literal["sequence_error", "token_error", "word_error", "bleu", "chrf", "loss"] = "sequence_error"
    validate_every: PositiveFloat = 1.0
    validation_size: Annotated[PositiveInt | None, NoneIsAWord] = 1000
    patience: Annotated[PositiveInt | None, NoneIsAWord] = None
    checkpoint_minutes: PositiveFloat = 2.0
    keep: NotNegativeInt = 0
    seed: NotNegativeInt = 1
    device: Literal["auto", "cpu"] = "auto"
    precision: Literal["no", "fp16", "bf16"] = "no"
    tensorboard: bool = False

    @model_validator(mode="after")
    def _has_a_budget(self) -> TrainRecipe:
        if self.epochs is None and self.updates is None and self.minutes is None:
            raise ValueError("a budget is needed: epochs, updates or minutes")
        return self


WIDEST = 10_000
"""Hypotheses, answers and sentences at once, of which each costs memory."""


class PredictRecipe(_Table):
    """How answers are searched for and judged, unless a call or a command says otherwise."""

    beam: Annotated[int, Field(ge=1, le=WIDEST)] = 5
    length_penalty: Annotated[float, Field(ge=0, lt=100)] = 1.0
    length_normalisation: Literal["power", "gnmt"] = "power"
    coverage_penalty: Annotated[float, Field(ge=0, lt=100)] = 0.0
    diversity_penalty: Annotated[float, Field(ge=0, lt=100)] = 0.0
    min_length: PositiveInt = 1
    min_length_ratio: Annotated[float, Field(ge=0, lt=1000)] = 0.0
    max_length: Annotated[PositiveInt | None, NoneIsAWord] = None
    max_length_ratio: Annotated[float, Field(gt=0, lt=1000)] = 3.0
    max_length_extra: Annotated[int, Field(ge=1, lt=1_000_000)] = 20
    banned: list[str] = []
    no_repeat_ngram: NotNegativeInt = 0
    prefix: str = ""
    sampling_temperature: Annotated[PositiveFloat | None, NoneIsAWord] = None
    top_k: Annotated[PositiveInt | None, NoneIsAWord] = None
    top_p: Annotated[float | None, Field(gt=0, le=1), NoneIsAWord] = None
    seed: NotNegativeInt = 1
    attention_temperature: Annotated[Temperature | None, NoneIsAWord] = None
    unknown: Literal["leave", "replace", "avoid"] = "leave"
    batch_size: Annotated[int, Field(ge=1, le=WIDEST)] = 64
    bleu_tokenizer: Literal["13a", "none", "intl", "char", "zh"] = "13a"

    @model_validator(mode="after")
    def _fits_together(self) -> PredictRecipe:
        if self.sampling_temperature is None and (self.top_k is not None or self.top_p is not None):
            raise ValueError("top_k and top_p need a sampling_temperature (1 is the model's own distribution)")
        if self.max_length is not None and self.min_length > self.max_length:
            raise ValueError(f"min_length {self.min_length} is above max_length {self.max_length}")
        return self


class Recipe(_Table):
    """One experiment."""

    data: DataRecipe = DataRecipe()
    model: ModelRecipe = ModelRecipe()
    train: TrainRecipe
    predict: PredictRecipe = PredictRecipe()

    @model_validator(mode="after")
    def _fits_together(self) -> Recipe:
        if self.data.second_source_column is not None and self.model.second is None:
            raise ValueError(
                f"data.second_source_column = {self.data.second_source_column!r} names a second source, of which "
                "model.second = 'none' has no use: expected 'concat', 'gate' or 'query'"
            )
        if self.data.second_source_column is None and self.model.second is not None:
            raise ValueError(
                f"model.second = {self.model.second!r} needs a second source, and data.second_source_column = 'none' "
                "names none"
            )
        return self
