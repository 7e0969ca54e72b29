"""A sweep's YAML file, and the names of its entries for messages."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError
from target_bench.core.settings import yaml_value

Place = Sequence[str | int]
"""The keys and indexes that lead to an entry, as in ``("retrievers", 0, "k1")``."""

_MOST_BYTES = 1_000_000  # they take seconds to read


@dataclass(frozen=True)
class SweepFile:
    """A YAML file.

    Attributes:
        file: where it is.
        content: what it says.
        sha256: of the file.
    """

    file: Path
    content: Any
    sha256: str

    @classmethod
    def read(cls, file: Path) -> "SweepFile":
        """Read a file.

        Raises:
            ConfigError: it cannot be read, is empty or too large, is not YAML, has a key twice or
                one that is not text, or an alias (``*name``), which can stand for more entries than
                a machine can hold.
        """
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
        if content is None:
            raise ConfigError(f"{file}: the file is empty")
        _check_keys(file, content)
        return cls(file, content, hashlib.sha256(written).hexdigest())

    def at(self, place: Place) -> str:
        """Return ``file: entry``, of the innermost part of the place that the file has."""
        entry, name = self.content, ""
        for step in place:
            if isinstance(entry, dict) and step in entry:
                name += f".{step}" if name else str(step)
            elif isinstance(entry, list) and isinstance(step, int) and step < len(entry):
                name += f"[{step}]"
            else:
                continue  # a step of the model alone, as the name of a type
            entry = entry[step]
        return f"{self.file}: {name}" if name else str(self.file)


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
