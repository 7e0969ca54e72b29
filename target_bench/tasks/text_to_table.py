"""Text to table: are the tables that an answer holds those of the reference?"""

import hashlib
import json
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from target_bench.components.answer_reading import Reading
from target_bench.components.prompts.prompting import prompt_of
from target_bench.components.prompts.table_prompting import TablePrompter
from target_bench.components.table_judge import VERSION as JUDGE_VERSION
from target_bench.components.table_judge import Pair, TableJudge
from target_bench.core.answer_options import ANSWER_OPTIONS, SEVERAL_TABLES
from target_bench.core.errors import DataError
from target_bench.core.metric import Metric
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.reasoning import READING
from target_bench.core.schema import (
    AnswerKind,
    Corpus,
    Dataset,
    Generation,
    Judgement,
    Query,
    Retrieval,
    TableId,
)
from target_bench.core.task import Predictions, SummaryBlock, TableSource, Task
from target_bench.metrics.faithfulness.support_metrics import VERSION as SUPPORT_VERSION
from target_bench.metrics.faithfulness.support_metrics import table_support_metrics
from target_bench.metrics.tables.answer_tables import FORMATS, TableFormat
from target_bench.metrics.tables.compared_tables import ComparedTables
from target_bench.metrics.tables.findings import findings
from target_bench.metrics.tables.header_cell_scores import Headers
from target_bench.metrics.tables.p_score import p_score, parse_reply
from target_bench.metrics.tables.reading import read_tables
from target_bench.metrics.tables.table_metrics import VERSION, table_metrics

Compared = Sequence[ComparedTables]

_HEADERS = {"row": Headers(column=False), "column": Headers(row=False), "both": Headers()}
_AT_ONCE = 64
"""Answers whose P-Score is asked for together."""


class TextToTable(Task[Compared]):
    """Tables are read from the answers and compared with those of the reference.

    The metadata of a query say how its tables are written (``format``: text, html, latex, csv or
    json), which headers they have (``headers``: row, column or both) and how the answer is asked
    for (``instruction``).

    Args:
        table_format: the format of queries that name none.
        html_parser: what HTML is parsed with: ``html.parser`` or ``lxml``.
        judged_by: a generator that compares answer and reference for the P-Score, as written on
            the command line; None for none. Its replies are recorded with the judgements.
    """

    name = "text_to_table"
    title = "Text-to-Table"
    aliases: ClassVar[tuple[str, ...]] = ("t2table", "text_to_tables", "struc_bench")
    scores = "tables"
    takes = "a text"
    gives = "tables, in Markdown, HTML, LaTeX, CSV or JSON"
    reads: ClassVar[frozenset[str]] = frozenset(ANSWER_OPTIONS)
    answer: ClassVar[AnswerKind] = "tables"
    source: ClassVar[TableSource] = "none"
    judges = True
    slices = ("format",)
    outcome = "cell_f1"

    def __init__(
        self,
        table_format: TableFormat = "text",
        html_parser: Literal["html.parser", "lxml"] = "html.parser",
        judged_by: Any = None,
    ) -> None:
        self.table_format: TableFormat = table_format
        self.html_parser: Literal["html.parser", "lxml"] = html_parser
        self.judged_by = judged_by
        self.replays = judged_by is not None
        self._judge = None if judged_by is None else TableJudge(judged_by)
        self._reading = Reading(str)

    def parts(self) -> Mapping[str, object]:
        """Return the generator that compares answers and references, if there is one."""
        return {} if self._judge is None else {"judged_by": self._judge.generator}

    def check(self, queries: Sequence[Query]) -> None:
        """Check that every reference holds a table in the format of its query.

        Raises:
            DataError: one does not, or the format is unknown.
        """
        for query in queries:
            wanted = query.metadata.get("format", self.table_format)
            if wanted not in FORMATS:
                raise DataError(
                    f"query {query.id!r}: format {wanted!r} is not one of {', '.join(FORMATS)}"
                )
            error = read_tables(query.references[0], wanted, self.html_parser).error
            if error is not None:
                raise DataError(
                    f"query {query.id!r}: no table can be read in its reference as {wanted} "
                    f"({error}): {query.references[0]!r:.80}"
                )

    def prompt_writer(
        self, options: PromptOptions, _databases: Mapping[str, Path], _follows_schema: bool
    ) -> TablePrompter:
        """Make what writes the instruction of each query into its request."""
        return TablePrompter(
            self.name,
            prompt_of(self, options),
            options.table_format,
            options.prompt_tokens,
            answer=self.answer,
            default_format=self.table_format,
        )

    def metrics(
        self, _queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[Compared]]:
        """Return validity, H-Score, header and cell scores, and with a judge the P-Score.

        Tables that are written from a text are compared with it as well.
        """
        found = table_metrics(self.html_parser, self._judge is not None)
        return found if self.source != "none" else [*found, *table_support_metrics()]

    def settings(self) -> list[str]:
        """List the settings that change a score, besides those of the metrics."""
        found = [VERSION, SUPPORT_VERSION, f"format:{self.table_format}"]
        if self._judge is not None:
            given = self.judged_by
            name = given if isinstance(given, str) else type(given).__qualname__
            found.append(f"judge:{name}|{JUDGE_VERSION}")
        return found

    def unjudged(
        self,
        dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
        known: Mapping[str, Judgement],
    ) -> list[Query]:
        """List the queries without a judgement of this answer, reference and these settings."""
        return [
            query
            for query in dataset.queries
            if query.id not in known
            or known[query.id].fingerprint != self._fingerprint(query, generations[query.id])
        ]

    def judge(
        self,
        queries: Sequence[Query],
        _dataset: Dataset,
        generations: Mapping[str, Generation],
        _retrievals: Mapping[str, Retrieval],
    ) -> Generator[Judgement, None, None]:
        """Read the answers, and ask the judge about those in which there is a table.

        Raises:
            BudgetError: the time for all of them is over.
        """
        for start in range(0, len(queries), _AT_ONCE):
            some = queries[start : start + _AT_ONCE]
            compared = {query.id: self._compared(query, generations[query.id]) for query in some}
            replies = self._replies(compared)
            for query in some:
                self._reading.check()
                record = _record(compared[query.id], replies.get(query.id))
                yield Judgement(query.id, self._fingerprint(query, generations[query.id]), record)

    def _replies(self, compared: Mapping[str, ComparedTables]) -> dict[str, tuple[str, str]]:
        if self._judge is None:
            return {}
        return self._judge.replies(
            [
                Pair(query_id, one.text, one.gold, one.table_format)
                for query_id, one in compared.items()
                if one.text is not None and one.text.strip()
            ]
        )

    def examples(self, dataset: Dataset, predictions: Predictions) -> list[ComparedTables]:
        """Return each answer beside its reference, a failed one as None."""
        return [
            self._compared(
                query,
                predictions.answers[query.id],
                predictions.judgements[query.id].record.get("p_score"),
            )
            for query in dataset.queries
        ]

    def _compared(
        self, query: Query, given: Generation, judged: Sequence[float] | None = None
    ) -> ComparedTables:
        return ComparedTables(
            None if given.error is not None else given.text,
            query.references[0],
            query.metadata.get("format", self.table_format),
            self.html_parser,
            _HEADERS[query.metadata.get("headers", "both")],
            (judged[0], judged[1]) if judged else None,
            query.text if self.source == "none" else None,
        )

    def _fingerprint(self, query: Query, given: Generation) -> str:
        parts = [query.metadata.get(name) for name in ("format", "headers")]
        text = None if given.error is not None else given.text
        whole = json.dumps(
            [READING, *self.settings(), self.html_parser, *parts, text, query.answer]
        )
        return hashlib.sha256(whole.encode()).hexdigest()[:32]

    def parsed(self, examples: Compared) -> list[object | None]:
        """Return the tables in each answer; None where there is none."""
        return [one.answer.tables or None for one in examples]

    def report(self, _dataset: Dataset, examples: Compared) -> dict[str, Any]:
        """Return faults, types of errors, scores by table, and the ability map."""
        return findings(examples, self._judge is not None)

    def summary(self, report: Mapping[str, Any]) -> list[SummaryBlock]:
        """Sum up faults, types of errors and abilities, a line each."""
        errors = {kind: found["answers"] for kind, found in report["errors"].items()}
        found = [
            SummaryBlock("answers by fault", report["faults"], "" if report["faults"] else "none"),
            SummaryBlock("answers by type of error", errors),
            SummaryBlock(
                "abilities", text="1 is best, of hallucination too", profile=report["abilities"]
            ),
        ]
        if "p_score" in report:
            found.append(SummaryBlock("P-Score", report["p_score"]))
        return found

    def limit_time(self, seconds: float) -> None:
        """Give reading and scoring all answers no more than this."""
        self._reading.limit_time(seconds)

    def check_budget(self) -> None:
        """See that time is left.

        Raises:
            BudgetError: the budget is spent.
        """
        self._reading.check()

    def is_copied(self, answer: str, _judgement: Judgement | None, query: Query) -> bool:
        """Return whether an answer has the characters of the reference, white space apart."""
        return answer.split() == query.references[0].split()


class TableAnswering(TextToTable):
    """Questions that are answered with a table, from tables that were retrieved.

    Args:
        table_format: as for ``text_to_table``.
        html_parser: as for ``text_to_table``.
        judged_by: as for ``text_to_table``.
    """

    name = "table_answering"
    title = "Answers as Tables"
    aliases = ("table_answers",)
    takes = "tables that were retrieved for a question"
    reads: ClassVar[frozenset[str]] = frozenset({*SEVERAL_TABLES, "table_format"})
    source: ClassVar[TableSource] = "retrieved"

    def holds_answer(self, query: Query, tables: Sequence[TableId], _corpus: Corpus) -> bool:
        """Return whether a gold table is among the tables."""
        return not set(query.gold).isdisjoint(tables)


def _record(compared: ComparedTables, replies: tuple[str, str] | None) -> dict[str, Any]:
    """Return the record of an answer, with the replies of the judge if there is one."""
    answer = compared.answer
    found: dict[str, Any] = {
        "verdict": answer.error or "readable",
        "format": compared.table_format,
        "faults": list(answer.faults),
        "tables": [f"{t.name or '-'}: {len(t.rows)} x {t.width}" for t in answer.tables],
        "errors": {k: n for k, n in compared.errors.items() if n},
    }
    if replies is not None:
        scored = p_score([parse_reply(reply) for reply in replies])
        found["replies"] = list(replies)
        found["p_score"] = [scored.content, scored.structure] if scored.count else None
    return found
