"""Table-to-text: does a sentence say what the highlighted cells of a table say?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from target_bench.core.metric import Metric
from target_bench.core.reasoning import READING
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import AnswerKind, Corpus, Dataset, Query
from target_bench.core.task import Predictions, PromptStyle, SummaryBlock, TableSource, Task, View
from target_bench.data import highlights
from target_bench.data.highlights import grid_rows, select_places
from target_bench.metrics.text import VERSION as TEXT_VERSION
from target_bench.metrics.text import count_references
from target_bench.models.answer_reading import AnswerReader, answer_alone
from target_bench.models.prompts.prompting import CellPrompter, load_prompt
from target_bench.tables import totto_text
from target_bench.tables.descriptions import VERSION, JudgedDescriptions, description_metrics
from target_bench.tables.totto_text import TableEvidence


@dataclass(frozen=True)
class JudgedSentences(JudgedDescriptions):
    """Sentences, and the faults of highlighted cells.

    Attributes:
        faults: the fault of each query; None where all highlighted cells are in its table.
    """

    faults: Sequence[str | None] = ()


class TableToText(Task[JudgedSentences]):
    """Sentences about highlighted cells, compared with references.

    The table of a query is given: its first gold table. Highlighted cells that are not in the table
    are counted, and left out of prompts and of evidence.

    Args:
        references: ``all`` references of a query, or only the ``first``, as in the single-reference
            mode of ToTTo's scripts.
        bertscore: the model of the additional metric BERTScore, as in ``roberta-large`` or
            ``folder@6``, which names a layer (extra bertscore); None for none.
        bleurt: the checkpoint of the additional metric BLEURT, a folder that transformers reads
            (extra bleurt); None for none.
    """

    name = "table_to_text"
    title = "Table-to-Text"
    aliases = ("t2t", "data_to_text")
    scores = "descriptions"
    main = "parent"
    answer: ClassVar[AnswerKind] = "text"
    source: ClassVar[TableSource] = "given"
    view = View(
        "a table with highlighted cells",
        "a sentence that describes them",
        slices=("overlap_subset",),
        summary=lambda report: _summarize(report),  # functions below
        remarks=lambda report: _list_remarks(report),
    )

    def __init__(
        self,
        references: Literal["all", "first"] = "all",
        bertscore: str | None = None,
        bleurt: str | None = None,
    ) -> None:
        self._reader = AnswerReader(answer_alone)
        self.references = references
        self.bertscore = bertscore
        self.bleurt = bleurt
        self.prompt = PromptStyle(writer=self._prompt_writer)

    def _prompt_writer(
        self, options: RunConfig, _databases: Mapping[str, Path], _follows_schema: bool
    ) -> CellPrompter:
        """Make the writer of prompts with highlighted cells."""
        prompt = load_prompt(self, options)
        return CellPrompter(self.name, prompt, options.table_format, answer=self.answer)

    def metrics(
        self, queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[JudgedSentences]]:
        """Return PARENT and ToTTo's BLEU."""
        number = count_references(self._select_references(queries))
        metrics: list[Metric[JudgedSentences]] = [*description_metrics(number, READING)]
        if self.bertscore is not None:
            from target_bench.metrics.bertscore import BERTScore

            metrics.append(BERTScore(self.bertscore, READING))
        if self.bleurt is not None:
            from target_bench.models.text_metrics import BLEURT

            metrics.append(BLEURT(self.bleurt, number, READING))
        return metrics

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedSentences:
        """Return the sentences without reasoning, and the cells that they should describe.

        Raises:
            BudgetError: no time is left.
        """
        evidence, faults = [], []
        for query in dataset.queries:
            cells, fault = _read_evidence(query, dataset.corpus)
            evidence.append(cells)
            faults.append(fault)
        references = self._select_references(dataset.queries)
        return JudgedSentences(
            self._reader.read_all(dataset, predictions),
            references,
            evidence,
            totto_text.is_padded(references),
            faults,
        )

    def _select_references(self, queries: Sequence[Query]) -> list[tuple[str, ...]]:
        number = 1 if self.references == "first" else None
        return [tuple(query.references)[:number] for query in queries]

    def parse_answers(self, examples: JudgedSentences) -> Sequence[str | None]:
        """Return the sentence in each answer; None where there is none, or it is too long."""
        return examples.readable

    def settings(self) -> list[str]:
        """List the settings that change a score: the versions of the metrics."""
        return [VERSION, TEXT_VERSION]

    def report(self, dataset: Dataset, examples: JudgedSentences) -> dict[str, Any]:
        """Return fault of highlights or values -> the queries that have it."""
        ids_by_fault: dict[str, list[str]] = {}
        read = zip(dataset.queries, examples.evidence, examples.faults, strict=True)
        for query, evidence, fault in read:
            for problem in dict.fromkeys(filter(None, (fault, _find_missing_value(evidence)))):
                ids_by_fault.setdefault(problem, []).append(query.id)
        return {"faults": ids_by_fault} if ids_by_fault else {}


def _summarize(report: Mapping[str, Any]) -> list[SummaryBlock]:
    return [
        SummaryBlock(f"queries with {fault}", {"queries": len(ids)}, f"the first is {ids[0]}")
        for fault, ids in (report.get("faults") or {}).items()
    ]


def _list_remarks(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the faults of each query that has any."""
    faults: dict[str, list[str]] = {}
    for fault, ids in (report.get("faults") or {}).items():
        for query_id in ids:
            faults.setdefault(query_id, []).append(fault)
    return faults


def _read_evidence(query: Query, corpus: Corpus) -> tuple[TableEvidence, str | None]:
    """Return the highlighted cells of a query for metrics, and the fault of its highlights."""
    if not query.gold:
        return TableEvidence("", ""), "no table"
    table = corpus[query.gold[0]]
    rows = grid_rows(table)
    highlighted = query.metadata.get(highlights.HIGHLIGHTED) or ()
    titles = (
        str(table.context.get(name) or "") for name in ("title", "section_title", "section_text")
    )
    cells = list(select_places(rows, highlighted))
    evidence = totto_text.evidence(rows, cells, *titles)
    is_blank = not all(totto_text.tokens(rows[row][column].text) for row, column in cells)
    return evidence, highlights.find_fault(rows, highlighted) or (_NO_TOKEN if is_blank else None)


_NO_TOKEN = "a value without a token"  # noqa: S105 (of a text)


def _find_missing_value(evidence: TableEvidence) -> str | None:
    if not evidence.highlighted:
        return "nothing that a sentence should hold"
    values = totto_text.values(evidence.highlighted)
    return None if all(map(totto_text.tokens, values)) else _NO_TOKEN
