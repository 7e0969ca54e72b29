"""The prompts of a run, written again as they were sent, and stored without repetition."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.prompt_writer import PromptOptions, PromptWriter
from target_bench.core.schema import Dataset, Query, TableId
from target_bench.harness.stages.generate import AnswerOptions
from target_bench.reporting.report.blocks import Block, block
from target_bench.reporting.report.report_runs import ReportRun
from target_bench.runs.times import REPLAY

TEXTS_PER_BLOCK = 32
_SHORT = 200  # characters: shorter parts of a prompt stand where they belong
_TABLE = re.compile(r"^(?=Table \d+:$|-- table \d+, database )", re.MULTILINE)
_AFTER_NUMBER = re.compile(r"\ATable \d+:\n|\A-- table \d+,")


class Texts:
    """Parts of prompts, each kept once, handed out as blocks as they fill up."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._open: list[str] = []

    def __getitem__(self, text: str) -> int:
        """Return the number of a text, which goes into a block if it is new."""
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
        if digest not in self._numbers:
            self._numbers[digest] = len(self._numbers)
            self._open.append(text)
        return self._numbers[digest]

    def blocks(self, last: bool = False) -> Iterator[Block]:
        """Yield the blocks that are full; with ``last`` the rest too."""
        while len(self._open) >= TEXTS_PER_BLOCK or (last and self._open):
            n_before = len(self._numbers) - len(self._open)
            texts, self._open = self._open[:TEXTS_PER_BLOCK], self._open[TEXTS_PER_BLOCK:]
            yield block(f"texts-{n_before // TEXTS_PER_BLOCK}", texts)


def parts(content: str, texts: Texts) -> list[str | int]:
    """Return a message as texts and numbers of texts, which make it up in this order."""
    found: list[str | int] = []
    for piece in _TABLE.split(content):
        head = _AFTER_NUMBER.match(piece)
        at = head.end() if head else 0
        both = filter(None, (piece[:at], piece[at:]))
        found += [text if len(text) <= _SHORT else texts[text] for text in both]
    return found


class Prompts:
    """Writes the prompts of one run.

    Args:
        run: the run.
        dataset: its tables and queries.
        files: prompts of the user's own that the run may have been asked with.

    Attributes:
        problem: why no prompt of the run can be shown, or None.
        note: what else a reader should know.
    """

    def __init__(self, run: ReportRun, dataset: Dataset, files: Sequence[Path]) -> None:
        self._corpus = dataset.corpus
        self._depth = run.depth
        self._prompter: PromptWriter | None = None
        self.problem = _nothing_sent(run)
        self.note = ""
        if self.problem is None:
            self._prompter, self.problem = _rebuilt(run, dataset, files)
        if self.problem is None:
            self.note = run.task.prompt.note

    def messages(
        self, query: Query, record: dict[str, Any], shown_rows: Sequence[int], texts: Texts
    ) -> list[list[Any]] | str | None:
        """Return the messages of a query as ``[role, parts]``, or why they cannot be shown.

        Args:
            query: the query.
            record: its line of ``retrieval.jsonl``.
            shown_rows: how many rows of each table the run says that its prompt showed.
            texts: where long parts are kept.
        """
        if self._prompter is None:
            return None
        if record.get("error") is not None:
            return "No prompt was sent: the tables could not be retrieved."
        ranking = [TableId(*table_id) for table_id in record["tables"][: self._depth]]
        try:
            prompted = self._prompter.prompted(query, self._prompter.tables(self._corpus, ranking))
        except ConfigError as error:
            return f"The prompt cannot be written again: {error}"
        if tuple(prompted.shown_rows) != tuple(shown_rows):
            return (
                "The prompt cannot be written again: the run says that it showed other rows of the "
                "tables than this version would show."
            )
        return [[m.role, parts(m.content, texts)] for m in prompted.request.messages]


def _nothing_sent(run: ReportRun) -> str | None:
    generator = run.run.identity.generator
    if generator is None:
        return "No prompt was sent: the run ranks tables and answers nothing."
    if "mode" in generator:
        return f"No prompt was sent: the answers are those of the mode {generator['mode']}."
    if generator.get("class") == REPLAY:
        return "No prompt was sent: the answers were read from a file."
    return None


def _rebuilt(
    run: ReportRun, dataset: Dataset, files: Sequence[Path]
) -> tuple[PromptWriter | None, str | None]:
    """Return the writer of a run's prompts, or the reason why there is none."""
    recorded = run.run.identity.prompt
    if not isinstance(recorded, dict):
        return None, "The run does not say with which prompt it was asked."
    found = [_prompter(run, dataset, recorded, file) for file in (None, *files)]
    same = [writer for writer in found if writer.identity.get("prompt") == recorded.get("prompt")]
    if not same:
        return None, (
            f"The run was asked with another prompt ({recorded.get('prompt')!s:.40}); name its "
            "file with --prompt and write the report again."
        )
    if json.loads(json.dumps(same[0].identity)) != recorded:
        return None, (
            "The prompts cannot be written again: the run was made by another version of "
            "target-bench, which wrote them in another way."
        )
    return same[0], None


def _prompter(
    run: ReportRun, dataset: Dataset, recorded: dict[str, Any], file: Path | None
) -> PromptWriter:
    structured = recorded.get("answer_schema") is not None
    given = {"prompt_tokens": "budget", "table_format": "format", "schema_scope": "scope"}
    prompting = PromptOptions(
        prompt=file,
        structured=structured,
        **{name: recorded[entry] for name, entry in given.items() if entry in recorded},
    )
    return AnswerOptions("", prompting).prompter(run.task, dataset.databases, structured)
