"""What makes two runs the same run."""

import hashlib
import json
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from target_bench.interfaces import constructor_arguments
from target_bench.provenance import code_hash, installed_version
from target_bench.registry import FILE_MODULE
from target_bench.schema import Query
from target_bench.secrets import is_secret


def run_key(identity: Mapping[str, Any]) -> str:
    """The hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """A hash of what is asked and what the gold tables are, whatever the order."""
    asked = sorted((query.id, query.text, tuple(sorted(query.gold))) for query in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """The same with the reference answers."""
    answers = sorted((query.id, query.answer) for query in queries)
    both = [queries_fingerprint(queries), answers]
    return hashlib.sha256(json.dumps(both).encode()).hexdigest()


def plugin_identity(plugin: object) -> tuple[dict[str, Any], str | None]:
    """Class, settings, code hash and package versions of a plug-in.

    Returns:
        The identity, and a warning if the plug-in cannot be identified: then the identity is
        unique, so its results are kept but never reused.
    """
    cls = type(plugin)
    identity: dict[str, Any] = {
        "class": f"{_module_name(cls)}:{cls.__qualname__}",
        "packages": {name: installed_version(name) for name in getattr(cls, "packages", ())},
    }
    try:
        identity["config"] = _config(plugin)
        identity["code"] = code_hash(cls)
    except Exception as error:
        identity["unique"] = uuid.uuid4().hex
        return identity, (
            f"{cls.__name__} cannot be identified ({error}), so this run will never be reused. "
            "Keep constructor arguments as attributes of the same names with JSON values, or "
            "define config(); define the class in a file."
        )
    return identity, None


def _module_name(cls: type) -> str:
    """The module, or the file of a plug-in that was named by its file, wherever that lies."""
    if not cls.__module__.startswith(FILE_MODULE):
        return cls.__module__
    return Path(sys.modules[cls.__module__].__file__ or "").name


def _config(plugin: object) -> Any:
    own = getattr(plugin, "config", None)
    config = own() if callable(own) else constructor_arguments(plugin)
    shown = {name: "***" if is_secret(str(name)) else value for name, value in config.items()}
    try:
        return json.loads(json.dumps(shown, sort_keys=True))
    except TypeError as error:
        raise TypeError(f"its settings are no JSON: {error}") from error
