"""Options that were given though none of the tasks reads them."""

from collections.abc import Iterable, Iterator

import typer

_LABELS = {"fact_verification"}
_TEXT = {"question_answering"}
_SQL = {"text_to_sql"}
_ANSWERS = _LABELS | _TEXT | _SQL
_READERS = {
    "generators": ("--generator", _ANSWERS),
    "prompt": ("--prompt", _ANSWERS),
    "prompt_tokens": ("--prompt-tokens", _ANSWERS),
    "table_format": ("--table-format", _LABELS | _TEXT),
    "run_file": ("--run", {"retrieval"}),
    "predictions": ("--predictions", _ANSWERS),
    "order": ("--order", _ANSWERS),
    "labels": ("--labels", _LABELS),
    "bertscore": ("--bertscore", _TEXT),
    "schema_scope": ("--schema-scope", _SQL),
    "structured": ("--structured/--free-text", _SQL | _LABELS),
    "engine": ("--engine", _SQL),
    "rule": ("--rule", _SQL),
    "timeout": ("--timeout", _SQL),
    "repeats": ("--repeats", _SQL),
}
"""Parameter -> the option, and the tasks that read it."""


def unread(context: typer.Context, tasks: Iterable[str]) -> Iterator[str]:
    """A warning for each option on the command line that none of the tasks reads."""
    run = set(tasks)
    for parameter, (option, readers) in _READERS.items():
        source = context.get_parameter_source(parameter)
        if source is not None and source.name == "COMMANDLINE" and not readers & run:
            yield (
                f"{option} changes nothing here: it is read for {' and '.join(sorted(readers))}, "
                f"not for {' or '.join(sorted(run))}"
            )
