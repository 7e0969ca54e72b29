"""The figures of an arena as a file: what pages and boards are made of later."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from target_bench.core.errors import DataError, StoreError
from target_bench.core.files import atomic_write, parse_json
from target_bench.core.metric import MetricSpec
from target_bench.harness.arena.arena import Arena
from target_bench.harness.arena.human_agreement import (
    FILE_ORDER,
    HumanAgreement,
    Mean,
    PairedTest,
)
from target_bench.harness.arena.known_errors import ErrorDetection, Share
from target_bench.harness.arena.rubric_weights import WeightRobustness
from target_bench.metrics.rank_agreement import MEASURES
from target_bench.models.perturbations.perturbed import LEVELS
from target_bench.runs.record_log import cannot

_Number = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=0)]
_AS = "write one with `target-bench tables arena -o arena.json`"


class _Document(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Mean(_Document):
    value: _Number | None
    low: _Number | None
    high: _Number | None

    def mean(self) -> Mean:
        return Mean(_nan(self.value), _nan(self.low), _nan(self.high))


class _Share(_Document):
    value: _Number | None
    n: _Count

    def share(self) -> Share:
        return Share(_nan(self.value), self.n)


class _People(_Document):
    metric: str
    n: _Count
    spearman: _Mean
    kendall: _Mean
    weighted_tau: _Mean
    rbo: _Mean
    footrule: _Mean
    tied: _Number
    seconds_per_1000: _Number
    rho: list[_Number | None]

    def agreement(self) -> HumanAgreement:
        means = {measure: getattr(self, measure).mean() for measure in MEASURES}
        rho = np.array([_nan(value) for value in self.rho])
        return HumanAgreement(
            self.metric, self.n, means, rho, self.tied, self.seconds_per_1000, 1000
        )


class _Test(_Document):
    first: str
    second: str
    difference: _Number | None
    p: _Number
    corrected: _Number

    def test(self) -> PairedTest:
        return PairedTest(self.first, self.second, _nan(self.difference), self.p, self.corrected)


class _Errors(_Document):
    metric: str
    sensitivity: _Share
    specificity: _Share
    auc: _Share
    by_change: dict[str, _Share]
    by_level: dict[str, _Share]

    def detection(self) -> ErrorDetection:
        return ErrorDetection(
            self.metric,
            self.sensitivity.share(),
            self.specificity.share(),
            self.auc.share(),
            {name: share.share() for name, share in self.by_change.items()},
            {name: share.share() for name, share in self.by_level.items()},
            np.nan,
        )


class _Weights(_Document):
    named: dict[str, _Number]
    drawn: Annotated[list[_Number], Field(min_length=1)]
    best: dict[str, _Number]


class _Figures(_Document):
    corpus: str
    sets: _Count
    perturbations: _Count
    metrics: dict[str, dict[str, Any]]
    people: Annotated[list[_People], Field(min_length=1)]
    tests: list[_Test]
    errors: Annotated[list[_Errors], Field(min_length=1)]
    weights: _Weights

    @model_validator(mode="after")
    def _fit(self) -> "_Figures":
        named = {one.metric for one in self.people} | {one.metric for one in self.errors}
        named -= {FILE_ORDER}
        if named != set(self.metrics):
            raise ValueError(f"metrics: expected a declaration of {', '.join(sorted(named))}")
        if len({frozenset(one.by_change) for one in self.errors}) > 1:
            raise ValueError("errors: by_change differs between metrics")
        if any(set(one.by_level) != set(LEVELS) for one in self.errors):
            raise ValueError(f"errors: by_level has to have {', '.join(LEVELS)}")
        return self


def write_arena(arena: Arena, path: Path) -> None:
    """Write the figures.

    Raises:
        StoreError: the file cannot be written.
    """
    try:
        atomic_write(path, (json.dumps(arena.to_json(), indent=1) + "\n").encode())
    except OSError as error:
        raise StoreError(cannot("be written", path, error, "-o")) from error


def read_arena(path: Path) -> Arena:
    """Read the figures that ``write_arena`` wrote.

    Raises:
        DataError: the file is missing, or holds no such figures.
    """
    try:
        found = _Figures.model_validate(parse_json(path.read_bytes()))
        specs = {name: MetricSpec.from_json(spec) for name, spec in found.metrics.items()}
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; {_AS}") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        why = f"{place}: {first['msg']}" if place else first["msg"]
        raise DataError(f"{path}: not the figures of an arena: {why}; {_AS}") from error
    except ValueError as error:
        raise DataError(f"{path}: not the figures of an arena: {error}; {_AS}") from error
    return Arena(
        found.corpus,
        found.sets,
        specs,
        [one.agreement() for one in found.people],
        [one.test() for one in found.tests],
        [one.detection() for one in found.errors],
        found.perturbations,
        _weights(found.weights),
    )


def read_arenas(paths: Sequence[Path]) -> list[Arena]:
    """Read several files, each of tables of another corpus.

    Raises:
        DataError: as ``read_arena``, or two are of one corpus.
    """
    found: dict[str, Arena] = {}
    for path in paths:
        arena = read_arena(path)
        if arena.corpus in found:
            raise DataError(f"{path}: another file is of {arena.corpus}, too; name one of them")
        found[arena.corpus] = arena
    return list(found.values())


def _weights(found: _Weights) -> WeightRobustness:
    return WeightRobustness(found.named, np.sort(found.drawn), found.best)


def _nan(value: float | None) -> float:
    return np.nan if value is None else value
