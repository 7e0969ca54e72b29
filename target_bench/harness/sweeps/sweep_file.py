"""A YAML file of a sweep or a run, and what is wrong with it, entry by entry."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, DataError
from target_bench.core.settings import yaml_value

_MOST_BYTES = 1_000_000  # they take seconds to read


@dataclass(frozen=True)
class SweepFile:
    """A YAML file.

    Attributes:
        file: where it is.
        content: what it says.
        sha256: of the file.
        problems: what is wrong with its entries, as lines -> errors.
    """

    file: Path
    content: dict[str, Any]
    sha256: str
    problems: dict[str, ConfigError | DataError] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> "SweepFile":
        """Read a file; aliases, which can stand for more than a machine can hold, are refused."""
        try:
            written = file.read_bytes()
            if len(written) > _MOST_BYTES:
                raise ConfigError(
                    f"{file}: has {len(written):,} bytes; {_MOST_BYTES:,} are the most"
                )
            content = yaml_value(written.decode("utf-8-sig"))
        except FileNotFoundError as error:
            raise ConfigError(f"{file}: there is no such file") from error
        except OSError as error:
            raise ConfigError(f"{file}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            message = " ".join(str(error).split()).replace('in "<unicode string>", ', "")
            raise ConfigError(f"{file}: not valid YAML: {message}") from error
        if not isinstance(content, dict):
            raise ConfigError(f"{file}: expected entries such as corpora: [mini]")
        _check_keys(file, content)
        return cls(file, content, hashlib.sha256(written).hexdigest())

    def at(self, *steps: str | int) -> str:
        """Return ``file: entry`` of keys and indexes; the index of a list of one may be missing."""
        entry: Any = self.content
        name = ""
        for step in steps:
            if isinstance(step, str):
                name += f".{step}" if name else step
                entry = entry.get(step) if isinstance(entry, dict) else None
            elif isinstance(entry, list):
                name += f"[{step}]"
                entry = entry[step]
        return f"{self.file}: {name}" if name else str(self.file)

    @contextmanager
    def collecting(self, where: str) -> Iterator[None]:
        """Keep a ``ConfigError`` or ``DataError`` of the block, so that a user is told all at once.

        Args:
            where: the entry that the block reads, as ``at`` names it.
        """
        try:
            yield
        except (ConfigError, DataError) as error:
            message = str(error)
            line = message if message.startswith(where) else f"{where}: {message}"
            self.problems.setdefault(line, error)

    def raise_problems(self) -> None:
        """Raise one error with a line for each problem, if there is any."""
        if self.problems:
            data_only = all(isinstance(error, DataError) for error in self.problems.values())
            raise (DataError if data_only else ConfigError)("\n".join(self.problems))


def _check_keys(file: Path, entry: Any) -> None:
    if isinstance(entry, list):
        for item in entry:
            _check_keys(file, item)
    elif isinstance(entry, dict):
        for key, value in entry.items():
            if not isinstance(key, str):
                raise ConfigError(
                    f"{file}: the key {key} is no text; YAML reads on, off, yes and no as true and "
                    "false: write it in quotes"
                )
            _check_keys(file, value)
