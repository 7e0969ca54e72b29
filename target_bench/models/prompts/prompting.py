"""Write prompts from queries and retrieved tables: fill templates, fit tables into a budget."""

import hashlib
import sys
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from target_bench.core.built_in import ANSWER_TASK
from target_bench.core.errors import ConfigError, reason
from target_bench.core.prompt_writer import (
    CHARACTERS_PER_TOKEN,
    PromptedRequest,
    PromptWriter,
)
from target_bench.core.registry import is_package_code
from target_bench.core.run_config import RunConfig
from target_bench.core.schema import (
    AnswerKind,
    Corpus,
    GenerationRequest,
    Message,
    Query,
    Table,
    TableFormat,
    TableId,
)
from target_bench.core.settings import read_yaml
from target_bench.core.task import Task
from target_bench.data import highlights
from target_bench.data.table_text import Serializer

_OWN_PROMPTS = Path(__file__).parent
_FIRST_ROWS = 64  # written at once, which is all rows of most tables
_ENTRIES = ("system", "user", "no_context_system", "no_context_user")

TOKENS = 8000
"""Tokens of tables in a prompt, where its file names no other number."""


@dataclass(frozen=True)
class Prompt:
    """The Jinja templates of one task; those of ``no_context`` are for queries without tables.

    Attributes:
        name: its name in errors: the task, or the file.
        tokens: about how many tokens the tables of a prompt may take.
    """

    name: str
    system: str
    user: str
    no_context_system: str
    no_context_user: str
    tokens: int = TOKENS

    @classmethod
    def load(cls, task: str, file: Path | None = None, own: Path | None = None) -> "Prompt":
        """Read the prompt of a task from a YAML file with four templates.

        Args:
            task: the name of the task.
            file: the file, or a folder with a file named after the task. It may also have the entry
                ``tokens``; with nothing else the templates are those of the task.
            own: the file with the templates of the task. Default: this package's.
        """
        path = file or _OWN_PROMPTS
        if path.is_dir():
            names = ", ".join(sorted(file.stem for file in path.glob("*.yaml"))) or "none"
            path = path / f"{task}.yaml"
            if not path.is_file():
                raise ConfigError(
                    f"prompt {path}: there is no such file; its folder has prompts for {names}"
                )
        entries = _read_entries(path)
        tokens = entries.pop("tokens", TOKENS)
        if type(tokens) is not int or tokens < 1:
            raise ConfigError(f"prompt {path}: tokens={tokens!r}: expected a whole number from 1")
        if not entries and file is not None:
            default = cls.load(task, own)
            entries = {name: getattr(default, name) for name in _ENTRIES}
        for name in (*_ENTRIES, *entries):
            if name not in _ENTRIES or not isinstance(entries.get(name), str):
                raise ConfigError(
                    f"prompt {path}: entry {name!r} is missing, unknown or not text; expected "
                    f"{', '.join(_ENTRIES)}, each as text"
                )
        prompt = cls(file.name if file else task, **entries, tokens=tokens)
        prompt._check(path)
        return prompt

    def _check(self, path: Path) -> None:
        query = "4153801726"  # which no filter of Jinja changes: upper, trim, tojson, ...
        for tables in ("7320185649", ""):
            text = "".join(message.content for message in self.make_messages(query, tables))
            if query not in text or tables not in text:
                variable = "tables" if query in text else "query"
                where = "system and user" if tables else "no_context_system and no_context_user"
                raise ConfigError(f"prompt {path}: {{{{ {variable} }}}} is missing from {where}")

    @cached_property
    def hash(self) -> str:
        """Hash of the templates."""
        parts = "\0".join(getattr(self, name) for name in _ENTRIES)
        return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @cached_property
    def _templates(self) -> dict[str, Any]:
        from jinja2 import StrictUndefined, TemplateError
        from jinja2.sandbox import SandboxedEnvironment

        environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
        templates = {}
        for name in _ENTRIES:
            try:
                templates[name] = environment.from_string(getattr(self, name))
            except TemplateError as error:
                raise ConfigError(
                    f"prompt {self.name}: entry {name!r} is no template of Jinja: {error}"
                ) from error
        return templates

    def make_messages(self, query: str, tables: str) -> tuple[Message, ...]:
        """Fill the templates for a query; without tables, those of ``no_context``."""
        messages = []
        for role in ("system", "user"):
            entry = role if tables else f"no_context_{role}"
            try:
                text = self._templates[entry].render(query=query, tables=tables)
            except Exception as error:
                raise ConfigError(
                    f"prompt {self.name}: entry {entry!r} cannot be filled with the variables "
                    f"query ({query!r:.100}) and tables: {type(error).__name__}: {error}"
                ) from error
            messages.append(Message(role, text))
        return tuple(messages)


def _read_entries(path: Path) -> dict[str, Any]:
    try:
        entries = read_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        is_there = not isinstance(error, FileNotFoundError)
        problem = f"cannot be read: {reason(error)}" if is_there else "there is no such file"
        raise ConfigError(
            f"prompt {path}: {problem}; --prompt names a YAML file, or a folder with one for "
            "each task"
        ) from error
    if not isinstance(entries, Mapping):
        raise ConfigError(f"prompt {path}: expected the entries {', '.join(_ENTRIES)}")
    return dict(entries)


@dataclass(frozen=True)
class Prompter:
    """Write requests with the tables of a query.

    Attributes:
        VERSION: raised when requests change, for instance because tables are written in another
            way; a subclass has its own.
        task: short name of the task.
        prompt: the templates.
        format: how tables are written.
        answer_schema: the JSON schema of an answer, or None.
        answer: the kind of answer.
        schema_optional: whether an answer in prose is read as well as one of the schema.
    """

    VERSION: ClassVar[str] = "1"

    task: str
    prompt: Prompt
    format: TableFormat = "markdown"
    answer_schema: Mapping[str, Any] | None = None
    answer: AnswerKind = "text"
    schema_optional: bool = False

    @cached_property
    def _serializer(self) -> Serializer:
        return Serializer(("title", "section", "keys", "header", "rows"), self.format)

    @property
    def identity(self) -> dict[str, Any]:
        """All settings that change a request."""
        return {
            "prompt": self.prompt.hash,
            "format": self.format,
            "budget": self.prompt.tokens,
            "answer_schema": self.answer_schema,
            "version": self.VERSION,
        }

    def choose_tables(self, corpus: Corpus, ranking: Sequence[TableId]) -> list[Table]:
        """Return the tables of a prompt: those of a ranking, in its order."""
        return [corpus[table_id] for table_id in ranking]

    def write_prompt(self, query: Query, tables: Sequence[Table]) -> PromptedRequest:
        """Return the request for a query, with as much of its tables as fits."""
        text, rows = self.fit_tables(tables)
        request = GenerationRequest(
            query_id=query.id,
            task=self.task,
            messages=self.prompt.make_messages(query.text, text),
            query=query.text,
            tables=tuple(tables),
            answer_schema=self.answer_schema,
            answer=self.answer,
            schema_optional=self.schema_optional,
        )
        whole = tuple(len(table.rows) for table in tables)
        return PromptedRequest(request, rows, truncated=rows != whole)

    def fit_tables(self, tables: Sequence[Table]) -> tuple[str, tuple[int, ...]]:
        """Write tables in their order: whole while they fit, then with as many rows as fit.

        A note under a table says how many rows are left out; one at the end, how many tables.

        Returns:
            The text; and how many rows of each table are shown, -1 where not even the header is.
        """
        room = self.prompt.tokens * CHARACTERS_PER_TOKEN
        blocks: list[str] = []
        rows: list[int] = []
        for number, table in enumerate(tables, start=1):
            block, shown = self._fit_table(number, table, room)
            rows.append(shown)
            if shown >= 0:
                blocks.append(block)
                room -= len(block) + 2
        missing = rows.count(-1)
        if missing:
            blocks.append(f"[{missing} of {len(tables)} tables left out: no room]")
        return "\n\n".join(blocks), tuple(rows)

    def _fit_table(self, number: int, table: Table, room: int) -> tuple[str, int]:
        """Return a table in at most ``room`` characters, and how many rows of it are shown.

        Where not even the header fits, the number is -1.
        """
        n_rows = len(table.rows)
        # doubled, so that of a long table only about twice the rows that fit are written
        high = min(_FIRST_ROWS, n_rows)
        while high < n_rows and len(self._write_table(number, table, high)) <= room:
            high = min(2 * high, n_rows)
        if high == n_rows and len(whole := self._write_table(number, table, n_rows)) <= room:
            return whole, n_rows
        numbers = range(min(high + 1, n_rows))
        n_fit = bisect_right(numbers, room, key=lambda n: len(self._write_part(number, table, n)))
        shown = n_fit - 1  # 0 rows, only the header, is one of the numbers
        return ("" if shown < 0 else self._write_part(number, table, shown)), shown

    def _write_table(self, number: int, table: Table, n_rows: int) -> str:
        kept = replace(table, rows=table.rows[:n_rows])
        return f"Table {number}:\n{self._serializer(kept)}"

    def _write_part(self, number: int, table: Table, n_rows: int) -> str:
        left_out = f"{len(table.rows) - n_rows} of {len(table.rows)} rows left out"
        return f"{self._write_table(number, table, n_rows)}\n[{left_out}]"


@dataclass(frozen=True)
class CellPrompter(Prompter):
    """Write requests with the highlighted cells of a table in place of the query's text.

    The tables of a request have the highlighted cells in their context, for formats and generators.
    Where a query has no highlighted cells, its text stays. The ``instruction`` in its metadata
    follows.
    """

    def write_prompt(self, query: Query, tables: Sequence[Table]) -> PromptedRequest:
        """Return the request for a query, with its cells in place of its text."""
        marked = [highlights.mark_highlighted(query, table) for table in tables]
        cells = highlights.write_highlighted(marked[0]) if marked else ""
        text = "\n".join(filter(None, (cells or query.text, query.metadata.get("instruction"))))
        return super().write_prompt(replace(query, text=text), marked)


INSTRUCTIONS = {
    "text": "Write each table in Markdown, with its name and a colon on the line before it.",
    "html": "Write each table in HTML, with <table>, <tr>, <th> and <td>, its name as <caption>.",
    "latex": "Write each table as a LaTeX tabular, its name as the \\caption of a table around it.",
    "csv": "Write each table as comma-separated values, its name and a colon on a line before it.",
    "json": (
        'Write JSON: {"tables": [{"name": ..., "header": [...], "rows": [[...], ...]}, ...]}, with '
        "every cell as text."
    ),
}
"""Format of tables -> the instruction of a query without one."""


@dataclass(frozen=True)
class TablePrompter(Prompter):
    """Write the instruction of a query, or else of its format, after the text of the query.

    An empty instruction adds nothing: the text has one already.

    Attributes:
        default_format: the format of a query that names none.
    """

    default_format: str = "text"

    def write_prompt(self, query: Query, tables: Sequence[Table]) -> PromptedRequest:
        """Return the request; its ``query`` is only the text."""
        table_format = str(query.metadata.get("format", self.default_format))
        instruction = query.metadata.get("instruction")
        if instruction is None:
            instruction = INSTRUCTIONS.get(table_format)
        text = f"{query.text}\n\n{instruction}" if instruction else query.text
        prompted = super().write_prompt(replace(query, text=text), tables)
        request = replace(prompted.request, query=query.text)
        return replace(prompted, request=request)


def make_prompt_writer(
    task: Task[Any], options: RunConfig, databases: Mapping[str, Path], follows_schema: bool
) -> PromptWriter:
    """Make the writer of a task's requests: its own, or the standard one.

    Args:
        task: the task.
        options: what the user chose.
        databases: database id -> file, where there are databases.
        follows_schema: whether the generator follows JSON schemas.
    """
    if task.prompt.writer is not None:
        return task.prompt.writer(options, databases, follows_schema)
    structured = options.structured and follows_schema
    return Prompter(
        task.name,
        load_prompt(task, options),
        options.table_format,
        task.prompt.schema if structured else None,
        task.answer,
        task.prompt.reads_prose,
    )


def load_prompt(task: Task[Any], options: RunConfig) -> Prompt:
    """Read the templates of a task, or those that the user chose in their place."""
    if options.prompt is not None:
        return Prompt.load(task.name, options.prompt, _find_prompt(task))
    return replace(Prompt.load(task.name, _find_prompt(task)), name=task.name)


def _find_prompt(task: Task[Any]) -> Path:
    """Return the YAML file with the templates of a task; see ``PromptStyle.file``."""
    if task.prompt.file is not None:
        return task.prompt.file
    for cls in type(task).__mro__:
        if issubclass(cls, Task) and hasattr(cls, "name"):
            module = getattr(sys.modules[cls.__module__], "__file__", None)
            folder = Path(module).parent if module else Path.cwd()  # a notebook has no file
            file = (_OWN_PROMPTS if is_package_code(cls) else folder) / f"{cls.name}.yaml"
            if file.is_file():
                return file
    return _OWN_PROMPTS / f"{ANSWER_TASK}.yaml"
