"""Reading a card from YAML, which may come from anybody: no aliases, no tags, no great depth."""

from pathlib import Path
from typing import Any

from pydantic import ValidationError
from yaml import (
    AliasEvent,
    Event,
    MappingNode,
    Node,
    SafeLoader,
    ScalarEvent,
    ScalarNode,
    SequenceNode,
    YAMLError,
    compose,
    parse,
)
from yaml.events import CollectionEndEvent, CollectionStartEvent

from target_bench.core.errors import DataError
from target_bench.reporting.leaderboard.card import Card, faults

LARGEST = 64 * 1024
"""Bytes that the file of a card may have."""

_DEEPEST = 4


def read_card(path: Path) -> Card:
    """Return the card in a YAML file.

    Raises:
        DataError: it cannot be read, or does not hold a card; every fault stands with its line.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    if len(raw) > LARGEST:
        raise DataError(f"{path}: has more than {LARGEST:,} bytes, which no card needs")
    try:
        text = raw.decode("utf-8-sig")
        _check_events(text, path)
        node = compose(text, SafeLoader)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: not valid UTF-8") from error
    except YAMLError as error:
        raise DataError(f"{path}{_line_of(error)}: not valid YAML: {_first_words(error)}") from None
    if not isinstance(node, MappingNode):
        raise DataError(f"{path}: expected fields, as in 'name: My Retriever'")
    lines: dict[tuple[str | int, ...], int] = {}
    values = _value(node, (), lines, path)
    try:
        return Card.model_validate(values)
    except ValidationError as error:
        messages = [_with_line(loc, message, lines) for loc, message in faults(error)]
        raise DataError("\n".join(f"{path}{one}" for one in messages)) from None


def _check_events(text: str, path: Path) -> None:
    """See that nothing is there that grows, or makes objects, when it is read."""
    depth = 0
    for event in parse(text, SafeLoader):
        depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
        problem = _problem(event)
        if depth > _DEEPEST:
            problem = f"is nested deeper than {_DEEPEST} levels"
        if problem:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise DataError(f"{path}, line {line}: {problem}")


def _problem(event: Event) -> str | None:
    if isinstance(event, AliasEvent) or getattr(event, "anchor", None):
        return "holds an anchor or alias (& or *), which a card cannot have; quote the text"
    if isinstance(event, CollectionStartEvent | ScalarEvent) and event.tag is not None:
        return f"holds the tag {event.tag[:60]!r}, which a card cannot have"
    return None


def _value(node: Node, at: tuple[str | int, ...], lines: dict[Any, int], path: Path) -> Any:
    """Return the value of a node; ``lines`` gets the line of everything in it."""
    lines[at] = node.start_mark.line + 1
    if isinstance(node, SequenceNode):
        return [_value(item, (*at, i), lines, path) for i, item in enumerate(node.value)]
    if isinstance(node, MappingNode):
        found: dict[str, Any] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode):
                raise DataError(f"{path}, line {line}: a field needs a name")
            if key.value in found:
                raise DataError(f"{path}, line {line}: {key.value[:60]!r} is there twice")
            found[key.value] = _value(value, (*at, key.value), lines, path)
        return found
    try:
        return SafeLoader("").construct_object(node)
    except (YAMLError, ValueError) as error:
        line = node.start_mark.line + 1
        raise DataError(f"{path}, line {line}: {_first_words(error)}") from None


def _with_line(at: tuple[str | int, ...], message: str, lines: dict[Any, int]) -> str:
    while at and at not in lines:
        at = at[:-1]
    return f", line {lines[at]}: {message}" if at else f": {message}"


def _line_of(error: YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f", line {mark.line + 1}" if mark else ""


def _first_words(error: Exception) -> str:
    return str(getattr(error, "problem", None) or error).split("\n")[0][:200]
