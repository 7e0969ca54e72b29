"""A sweep as its YAML file says it, checked field by field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from target_bench.core.errors import ConfigError
from target_bench.core.registry import unknown_name
from target_bench.core.schema import OnError
from target_bench.core.serialization import Format
from target_bench.evaluation.sweeps.yaml_lines import Document


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _mixed_in(value: Any) -> Any:
    if value is None or value == "none":
        return []
    return [_named(item) for item in _listed(value)]


Whole = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CorpusEntry(_Entry):
    """A corpus: its name or path, and the parts of it that are meant."""

    name: str
    splits: Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)] | None = None
    database: str | None = None
    limit: Whole | None = None


class DistractorEntry(_Entry):
    """Tables to mix in; ``n`` 0 is none at all. Lists are alternatives."""

    name: str
    split: Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)] | None = None
    n: (
        Annotated[
            list[Annotated[int, Field(strict=True, ge=0)]],
            BeforeValidator(_listed),
            Field(min_length=1),
        ]
        | None
    ) = None
    seed: Annotated[list[Seed], BeforeValidator(_listed), Field(min_length=1)] | None = None


class PluginEntry(BaseModel):
    """A task, retriever or generator with settings, each of which may be a list of alternatives.

    Attributes:
        name: as on the command line.
        zip: names of settings whose alternatives go together, one by one.
        gpus: how many GPUs it needs, where cells are placed by that.
    """

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str
    zip: list[str] | list[list[str]] = []
    gpus: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


Corpus = Annotated[CorpusEntry, BeforeValidator(_named)]
Mixed = Annotated[list[DistractorEntry], BeforeValidator(_mixed_in)]
Plugin = Annotated[PluginEntry, BeforeValidator(_named)]
Matched = dict[str, Any]


class SweepConfig(_Entry):
    """The whole file. A list is a list of alternatives; cells are the product of all of them."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][\w.-]*$")] | None = None
    tasks: Annotated[list[Plugin], BeforeValidator(_listed)] = []
    corpora: Annotated[list[Corpus], BeforeValidator(_listed), Field(min_length=1)]
    splits: Annotated[list[str | None], BeforeValidator(_listed), Field(min_length=1)] = [None]
    distractors: Annotated[list[Mixed], BeforeValidator(_listed), Field(min_length=1)] = [[]]
    retrievers: Annotated[list[Plugin], BeforeValidator(_listed)] = []
    generators: Annotated[list[Plugin], BeforeValidator(_listed)] = []
    prompts: Annotated[list[Path | None], BeforeValidator(_listed), Field(min_length=1)] = [None]
    tables: Annotated[list[Whole | None], BeforeValidator(_listed), Field(min_length=1)] = [None]
    table_formats: Annotated[list[Format], BeforeValidator(_listed), Field(min_length=1)] = [
        "markdown"
    ]
    prompt_tokens: Annotated[list[Whole], BeforeValidator(_listed), Field(min_length=1)] = [8000]
    schema_scopes: Annotated[
        list[Literal["database", "tables"]], BeforeValidator(_listed), Field(min_length=1)
    ] = ["database"]
    structured: bool = True
    k: Annotated[list[Whole], BeforeValidator(_listed), Field(min_length=1)] = [1, 5, 10]
    limit: Whole | None = None
    database: str | None = None
    seeds: Annotated[list[Seed], BeforeValidator(_listed)] = []
    repeats: Whole = 1
    on_error: OnError = "stop"
    retry_failed: bool = False
    latency: Annotated[int, Field(strict=True, ge=0, le=500)] = 0
    zip: list[str] | list[list[str]] = []
    include: Annotated[list[Matched], BeforeValidator(_listed)] = []
    exclude: Annotated[list[Matched], BeforeValidator(_listed)] = []
    memory: str | int | None = None
    out: Path = Path("runs")
    indexes: Path | None = None
    data_dir: Path | None = None

    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "corpora": CorpusEntry,
        "distractors": DistractorEntry,
    }

    @classmethod
    def of(cls, document: Document) -> "SweepConfig":
        """The sweep of a file.

        Raises:
            ConfigError: entries that cannot be; the message names the line of each.
        """
        if not isinstance(document.content, dict):
            raise ConfigError(f"{document.at(())}: expected entries such as corpora: [mini]")
        try:
            return cls.model_validate(document.content)
        except ValidationError as error:
            said = [_message(document, problem) for problem in error.errors()]
            raise ConfigError("\n".join(dict.fromkeys(said))) from error


_SCORING = (
    "there is no key scoring; its entries are settings of a task, as in "
    "tasks: [{name: text-to-sql, engine: duckdb}]"
)


def _message(document: Document, problem: Any) -> str:
    place = problem["loc"]
    if place == ("scoring",):
        return f"{document.at(place)}: {_SCORING}"
    if problem["type"] == "extra_forbidden":
        model = SweepConfig if len(place) == 1 else SweepConfig.parts[place[0]]
        text = unknown_name("key", str(place[-1]), model.model_fields)
        return f"{document.at(place)}: {text}"
    if problem["type"] == "missing":
        return f"{document.at(place[:-1])}: the entry {place[-1]} is missing"
    if problem["type"] == "too_short":
        return f"{document.at(place)}: the list is empty"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{document.at(place)}: {message}, not {problem['input']!r:.80}"
