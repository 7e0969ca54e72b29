"""Table-to-text: does a sentence say what the highlighted cells of a table say?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from target_bench.components import highlights
from target_bench.components.answer_reading import Reading
from target_bench.components.answer_words import words
from target_bench.components.prompts.cell_prompting import CellPrompter
from target_bench.components.prompts.prompting import prompt_of
from target_bench.components.table_text import grid_rows
from target_bench.core.linearisation import are_places
from target_bench.core.metric import Metric
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.reasoning import READING, without_reasoning
from target_bench.core.schema import AnswerKind, Corpus, Dataset, Judgement, Query
from target_bench.core.task import LeakLimits, Predictions, SummaryBlock, TableSource, Task
from target_bench.metrics.descriptions import evaluation_text
from target_bench.metrics.descriptions.description_metrics import (
    OF,
    VERSION,
    JudgedDescriptions,
    description_metrics,
)
from target_bench.metrics.descriptions.evaluation_text import Evidence
from target_bench.metrics.faithfulness.support_metrics import VERSION as SUPPORT_VERSION
from target_bench.metrics.faithfulness.support_metrics import sentence_support_metrics
from target_bench.metrics.text import VERSION as TEXT_VERSION
from target_bench.metrics.text import number_of_references


@dataclass(frozen=True)
class JudgedSentences(JudgedDescriptions):
    """Sentences, and what is wrong with the highlighted cells of each query.

    Attributes:
        faults: of each query; None where its highlighted cells are those of its table.
    """

    faults: Sequence[str | None] = ()


class TableToText(Task[JudgedSentences]):
    """Sentences about highlighted cells, compared with references and with the table.

    The table of a query is given: its first gold table. Highlighted cells that are not in the table
    are left out, of prompts and of what a sentence should hold, and counted.

    Args:
        bertscore: the model of the additional metric BERTScore, as in ``roberta-large`` or
            ``folder@6``, which names a layer (extra bertscore); None for none.
    """

    name = "table_to_text"
    title = "Table-to-Text"
    aliases = ("t2t", "data_to_text")
    scores = OF
    takes = "a table with highlighted cells"
    gives = "a sentence that describes them"
    answer: ClassVar[AnswerKind] = "text"
    source: ClassVar[TableSource] = "given"
    slices = ("overlap_subset",)
    leak_limits = LeakLimits(verbatim=0.5)

    def __init__(self, bertscore: str | None = None) -> None:
        self.bertscore = bertscore
        self._reading = Reading(_without_reasoning)

    def prompt_writer(
        self, options: PromptOptions, _databases: Mapping[str, Path], _follows_schema: bool
    ) -> CellPrompter:
        """Make what names the highlighted cells."""
        return CellPrompter(
            self.name,
            prompt_of(self, options),
            options.table_format,
            options.prompt_tokens,
            answer=self.answer,
        )

    def metrics(
        self, queries: Sequence[Query], _cutoffs: Sequence[int] = ()
    ) -> list[Metric[JudgedSentences]]:
        """Return PARENT, ToTTo's BLEU, sacreBLEU of the text as it is, and support by the table."""
        number = number_of_references([query.references for query in queries])
        found: list[Metric[JudgedSentences]] = [
            *description_metrics(number, READING),
            *sentence_support_metrics(),
        ]
        if self.bertscore is not None:
            from target_bench.metrics.bertscore import BERTScore

            found.append(BERTScore(self.bertscore, READING))
        return found

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedSentences:
        """Return the sentences without their reasoning blocks, and the cells they should describe.

        Raises:
            BudgetError: the budget is spent.
        """
        given = [predictions.answers[query.id] for query in dataset.queries]
        about = [_about(query, dataset.corpus) for query in dataset.queries]
        return JudgedSentences(
            [None if g.error is not None else self.parse(g.text) for g in given],
            [query.references for query in dataset.queries],
            [evidence for evidence, _ in about],
            [fault for _, fault in about],
        )

    def parsed(self, examples: JudgedSentences) -> Sequence[str | None]:
        """Return what was read in each answer; None where nothing was."""
        return examples.texts

    def settings(self) -> list[str]:
        """Return what changes a score besides the metrics: the versions of their rules."""
        return [VERSION, TEXT_VERSION, SUPPORT_VERSION]

    def report(self, dataset: Dataset, examples: JudgedSentences) -> dict[str, Any]:
        """Return the queries without a usable highlight or value, and which they are."""
        found: dict[str, list[str]] = {}
        known = zip(dataset.queries, examples.evidence, examples.faults, strict=True)
        for query, about, fault in known:
            for one in filter(None, (fault, _valueless(about))):
                found.setdefault(one, []).append(query.id)
        return {"faults": found} if found else {}

    def summary(self, report: Mapping[str, Any]) -> list[SummaryBlock]:
        """Return how many queries have each fault, and the first of them."""
        return [
            SummaryBlock(f"queries with {fault}", {"queries": len(ids)}, f"the first is {ids[0]}")
            for fault, ids in (report.get("faults") or {}).items()
        ]

    def parse(self, text: str) -> str | None:
        """Return the sentence without its reasoning blocks; None if it holds nothing else.

        Raises:
            BudgetError: the budget is spent.
        """
        return self._reading(text)

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
        """Return whether an answer has the words of a reference, and no others."""
        given = words(answer)
        return given != "" and given in map(words, query.references)


def _without_reasoning(text: str) -> str | None:
    said = without_reasoning(text)
    return None if text and not said else said


def _about(query: Query, corpus: Corpus) -> tuple[Evidence, str | None]:
    """Return the cells of a query as the metrics read them, and what is wrong with its highlights.

    The second part is None where nothing is.
    """
    if not query.gold:
        return Evidence("", ""), "no table"
    table = corpus[query.gold[0]]
    rows = grid_rows(table)
    named = query.metadata.get(highlights.HIGHLIGHTED) or ()
    titles = (
        str(table.context.get(name) or "") for name in ("title", "section_title", "section_text")
    )
    evidence = evaluation_text.evidence(rows, are_places(rows, named), *titles)
    return evidence, highlights.fault(rows, named)


def _valueless(about: Evidence) -> str | None:
    """Say whether a sentence should hold nothing, or a value in which no token is."""
    if not about.wanted:
        return "nothing that a sentence should hold"
    values = evaluation_text.values(about.wanted)
    return None if all(map(evaluation_text.tokens, values)) else "a value without a token"
