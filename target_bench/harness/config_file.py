"""A run as a YAML file: read for ``run --config``, written from the manifest of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import ConfigError
from target_bench.core.run_config import check_option_names, read_option
from target_bench.core.settings import named
from target_bench.harness.systems import ANSWER_MODES
from target_bench.harness.yaml_file import PLUGINS, YamlFile, spec_text, with_name
from target_bench.runs.manifest import Command


def read_config(file: Path) -> dict[str, Any]:
    """Option -> value, of the options that a file names.

    A task, retriever or generator is text as on the command line, or ``{name: bm25, k1: 0.9}``.

    Raises:
        ConfigError: the file cannot be read, or holds an unknown key or an invalid value; the
            message names the line of each.
    """
    document = YamlFile.read(file)
    options: dict[str, Any] = {}
    for key, value in document.content.items():
        with document.collecting(document.at(key)):
            check_option_names([key])
            options[key] = read_option(key, _with_text(key, value), document.at(key))
    document.raise_problems()
    return options


def _with_text(key: str, value: Any) -> Any:
    """Return the value of an option, plug-ins that are written as a mapping as text."""
    kind = PLUGINS.get(key)
    if kind is None:
        return value
    return [_plugin(kind, plugin) for plugin in (value if isinstance(value, list) else [value])]


def _plugin(kind: registry.Kind, written: Any) -> Any:
    if not isinstance(written, Mapping):
        return written
    settings = {str(name): value for name, value in written.items()}
    name = settings.pop("name", None)
    if not isinstance(name, str):
        raise ConfigError(f"a {kind} is text, or has a name, as in {{name: ..., setting: ...}}")
    called, plain = named(name)
    return with_name(called, spec_text(kind, plain, settings))


def config_of(command: Command, split: str) -> dict[str, Any]:
    """Return the input of ``run --config`` that repeats a run, without empty defaults.

    Args:
        command: the words of the run's command.
        split: the split that the run is of.

    Raises:
        ConfigError: the run cannot be made from a command line: something of it was made in
            Python, was read from a file of rankings or answers, or is part of another run.
    """
    if command.about is not None and command.task is None:
        raise ConfigError(
            f"these rankings are part of a run about {command.about}; show the configuration of "
            "that run"
        )
    if command.corpus is None:
        raise ConfigError("the corpus of this run was made in Python")
    config: dict[str, Any] = {"corpora": [command.corpus], "tasks": [command.task or RANKING_TASK]}
    if command.retriever is not None:
        _check("retriever", command.retriever, {})
        config["retrievers"] = [with_name(command.retriever_name, command.retriever)]
    if command.generator is not None:
        _check("generator", command.generator, ANSWER_MODES)
        config["generators"] = [with_name(command.generator_name, command.generator)]
    options = {**(command.options or {}), **(command.prompting or {}), "split": split}
    options |= {"limit": command.limit}
    options["distractors"] = list(command.distractors)
    return config | {name: value for name, value in options.items() if value not in (None, [])}


def _check(kind: registry.Kind, text: str, modes: Mapping[str, Any]) -> None:
    if text in modes:
        return
    try:
        registry.resolve(kind, registry.parse(kind, text).target)
    except ConfigError as error:
        raise ConfigError(
            f"the {kind} of this run cannot be named on the command line: {error}"
        ) from error
