"""Table-to-text: does a sentence say what the highlighted cells of a table say?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from target_bench.core.metric import Metric
from target_bench.core.prompt_writer import PromptOptions
from target_bench.core.reasoning import READING
from target_bench.core.schema import (
    AnswerKind,
    Corpus,
    Dataset,
    Generation,
    Query,
)
from target_bench.core.task import (
    FAILED,
    LeakRules,
    Predictions,
    PromptStyle,
    SummaryBlock,
    TableSource,
    View,
    has_reference,
)
from target_bench.data import highlights
from target_bench.data.answer_words import is_copied
from target_bench.data.linearisation import are_places
from target_bench.data.table_text import grid_rows
from target_bench.metrics.text import VERSION as TEXT_VERSION
from target_bench.metrics.text import number_of_references
from target_bench.models.answer_reading import answer_alone
from target_bench.models.judges import JudgedTask, ModelJudge, failures, text_of
from target_bench.models.prompts.prompting import CellPrompter, prompt_of
from target_bench.models.support_judge import (
    SUPPORT,
    judged_record,
    parse_reply,
    support_prompt,
    with_reply,
)
from target_bench.tables import totto_text
from target_bench.tables.descriptions import (
    OF,
    VERSION,
    JudgedDescriptions,
    description_metrics,
)
from target_bench.tables.faithfulness import VERSION as SUPPORT_VERSION
from target_bench.tables.faithfulness import Support, sentence_support_metrics
from target_bench.tables.totto_text import TableEvidence, cells_as_texts


@dataclass(frozen=True)
class JudgedSentences(JudgedDescriptions):
    """Sentences, and what is wrong with the highlighted cells of each query.

    Attributes:
        faults: of each query; None where its highlighted cells are those of its table.
        replies: of a judge to each sentence, empty if it failed; None where it was not asked.
    """

    faults: Sequence[str | None] = ()
    replies: Sequence[str | None] = ()

    @cached_property
    def judged(self) -> list[Support]:
        """``supports`` with the facts that the judge finds supported."""
        return list(map(with_reply, self.supports, self.replies))


class TableToText(JudgedTask[JudgedSentences]):
    """Sentences about highlighted cells, compared with references and with the table.

    The table of a query is given: its first gold table. Highlighted cells that are not in the table
    are left out, of prompts and of what a sentence should hold, and counted.

    Args:
        references: ``all``: a sentence is compared with every reference of its query; ``first``:
            with the first one alone, as in the single-reference mode of ToTTo's scripts.
        bertscore: the model of the additional metric BERTScore, as in ``roberta-large`` or
            ``folder@6``, which names a layer (extra bertscore); None for none.
        bleurt: the checkpoint of the additional metric BLEURT, a folder that transformers reads
            (extra bleurt); None for none.
        judged_by: a generator that looks again at the facts that rules do not support, as written
            on the command line; None for none. Its replies are recorded with the judgements.
    """

    name = "table_to_text"
    title = "Table-to-Text"
    aliases = ("t2t", "data_to_text")
    scores = OF
    answer: ClassVar[AnswerKind] = "text"
    source: ClassVar[TableSource] = "given"
    scores_unlabelled = True
    leaks = LeakRules(is_copied, verbatim=0.5)
    view = View(
        "a table with highlighted cells",
        "a sentence that describes them",
        slices=("overlap_subset",),
        summary=lambda report: _summary(report),
        remarks=lambda report: _remarks(report),
    )

    def __init__(
        self,
        references: Literal["all", "first"] = "all",
        bertscore: str | None = None,
        bleurt: str | None = None,
        judged_by: Any = None,
    ) -> None:
        super().__init__(answer_alone)
        self.references = references
        self.bertscore = bertscore
        self.bleurt = bleurt
        self.judged_by = judged_by
        self.prompt = PromptStyle(writer=self._prompt_writer)
        self.judge = self if judged_by is not None else None
        self.replays = judged_by is not None
        self._fact_judge = None if judged_by is None else ModelJudge(judged_by, SUPPORT)
        self._judge_settings = [] if self._fact_judge is None else [self._fact_judge.setting()]

    def parts(self) -> Mapping[str, object]:
        """Return the generator that looks at doubted facts again, if there is one."""
        return {} if self._fact_judge is None else {"judged_by": self._fact_judge.generator}

    def _prompt_writer(
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
        """Return PARENT, ToTTo's BLEU, sacreBLEU of the text as it is, and support by the table.

        Where no query has a reference, support by the table alone.
        """
        support = sentence_support_metrics(judged=self._fact_judge is not None)
        if not any(has_reference(self, query) for query in queries):
            return support
        number = number_of_references(self._references(queries))
        metrics = [*description_metrics(number, READING), *support]
        if self.bertscore is not None:
            from target_bench.metrics.bertscore import BERTScore

            metrics.append(BERTScore(self.bertscore, READING))
        if self.bleurt is not None:
            from target_bench.models.bleurt import BLEURT

            metrics.append(BLEURT(self.bleurt, number, READING))
        return metrics

    def examples(self, dataset: Dataset, predictions: Predictions) -> JudgedSentences:
        """Return the sentences without their reasoning blocks, and the cells they should describe.

        Raises:
            BudgetError: the budget is spent.
            DataError: there is a judge, and an answer is not judged.
        """
        replies = [
            _reply(self.record_of(query, predictions)) if self._fact_judge is not None else None
            for query in dataset.queries
        ]
        return self._sentences(dataset.queries, dataset.corpus, predictions.answers, replies)

    def _sentences(
        self,
        queries: Sequence[Query],
        corpus: Corpus,
        answers: Mapping[str, Generation],
        replies: Sequence[str | None] = (),
    ) -> JudgedSentences:
        given = [answers[query.id] for query in queries]
        evidences = [_evidence_of(query, corpus) for query in queries]
        references = self._references(queries)
        return JudgedSentences(
            [None if text is None else self.parse(text) for text in map(text_of, given)],
            references,
            [evidence for evidence, _ in evidences],
            totto_text.is_padded(references),
            [fault for _, fault in evidences],
            replies,
        )

    def _references(self, queries: Sequence[Query]) -> list[tuple[str, ...]]:
        """Return the references of each query that its sentence is compared with."""
        number = 1 if self.references == "first" else None
        return [tuple(query.references)[:number] for query in queries]

    def parsed(self, examples: JudgedSentences) -> Sequence[str | None]:
        """Return the sentence read in each answer; None where there is none."""
        return examples.texts

    def settings(self) -> list[str]:
        """List the settings that change a score: the versions of rules, and the judge."""
        return [VERSION, TEXT_VERSION, SUPPORT_VERSION, *self._judge_settings]

    def follows_from(self, query: Query, corpus: Corpus, text: str | None) -> list[Any]:
        """List the answer, and the cells that it is compared with."""
        return [text, *_evidence_of(query, corpus)[0]]

    def records(
        self, queries: Sequence[Query], corpus: Corpus, answers: Mapping[str, Generation]
    ) -> Iterator[Mapping[str, Any]]:
        """Ask the judge about the facts that rules do not support."""
        assert self._fact_judge is not None
        sentences = self._sentences(queries, corpus, answers)
        parts = zip(queries, sentences.evidence, sentences.texts, sentences.supports, strict=True)
        prompts = {
            query.id: prompt
            for query, evidence, text, support in parts
            if (prompt := support_prompt(cells_as_texts(evidence)[0], text or "", support))
        }
        replies = self._fact_judge.replies(prompts)
        for query, support in zip(queries, sentences.supports, strict=True):
            yield _record(support, replies.get(query.id))

    def report(self, dataset: Dataset, examples: JudgedSentences) -> dict[str, Any]:
        """Return the queries with an unusable highlight or value, and how the judge replied."""
        ids_by_fault: dict[str, list[str]] = {}
        known = zip(dataset.queries, examples.evidence, examples.faults, strict=True)
        for query, evidence, fault in known:
            for problem in dict.fromkeys(filter(None, (fault, _valueless(evidence)))):
                ids_by_fault.setdefault(problem, []).append(query.id)
        report: dict[str, Any] = {"faults": ids_by_fault} if ids_by_fault else {}
        if self._fact_judge is not None:
            replies = [reply for reply in examples.replies if reply is not None]
            read = sum(1 for reply in replies if parse_reply(reply) is not None)
            report["judged_facts"] = {"asked": len(replies), "read": read}
        return report

    def parse(self, text: str) -> str | None:
        """Return the sentence without its reasoning blocks; None if it holds nothing else.

        Raises:
            BudgetError: the budget is spent.
        """
        sentence: str | None = self._reading(text)
        return sentence


def _summary(report: Mapping[str, Any]) -> list[SummaryBlock]:
    """Return how many queries have each fault, and the first of them; replies of the judge."""
    blocks = [
        SummaryBlock(f"queries with {fault}", {"queries": len(ids)}, f"the first is {ids[0]}")
        for fault, ids in (report.get("faults") or {}).items()
    ]
    judged = report.get("judged_facts")
    return [*blocks, SummaryBlock("judge of facts", judged)] if judged else blocks


def _remarks(report: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the faults of each query that has any."""
    faults: dict[str, list[str]] = {}
    for fault, ids in (report.get("faults") or {}).items():
        for query_id in ids:
            faults.setdefault(query_id, []).append(fault)
    return faults


def _record(support: Support, reply: Generation | None) -> dict[str, Any]:
    """Return the record of a sentence, with the reply of the judge if it was asked."""
    record: dict[str, Any] = {"verdict": "failed" if support.failed else "read"}
    failed = failures("facts", [reply] if reply else [])
    text = None if reply is None or failed else reply.text
    record |= judged_record(support, text) | failed
    return record if text is None else record | {"reply": text}


def _reply(record: Mapping[str, Any]) -> str | None:
    """Return the reply of the judge, empty if it failed; None where it was not asked."""
    reply: str | None = "" if FAILED in record else record.get("reply")
    return reply


def _evidence_of(query: Query, corpus: Corpus) -> tuple[TableEvidence, str | None]:
    """Return the cells of a query as the metrics read them, and what is wrong with its highlights.

    The second part is None where nothing is.
    """
    if not query.gold:
        return TableEvidence("", ""), "no table"
    table = corpus[query.gold[0]]
    rows = grid_rows(table)
    named = query.metadata.get(highlights.HIGHLIGHTED) or ()
    titles = (
        str(table.context.get(name) or "") for name in ("title", "section_title", "section_text")
    )
    places = list(are_places(rows, named))
    evidence = totto_text.evidence(rows, places, *titles)
    blank = not all(totto_text.tokens(rows[row][column].text) for row, column in places)
    return evidence, highlights.fault(rows, named) or (_NO_TOKEN if blank else None)


_NO_TOKEN = "a value without a token"  # noqa: S105 (of a text)


def _valueless(evidence: TableEvidence) -> str | None:
    """Say whether a sentence should hold nothing, or a value in which no token is."""
    if not evidence.highlighted:
        return "nothing that a sentence should hold"
    values = totto_text.values(evidence.highlighted)
    return None if all(map(totto_text.tokens, values)) else _NO_TOKEN
