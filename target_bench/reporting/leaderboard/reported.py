"""Figures that papers report (``*.reported.json``): shown beside verified scores, never ranked."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError, ValidationInfo, field_validator

from target_bench.core.errors import DataError
from target_bench.metrics.scores import spec_of
from target_bench.reporting.leaderboard.documents import (
    Kind,
    Label,
    Link,
    Name,
    Strict,
    first_fault,
)

SUFFIX = ".reported.json"

MILLISECONDS = "ms"
"""What the time of retrieval, a query, is called in the place of a metric."""


class ReportedScore(Strict):
    """A figure of rankings or answers, on the split that the authors scored.

    ``metric`` is named as here (``recall@10``, or ``ms``), and ``value`` is on its scale here.
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
    """A method of a paper, as its authors call it; ``note`` is what a reader should know."""

    name: Label
    kind: Kind
    note: Label | None = None
    scores: Annotated[list[ReportedScore], Field(min_length=1, max_length=500)]


class Reported(Strict):
    """A paper: ``source`` is paper and table in one line, ``date`` its day or month."""

    format: Literal[1]
    source: Label
    url: Link
    date: Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}(-[0-9]{2})?$")]
    systems: Annotated[list[ReportedSystem], Field(min_length=1, max_length=200)]


def read_reported(path: Path) -> Reported:
    """Return the figures in a file.

    Raises:
        DataError: it cannot be read, or a field is wrong; the message names both.
    """
    try:
        return Reported.model_validate_json(path.read_bytes())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise DataError(
            f"{path}: {first_fault(error)}; docs/leaderboard.md shows the fields"
        ) from error
