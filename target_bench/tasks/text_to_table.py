"""Text to table: are the tables in an answer those of the reference?"""

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from target_bench.core.credentials import without_secrets
from target_bench.core.errors import DataError
from target_bench.core.metric import Metric
from target_bench.core.reasoning import READING, without_reasoning
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import AnswerKind, Dataset, Generation, Judgement, Query, Retrieval
from target_bench.core.task import (
    FAILED,
    AnswerJudge,
    Predictions,
    PromptStyle,
    SummaryBlock,
    TableSource,
    Task,
    View,
    has_reference,
)
from target_bench.models.answer_reading import check_time, get_text
from target_bench.models.judges import PairJudge, p_score, parse_reply
from target_bench.models.prompts.prompting import TablePrompter, load_prompt
from target_bench.tables.answer_tables import FORMATS, TableFormat
from target_bench.tables.compared_tables import ComparedTables
from target_bench.tables.header_cell_scores import Headers
from target_bench.tables.reading import read_tables
from target_bench.tables.table_metrics import VERSION, collect_findings, table_metrics, validity

Compared = Sequence[ComparedTables]

_HEADERS = {"row": Headers(column=False), "column": Headers(row=False), "both": Headers()}

_UNANSWERED = "unanswered"
"""The fingerprint of a judgement that a judge failed to make: it is made again by the next run."""

_AT_ONCE = 64  # answers that a judge is asked about together


class TextToTable(Task[Compared], AnswerJudge):
    """Tables are read from the answers and compared with those of the reference.

    The metadata of a query say how its tables are written (``format``: text, html, latex, csv or
    json), which headers they have (``headers``: row, column or both) and how the answer is asked
    for (``instruction``). Where no query has a reference, only validity is scored.

    Args:
        table_format: the format of queries that name none.
        judged_by: a generator that compares answer and reference for the P-Score, as written on
            the command line; None for none. Its replies are recorded with the judgements.
    """

    name = "text_to_table"
    title = "Text-to-Table"
    aliases: ClassVar[tuple[str, ...]] = ("t2table", "text_to_tables", "struc_bench")
    scores = "tables"
    main = "cell_f1"
    answer: ClassVar[AnswerKind] = "tables"
    source: ClassVar[TableSource] = "none"
    scores_unlabelled = True
    view = View(
        "a text",
        "tables, in Markdown, HTML, LaTeX, CSV or JSON",
        slices=("format",),
        summary=lambda report: _summarize(report),  # the function below
    )

    def __init__(self, table_format: TableFormat = "text", judged_by: Any = None) -> None:
        self.table_format: TableFormat = table_format
        self.judged_by = judged_by
        self.judge = self
        self.prompt = PromptStyle(writer=self._prompt_writer)
        self.is_repeatable = judged_by is None
        self._pair_judge = None if judged_by is None else PairJudge(judged_by)
        self._judge_settings = [self._pair_judge.setting()] if self._pair_judge else []

    def parts(self) -> Mapping[str, object]:
        """Return the generator that judges, if there is one."""
        return {"judged_by": self._pair_judge.generator} if self._pair_judge else {}

    def check(self, dataset: Dataset) -> None:
        """Check that every reference holds a table in the format of its query.

        Raises:
            DataError: one does not, or the format or the kind of headers is unknown.
        """
        for query in dataset.queries:
            _read_headers(query)
            table_format = self._format(query)
            error = read_tables(query.references[0], table_format).error
            if error is not None:
                raise DataError(
                    f"query {query.id!r}: no table can be read in its reference as {table_format} "
                    f"({error}): {query.references[0]!r:.80}"
                )

    def _format(self, query: Query) -> TableFormat:
        table_format: TableFormat = query.metadata.get("format", self.table_format)
        if table_format not in FORMATS:
            raise DataError(
                f"query {query.id!r}: format {table_format!r} is not one of {', '.join(FORMATS)}"
            )
        return table_format

    def _prompt_writer(
        self, options: RunConfig, _databases: Mapping[str, Path], _follows_schema: bool
    ) -> TablePrompter:
        """Make the writer of prompts with the instruction of each query."""
        return TablePrompter(
            self.name,
            load_prompt(self, options),
            options.table_format,
            answer=self.answer,
            default_format=self.table_format,
        )

    def metrics(
        self, queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[Compared]]:
        """Return validity, H-Score, header and cell scores, and with a judge the P-Score.

        Where no query has a reference, only validity.
        """
        labelled = any(has_reference(self, query) for query in queries)
        judged = labelled and self._pair_judge is not None
        formats = {self._format(query) for query in queries}
        return table_metrics(judged, formats) if labelled else validity()

    def settings(self) -> list[str]:
        """List the settings that change a score, besides those of the metrics."""
        return [VERSION, f"format:{self.table_format}", *self._judge_settings]

    def find_unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
        stored: Mapping[str, Judgement],
    ) -> list[Query]:
        """List the queries without a judgement of this answer, its data and these settings."""
        return [
            query
            for query in dataset.queries
            if query.id not in stored
            or stored[query.id].fingerprint != self._fingerprint(query, generations[query.id])
        ]

    def make_judgements(
        self,
        queries: Sequence[Query],
        dataset: Dataset,  # noqa: ARG002 (the contract's argument)
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Read the answers, and ask the judge about those in which there is a table.

        Raises:
            BudgetError: the time for all of them is over.
        """
        for start in range(0, len(queries), _AT_ONCE):
            batch = queries[start : start + _AT_ONCE]
            compared = {query.id: self._compare(query, generations[query.id]) for query in batch}
            replies = self._ask_judge(compared)
            for query in batch:
                check_time()
                record = _make_record(compared[query.id])
                if query.id in replies:
                    record |= _record_p_score(replies[query.id])
                fingerprint = self._fingerprint(query, generations[query.id])
                yield Judgement(query.id, _UNANSWERED if FAILED in record else fingerprint, record)

    def _fingerprint(self, query: Query, answer: Generation) -> str:
        data = (query.metadata.get(name) for name in ("format", "headers"))
        content = [READING, *self.settings(), *data, get_text(answer), query.answer]
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]

    def _ask_judge(
        self, compared: Mapping[str, ComparedTables]
    ) -> dict[str, tuple[Generation, Generation]]:
        if self._pair_judge is None:
            return {}
        pairs = {
            query_id: (tables.plain, tables.gold, tables.table_format)
            for query_id, tables in compared.items()
            if tables.answer.error not in ("empty", "too_long") and tables.gold
        }
        return self._pair_judge.ask(pairs)

    def examples(self, dataset: Dataset, predictions: Predictions) -> list[ComparedTables]:
        """Return each answer beside its reference.

        Raises:
            DataError: an answer is not judged.
        """
        examples = []
        for query in dataset.queries:
            if query.id not in predictions.judgements:
                raise DataError(
                    f"task {self.name}: the answer to query {query.id!r} is not judged; judge the "
                    "answers first, with judge_answers or target-bench score RUN"
                )
            record = predictions.judgements[query.id].record
            examples.append(self._compare(query, predictions.answers[query.id], record))
        return examples

    def _compare(
        self, query: Query, reply: Generation, record: Mapping[str, Any] = MappingProxyType({})
    ) -> ComparedTables:
        score = record.get("p_score")
        return ComparedTables(
            get_text(reply),
            next(iter(query.references), ""),
            self._format(query),
            _read_headers(query),
            (score[0], score[1]) if score else None,
            judged="replies" in record or "p_score" in record.get(FAILED, {}),
        )

    def parse_answers(self, examples: Compared) -> list[object | None]:
        """Return the tables in each answer; None where there is none."""
        return [comparison.answer.tables or None for comparison in examples]

    def report(self, _dataset: Dataset, examples: Compared) -> dict[str, Any]:
        """Return faults; where there are references, scores by table too."""
        return collect_findings(examples, self._pair_judge is not None)


def _summarize(report: Mapping[str, Any]) -> list[SummaryBlock]:
    """Return faults, numbers of tables and the P-Score, a line each."""
    faults = report["faults"]
    blocks = [
        SummaryBlock("answers by fault", faults, "" if faults else "none"),
        SummaryBlock("answers by number of tables", report.get("tables") or {}),
    ]
    if "p_score" in report:
        blocks.append(SummaryBlock("P-Score", report["p_score"]))
    return blocks


def _read_headers(query: Query) -> Headers:
    headers = query.metadata.get("headers", "both")
    if not isinstance(headers, str) or headers not in _HEADERS:
        raise DataError(
            f"query {query.id!r}: headers {headers!r} is not one of {', '.join(_HEADERS)}"
        )
    return _HEADERS[headers]


def _make_record(compared: ComparedTables) -> dict[str, Any]:
    """Return the record of an answer without a judge's replies."""
    answer = compared.answer
    return {
        "verdict": answer.error or "readable",
        "format": compared.table_format,
        "faults": list(answer.faults),
        "tables": [f"{t.name or '-'}: {len(t.rows)} x {t.width}" for t in answer.tables],
    }


def _record_p_score(replies: Sequence[Generation]) -> dict[str, Any]:
    """Return the replies of the judge in both orders and the P-Score, or the error."""
    errors = [reply.error for reply in replies if reply.error is not None]
    if errors:
        return {FAILED: {"p_score": without_secrets(errors[0])}}
    texts = [reply.text for reply in replies]
    scored = p_score([parse_reply(without_reasoning(text)) for text in texts])
    mean = [scored.content, scored.structure] if scored.counted else None
    return {"replies": texts, "p_score": mean}
