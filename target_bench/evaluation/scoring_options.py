"""How answers are judged, as far as it can be chosen."""

import math
from dataclasses import asdict, dataclass
from inspect import signature
from typing import Any, Literal

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.schema import LabelMode
from target_bench.metrics.sql import Rule


@dataclass(frozen=True, slots=True)
class Scoring:
    """How answers are judged; a task takes what concerns it.

    Attributes:
        labels: fact verification: how a label is read from an answer.
        bertscore: question answering: the model of the additional metric BERTScore, perhaps with
            ``@`` and its layer; None for none.
        engine: text-to-SQL: what runs the statements.
        rule: text-to-SQL: which rule the verdicts follow.
        timeout: text-to-SQL: seconds that a statement may take.
        repeats: text-to-SQL: how often statements are run for VES and R-VES; 1 for neither.
        workers: text-to-SQL: how many processes run statements; None for one a core.
        budget: seconds that all answers of a run may take: in text-to-SQL their statements, else
            reading and scoring them; None for no end.

    Raises:
        ConfigError: a setting cannot be; found here, before anything is run.
    """

    labels: LabelMode = "strict"
    bertscore: str | None = None
    engine: Literal["sqlite", "duckdb"] = "sqlite"
    rule: Rule = "bird"
    timeout: float = 30.0
    repeats: int = 1
    workers: int | None = None
    budget: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.timeout < math.inf:
            raise ConfigError(f"timeout={self.timeout:g} (--timeout): expected seconds above 0")
        if self.repeats < 1:
            raise ConfigError(f"repeats={self.repeats} (--repeats): expected a number from 1")
        if self.workers is not None and self.workers < 1:
            raise ConfigError(f"workers={self.workers}: expected a number from 1")

    def task(self, name: str) -> Any:
        """The task of a short name, with the settings that concern it.

        Raises:
            ConfigError: no task has the name.
        """
        cls = registry.resolve("task", name)
        chosen = asdict(self)
        return cls(**{key: chosen[key] for key in signature(cls).parameters if key in chosen})
