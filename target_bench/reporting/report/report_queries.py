"""The queries of a report: an index of all for the list, and in blocks all there is to each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any

from target_bench.core.schema import NO_DATABASE, Dataset, Query, TableId
from target_bench.reporting.report.blocks import Block, block, cut
from target_bench.reporting.report.first_pass import FirstPass
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.reporting.report.sent_prompts import Prompts, Texts
from target_bench.reporting.report.shown_tables import Numbered
from target_bench.runs.slicing import partitions

QUERIES_PER_BLOCK = 64
_LISTED = 600  # characters of a question in the list and the search
_SEARCHED = 200  # characters of a reference answer in the search
_METADATA = 2_000  # characters of an entry of the metadata


def index_blocks(runs: Sequence[ReportRun], dataset: Dataset, seen: FirstPass) -> Iterator[Block]:
    """Yield the data of the list, the search and the filters, and one block per metric and run."""
    queries = dataset.queries
    yield block(
        "index",
        {
            "ids": [query.id for query in queries],
            "texts": [cut(query.text, _LISTED) for query in queries],
            "answers": [cut(_first(query), _SEARCHED) for query in queries],
            "n_gold": [len(set(query.gold)) for query in queries],
            "slices": [
                {
                    "name": name,
                    "values": [str(value) for value in divided.values],
                    "codes": divided.codes.tolist(),
                }
                for name, divided in partitions(queries).items()
                if divided.groups
            ],
            "overlaps": [round(overlap, 3) for overlap in seen.agreement.overlaps],
            "same_first": seen.agreement.same_first,
            "runs": [
                {"first": c.first, "outcome": c.outcome, "answer": c.answer} for c in seen.columns
            ],
        },
    )
    for i, run in enumerate(runs):
        for j, values in enumerate(run.values.values()):
            rounded = [None if isnan(v) else round(v, 6) for v in values.tolist()]
            yield block(f"values-{i}-{j}", rounded)


def _first(query: Query) -> str:
    return query.answer if isinstance(query.answer, str) else " | ".join(query.answer)


@dataclass(frozen=True)
class Queries:
    """Writes the queries in full.

    Attributes:
        runs: the runs.
        dataset: their queries.
        tables: the numbers of tables.
        depth: how many tables of each ranking are shown.
        prompts: one a run.
        texts: where parts of prompts are kept.
    """

    runs: Sequence[ReportRun]
    dataset: Dataset
    tables: Numbered
    depth: int
    prompts: Sequence[Prompts]
    texts: Texts

    def block(self, number: int, with_prompts: bool) -> Block:
        """Return the queries of one block."""
        first = number * QUERIES_PER_BLOCK
        queries = self.dataset.queries[first : first + QUERIES_PER_BLOCK]
        return block(f"queries-{number}", [self._query(query, with_prompts) for query in queries])

    def _query(self, query: Query, with_prompts: bool) -> dict[str, Any]:
        answers = (query.answer,) if isinstance(query.answer, str) else query.answer
        facts = {str(name): _plain(value) for name, value in query.metadata.items()}
        if query.database_id != NO_DATABASE:
            facts = {"database": _plain(query.database_id)} | facts
        found = [remark for run in self.runs for remark in run.remarks.get(query.id, ())]
        facts["remarks"] = "; ".join(dict.fromkeys(found))
        return {
            "id": query.id,
            "text": cut(query.text),
            "answers": [cut(answer) for answer in answers if answer],
            "gold": [self.tables[table_id] for table_id in dict.fromkeys(query.gold)],
            "facts": {name: value for name, value in facts.items() if value not in ("", None)},
            "runs": [self._run(i, query, with_prompts) for i in range(len(self.runs))],
        }

    def _run(self, i: int, query: Query, with_prompts: bool) -> dict[str, Any]:
        run = self.runs[i]
        record = run.tables(query.id)
        shown = [TableId(*table_id) for table_id in record["tables"][: self.depth]]
        found: dict[str, Any] = {
            "tables": [self.tables[table_id] for table_id in shown],
            "scores": record.get("scores", [])[: self.depth],
            "n": len(record["tables"]),
        }
        if record.get("error") is not None:
            found["error"] = cut(str(record["error"]))
        generation = run.generations.get(query.id) if run.answers is not None else None
        if generation is not None:
            found["answer"] = _generation(generation)
            found["prompt"] = (
                self.prompts[i].messages(
                    query, record, generation.get("shown_rows", ()), self.texts
                )
                if with_prompts
                else "The prompt was left out: the file is near its largest size (--max-size)."
            )
        judged = run.judgements.get(query.id)
        if judged is not None:
            found["judged"] = {
                name: cut(value) if isinstance(value, str) else value
                for name, value in run.task.view.detail(judged).items()
            }
        return found


_TOLD = ("input_tokens", "output_tokens", "cost", "seconds", "finish_reason", "truncated", "cached")


def _generation(record: dict[str, Any]) -> dict[str, Any]:
    facts = {name: record[name] for name in _TOLD if record.get(name) not in (None, False)}
    if record.get("error") is not None:
        facts["error"] = cut(str(record["error"]))
    return facts | {"text": cut(str(record.get("text", "")))}


def _plain(value: Any) -> Any:
    """Return an entry of the metadata as text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return cut(value if isinstance(value, str) else str(value), _METADATA)
