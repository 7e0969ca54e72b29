"""A sweep as its YAML file says it, checked field by field."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PrivateAttr, ValidationError

from target_bench.core.errors import ConfigError, unknown_name
from target_bench.data.distractors import NearCopies
from target_bench.harness.options import RUNS, in_sweeps, read_option
from target_bench.harness.sweeps.yaml_lines import Document, Place

if TYPE_CHECKING:
    from dataclasses import Field as OptionField


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
    near_copies: (
        Annotated[list[NearCopies], BeforeValidator(_listed), Field(min_length=1)] | None
    ) = None


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
    distractors: Annotated[list[Mixed], BeforeValidator(_listed), Field(min_length=1)] = [[]]
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
    def of(cls, document: Document) -> "SweepConfig":
        """Return the sweep of a file.

        Raises:
            ConfigError: invalid entries; the message names the line of each.
        """
        if not isinstance(document.content, dict):
            raise ConfigError(f"{document.at(())}: expected entries such as corpora: [mini]")
        options = _Options(document)
        own = {key: v for key, v in document.content.items() if key not in options.entries}
        try:
            found = cls.model_validate(own)
        except ValidationError as error:
            for problem in error.errors():
                options.problems.append((problem["loc"], _message(document, problem)))
        if options.problems:
            in_order = sorted(options.problems, key=lambda one: document.line(one[0]))
            raise ConfigError("\n".join(dict.fromkeys(said for _, said in in_order)))
        found._alternatives, found._chosen = options.alternatives, options.chosen
        return found


class _Options:
    """The entries of a file that are options of ``run``, each read as there."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.entries: set[str] = set()
        self.problems: list[tuple[Place, str]] = []
        self.alternatives: dict[str, list[Any]] = {}
        self.chosen: dict[str, Any] = {}
        for entry, each in in_sweeps(axis=True):
            self.alternatives[entry] = self._read_list(entry, each)
        for entry, each in in_sweeps(axis=False):
            self.chosen[each.name] = self._read((entry,), each, self._value(entry, each))

    def _value(self, entry: str, each: "OptionField[Any]") -> Any:
        self.entries.add(entry)
        return self._document.content.get(entry, each.default)

    def _read_list(self, entry: str, each: "OptionField[Any]") -> list[Any]:
        value = self._value(entry, each)
        if value == []:
            place = (entry,)
            self.problems.append((place, f"{self._document.at(place)}: the list is empty"))
        if not isinstance(value, list):
            return [self._read((entry,), each, value)]
        return [self._read((entry, i), each, one) for i, one in enumerate(value)]

    def _read(self, place: Place, each: "OptionField[Any]", value: Any) -> Any:
        try:
            return read_option(each.name, value, self._document.at(place))
        except ConfigError as error:
            self.problems.append((place, str(error)))
            return None


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
        names = [*model.model_fields]
        if model is SweepConfig:
            names += [entry for axis in (True, False) for entry, _ in in_sweeps(axis)]
        text = unknown_name("key", str(place[-1]), names)
        return f"{document.at(place)}: {text}"
    if problem["type"] == "missing":
        return f"{document.at(place[:-1])}: the entry {place[-1]} is missing"
    if problem["type"] == "too_short":
        return f"{document.at(place)}: the list is empty"
    message = problem["msg"][:1].lower() + problem["msg"][1:]
    return f"{document.at(place)}: {message}, not {problem['input']!r:.80}"
