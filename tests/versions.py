"""What a score depends on: families of modules, each with a version that runs name.

``python -m tests.versions`` records the versions and the hashes of the code as they are.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import target_bench.metrics
import target_bench.sql
import target_bench.tasks
from target_bench.core import ranking, reasoning
from target_bench.core.identity import own_files, own_hash
from target_bench.metrics import (
    bertscore,
    classification,
    intervals,
    labels,
    retrieval,
    run_scores,
    sql,
    text,
    text_languages,
)
from target_bench.metrics.descriptions import description_metrics
from target_bench.metrics.faithfulness import support_metrics
from target_bench.metrics.tables import table_metrics
from target_bench.sql import execution
from target_bench.sql.workers import worker
from target_bench.tasks import (
    fact_verification,
    question_answering,
    table_to_text,
    text_to_sql,
    text_to_table,
)
from target_bench.tasks import retrieval as ranked

RECORD = Path(__file__).with_name("versions.json")
AGAIN = "python -m tests.versions"


@dataclass(frozen=True)
class Scoring:
    """Code that decides scores, and its version.

    Attributes:
        version: what runs or scores name.
        constant: where the version is written.
        modules: the modules to begin with; those that they import of the same rooms belong to it,
            but for the modules of other families.
    """

    version: str
    constant: str
    modules: tuple[ModuleType, ...]

    @property
    def files(self) -> set[Path]:
        """The files of the family."""
        own = set(_files(*self.modules))
        others = {file for one in FAMILIES.values() for file in _files(*one.modules)} - own
        return own_files(own, ROOMS, others)

    def recorded(self) -> dict[str, str]:
        """Version and hash, as they are recorded."""
        return {"version": self.version, "code": own_hash(self.files)}


def _files(*modules: ModuleType) -> list[Path]:
    return [Path(str(module.__file__)) for module in modules]


ROOMS = [
    Path(room.__path__[0]) for room in (target_bench.metrics, target_bench.sql, target_bench.tasks)
]
"""Where code lies that decides scores; other rooms read, hold and write."""

FAMILIES = {
    "ranking": Scoring(ranking.RULE, "ranking.RULE", (ranking,)),
    "reading": Scoring(reasoning.READING, "reasoning.READING", (reasoning,)),
    "labels": Scoring(
        " ".join(classification.LABEL_RULES.values()), "classification.LABEL_RULES", (labels,)
    ),
    "intervals": Scoring(run_scores.SIGNATURE, "metrics.run_scores.SIGNATURE", (intervals,)),
    "retrieval": Scoring(retrieval.VERSION, "metrics.retrieval.VERSION", (retrieval, ranked)),
    "text": Scoring(text.VERSION, "metrics.text.VERSION", (text, bertscore, question_answering)),
    "text in other languages": Scoring(
        text_languages.VERSION, "metrics.text_languages.VERSION", (text_languages,)
    ),
    "classification": Scoring(
        classification.VERSION,
        "metrics.classification.VERSION",
        (classification, fact_verification),
    ),
    "descriptions": Scoring(
        description_metrics.VERSION,
        "metrics.descriptions.description_metrics.VERSION",
        (description_metrics, table_to_text),
    ),
    "sql": Scoring(sql.VERSION, "metrics.sql.VERSION", (sql,)),
    "support": Scoring(
        support_metrics.VERSION,
        "metrics.faithfulness.support_metrics.VERSION",
        (support_metrics,),
    ),
    "tables": Scoring(
        table_metrics.VERSION,
        "metrics.tables.table_metrics.VERSION",
        (table_metrics, text_to_table),
    ),
    "judging": Scoring(execution.VERSION, "sql.judging.VERSION", (execution, worker, text_to_sql)),
}


def problem(name: str, recorded: dict[str, str]) -> str | None:
    """Say what is wrong with a family and what to do, or None.

    Args:
        name: the family.
        recorded: its version and hash when they were recorded last.
    """
    family = FAMILIES[name]
    now = family.recorded()
    if now == recorded:
        return None
    if now["version"] != recorded["version"]:
        return (
            f"{name}: the version is {now['version']}, and {RECORD.name} says "
            f"{recorded['version']}. Run: {AGAIN}"
        )
    return (
        f"{name}: its code changed, and its version ({now['version']}) did not. If a score or a "
        f"verdict can be another one now, give {family.constant} a new version, so that stored "
        f"runs are not reused. In either case run: {AGAIN}"
    )


def main() -> None:
    """Record versions and hashes."""
    found = {name: family.recorded() for name, family in FAMILIES.items()}
    RECORD.write_text(json.dumps(found, indent=2) + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
