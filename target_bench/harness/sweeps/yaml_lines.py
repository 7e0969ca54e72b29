"""YAML with its line numbers: what a file says, and where it says it."""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from target_bench.core.errors import ConfigError

Place = Sequence[str | int]
"""The keys and indexes that lead to an entry, as in ``("retrievers", 0, "k1")``."""

MOST_ENTRIES = 100_000
"""Entries of a file at most, each alias (``*name``) counted as what it stands for."""

_MOST_BYTES = 1_000_000  # they take seconds to read

_BOOLEAN = "tag:yaml.org,2002:bool"


@dataclass(frozen=True)
class Document:
    """A YAML file.

    Attributes:
        file: where it is.
        content: what it says.
        node: the same with its places.
        sha256: of the file.
    """

    file: Path
    content: Any
    node: yaml.Node
    sha256: str

    @classmethod
    def read(cls, file: Path) -> "Document":
        """Read a file.

        Raises:
            ConfigError: it cannot be read, is not YAML, is empty, has a key twice, or has more
                entries than ``MOST_ENTRIES``.
        """
        try:
            written = file.read_bytes()
            if len(written) > _MOST_BYTES:
                raise ConfigError(
                    f"{file}: has {len(written):,} bytes; {_MOST_BYTES:,} are the most"
                )
            loader = yaml.SafeLoader(written.decode("utf-8-sig"))
            node = loader.get_single_node()
            if node is None:
                raise ConfigError(f"{file}: the file is empty")
            _check_keys(file, node)
            _check_size(file, node)
            content = loader.construct_document(node)
            return cls(file, content, node, hashlib.sha256(written).hexdigest())
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise ConfigError(f"{file}:{line}: not valid YAML: {error.problem or error}") from error
        except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
            raise ConfigError(f"{file}: cannot be read: {error}") from error

    def at(self, place: Place) -> str:
        """``file:line: entry``, of the innermost part of the place that the file has."""
        line, name = self._found(place)
        return f"{self.file}:{line}" + (f": {name}" if name else "")

    def line(self, place: Place) -> int:
        """Return the line of that part."""
        return self._found(place)[0]

    def _found(self, place: Place) -> tuple[int, str]:
        node, name, line = self.node, "", self.node.start_mark.line
        for step in place:
            child = _child(node, step)
            if child is None:
                continue
            line, node = child
            name += f"[{step}]" if isinstance(step, int) else f".{step}" if name else step
        return line + 1, name


def _child(node: yaml.Node, step: str | int) -> tuple[int, yaml.Node] | None:
    """Return the line and the node of an entry."""
    if isinstance(node, yaml.SequenceNode) and step in range(len(node.value)):
        item = node.value[int(step)]
        return item.start_mark.line, item
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if key.value == step:
                return key.start_mark.line, value
    return None


def _check_size(file: Path, node: yaml.Node) -> None:
    """See that a file is small, also with its aliases written out: nested ones may be billions.

    Raises:
        ConfigError: it is not, or an alias stands within what it names.
    """
    sizes: dict[int, int | None] = {}  # None: of a node whose entries are being counted

    def size(node: yaml.Node) -> int:
        if id(node) not in sizes:
            sizes[id(node)] = None
            parts = node.value if isinstance(node, yaml.CollectionNode) else ()
            if isinstance(node, yaml.MappingNode):
                parts = [part for pair in node.value for part in pair]
            sizes[id(node)] = 1 + sum(map(size, parts))
        known = sizes[id(node)]
        if known is None:
            line = node.start_mark.line + 1
            raise ConfigError(f"{file}:{line}: an alias (*name) stands within what it names")
        return known

    n = size(node)
    if n > MOST_ENTRIES:
        raise ConfigError(
            f"{file}: has {n:,} entries with its aliases (*name) written out, and {MOST_ENTRIES:,} "
            "are the most: use fewer aliases, or divide it into several files"
        )


def _check_keys(file: Path, node: yaml.Node, seen_nodes: set[int] | None = None) -> None:
    """See that keys are words, each once; what several aliases name is looked at once."""
    looked_at = set() if seen_nodes is None else seen_nodes
    if id(node) in looked_at:
        return
    looked_at.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _check_keys(file, item, looked_at)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[Hashable, int] = {}
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{file}:{line}: a key should be a word")
            if key.tag == _BOOLEAN:
                raise ConfigError(
                    f"{file}:{line}: YAML reads the key {key.value} as true or false; write "
                    f"'{key.value}' in quotes"
                )
            if key.value in seen:
                raise ConfigError(f"{file}:{line}: {key.value} is set in line {seen[key.value]}")
            seen[key.value] = line
            _check_keys(file, value, looked_at)
