"""Figures that papers report: shown beside verified scores, marked, and never ranked.

They are read from files ``*.reported.json`` beside the entries.
"""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from target_bench.core.errors import DataError
from target_bench.core.files import parse_json
from target_bench.metrics.run_scores import spec_of
from target_bench.reporting.leaderboard.documents import (
    Kind,
    Label,
    Link,
    Name,
    Strict,
    first_fault,
)

SUFFIX = ".reported.json"
"""Suffix of a file with reported figures."""


MILLISECONDS = "ms"
"""What the time of retrieval, a query, is called in the place of a metric."""


class ReportedScore(Strict):
    """A figure of rankings or answers.

    Attributes:
        corpus: registered name of the corpus.
        split: the split that the authors scored.
        metric: name of the metric, as ``recall@10``; or ``ms``.
        value: the figure, on the scale of the metric here.
    """

    corpus: Name
    split: Name
    metric: Name
    value: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @field_validator("value")
    @classmethod
    def _on_its_scale(cls, value: float, given: ValidationInfo) -> float:
        metric = given.data.get("metric", MILLISECONDS)  # missing: that is the fault to name
        spec = spec_of(metric)
        if metric != MILLISECONDS and value > spec.top:
            raise ValueError(f"{metric} is {spec.range}")
        return value


class ReportedSystem(Strict):
    """A method of a paper.

    Attributes:
        name: what the authors call it.
        kind: how it finds tables.
        note: what a reader should know of its figures.
        scores: its figures.
    """

    name: Label
    kind: Kind
    note: Label | None = None
    scores: Annotated[list[ReportedScore], Field(min_length=1, max_length=500)]


class Reported(Strict):
    """A paper and its figures.

    Attributes:
        format: the version of this layout.
        source: paper and table, in one line.
        url: its address.
        date: the day or month it was published, as 2025-05.
        systems: the methods, in the order of the paper.
    """

    format: Literal[1]
    source: Label
    url: Link
    date: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")]
    systems: Annotated[list[ReportedSystem], Field(min_length=1, max_length=200)]


def read_reported(path: Path) -> Reported:
    """Return the paper in a ``*.reported.json``.

    Raises:
        DataError: the file cannot be read, or a field is wrong; the message names both.
    """
    try:
        return Reported.model_validate(parse_json(path.read_bytes()))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise DataError(
            f"{path}: {first_fault(error)}; docs/leaderboard.md shows the fields"
        ) from error
    except ValueError as error:
        raise DataError(f"{path}: is not JSON: {error}") from error
