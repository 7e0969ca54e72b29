"""A sweep as its YAML file says it, checked field by field."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from target_bench.core.errors import ConfigError, unknown_name
from target_bench.data.distractors import NearCopies
from target_bench.harness.options import RUNS, in_sweeps, read_option
from target_bench.harness.sweeps.sweep_file import Place, SweepFile


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


def _named(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


def _mixed_in(value: Any) -> Any:
    if value is None or value == "none":
        return []
    return [_named(item) for item in _listed(value)]


T = TypeVar("T")

Whole = Annotated[int, Field(strict=True, ge=1)]
Seed = Annotated[int, Field(strict=True, ge=0)]
Several = Annotated[list[T], BeforeValidator(_listed), Field(min_length=1)]
"""A list of alternatives; a single value stands for a list of one."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CorpusEntry(_Entry):
    """A corpus: its name or path, and the parts of it that are meant."""

    name: str
    splits: Several[str] | None = None
    database: str | None = None
    limit: Whole | None = None


class DistractorEntry(_Entry):
    """Tables to mix in; ``n`` 0 is none at all."""

    name: str
    split: Several[str] | None = None
    n: Several[Annotated[int, Field(strict=True, ge=0)]] | None = None
    seed: Several[Seed] | None = None
    near_copies: Several[NearCopies] | None = None


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
    corpora: Several[Corpus]
    distractors: Several[Mixed] = [[]]
    retrievers: Annotated[list[Plugin], BeforeValidator(_listed)] = []
    generators: Annotated[list[Plugin], BeforeValidator(_listed)] = []
    seeds: Annotated[list[Seed], BeforeValidator(_listed)] = []
    repeats: Whole = 1
    zip: list[str] | list[list[str]] = []
    include: Annotated[list[Matched], BeforeValidator(_listed)] = []
    exclude: Annotated[list[Matched], BeforeValidator(_listed)] = []
    out: Path = RUNS
    data_dir: Path | None = None
    _alternatives: dict[str, list[Any]] = PrivateAttr(default_factory=dict)
    _chosen: dict[str, Any] = PrivateAttr(default_factory=dict)

    parts: ClassVar[Mapping[str, type[BaseModel]]] = {
        "corpora": CorpusEntry,
        "distractors": DistractorEntry,
    }

    @property
    def alternatives(self) -> dict[str, list[Any]]:
        """Entry -> alternatives, of the options of ``run`` that are lists here."""
        return self._alternatives

    @property
    def chosen(self) -> dict[str, Any]:
        """Option -> value, of the options of ``run`` that all cells share."""
        return self._chosen

    @classmethod
    def of(cls, document: SweepFile) -> "SweepConfig":
        """Return the sweep of a file.

        Raises:
            ConfigError: invalid entries; the message names each.
        """
        content = document.content
        if not isinstance(content, dict):
            raise ConfigError(f"{document.at(())}: expected entries such as corpora: [mini]")
        problems: list[str] = []
        alternatives, chosen = _options(document, problems)
        try:
            config = cls.model_validate({k: v for k, v in content.items() if k not in _OPTIONS})
        except ValidationError as error:
            problems += [_message(document, each) for each in error.errors()]
        if problems:
            raise ConfigError("\n".join(dict.fromkeys(problems)))
        config._alternatives, config._chosen = alternatives, chosen
        return config


_OPTIONS = [entry for axis in (True, False) for entry, _ in in_sweeps(axis)]
"""The entries that are options of ``run``."""


def _options(
    document: SweepFile, problems: list[str]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Read the options of ``run``: those of which each value makes cells, and those of all cells.

    Args:
        document: the file.
        problems: gets what is invalid.
    """

    def read(place: Place, name: str, value: Any) -> Any:
        try:
            return read_option(name, value, document.at(place))
        except ConfigError as error:
            problems.append(str(error))
            return None

    alternatives = {}
    for entry, each in in_sweeps(axis=True):
        values = document.content.get(entry, each.default)
        if values == []:
            problems.append(f"{document.at((entry,))}: the list is empty")
        if isinstance(values, list):
            options = [read((entry, i), each.name, value) for i, value in enumerate(values)]
        else:
            options = [read((entry,), each.name, values)]
        alternatives[entry] = options
    chosen = {}
    for entry, each in in_sweeps(axis=False):
        value = document.content.get(entry, each.default)
        chosen[each.name] = read((entry,), each.name, value)
    return alternatives, chosen


_SCORING = (
    "there is no key scoring; its entries are settings of a task, as in "
    "tasks: [{name: text-to-sql, engine: duckdb}]"
)


def _message(document: SweepFile, problem: Any) -> str:
    place = problem["loc"]
    if place == ("scoring",):
        return f"{document.at(place)}: {_SCORING}"
    if problem["type"] == "extra_forbidden":
        model = SweepConfig if len(place) == 1 else SweepConfig.parts[place[0]]
        names = [*model.model_fields]
        names += _OPTIONS if model is SweepConfig else []
        text = unknown_name("key", str(place[-1]), names)
        return f"{document.at(place)}: {text}"
    if problem["type"] == "missing":
        return f"{document.at(place[:-1])}: the entry {place[-1]} is missing"
    if problem["type"] == "too_short":
        return f"{document.at(place)}: the list is empty"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{document.at(place)}: {message}, not {problem['input']!r:.80}"
