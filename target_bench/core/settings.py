"""Values as users write them: numbers, lists, cutoffs, and the settings of plug-ins.

Settings of plug-ins are ``key=value,key=value``, values in YAML flow style. None is shown with a
credential in it.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from operator import index
from typing import TYPE_CHECKING, Any, TypeVar, cast

from target_bench.core.credentials import is_secret, mask_settings
from target_bench.core.errors import ConfigError

if TYPE_CHECKING:
    from yaml import SafeLoader


def read_whole(name: str, value: Any, minimum: int) -> int:
    """Return a whole number of Python or numpy, from ``minimum``, as an ``int``."""
    number = _to_int(value)
    if number is None or number < minimum:
        raise ConfigError(f"{name}={value!r}: expected a whole number from {minimum}")
    return number


def _to_int(value: Any) -> int | None:
    try:
        return None if isinstance(value, bool) else index(value)
    except TypeError:
        return None


def read_texts(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of texts; one text is a list of one, None an empty list."""
    if value is None:
        return ()
    is_single = isinstance(value, str) or not isinstance(value, Iterable)
    texts = (value,) if is_single else tuple(value)
    if not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"{name}={value!r}: expected text, or a list of texts")
    return texts


def read_cutoffs(name: str, value: Any) -> tuple[int, ...]:
    """Return cutoffs, ascending, from a number, a list of numbers, or text such as ``1,5,10``."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    cutoffs: list[Any] = []
    for part in value if is_list else [value]:  # --top-k 1,5 --top-k 10 are three cutoffs
        if isinstance(part, str):
            texts = part.split(",")
            if not all(text.strip().lstrip("+-").isdecimal() for text in texts):
                raise ConfigError(f"{name}={part!r} (--top-k): expected numbers, as in 1,5,10")
            cutoffs += map(int, texts)
        else:
            cutoffs.append(part)
    if not cutoffs:
        raise ConfigError(f"{name} is empty: name at least one cutoff")
    numbers = set()
    for cutoff in cutoffs:
        number = _to_int(cutoff)
        if number is None or number < 1:
            raise ConfigError(f"{name}={cutoff!r}: a cutoff is a whole number from 1")
        numbers.add(number)
    return tuple(sorted(numbers))


_NAMED_PLUGIN = re.compile(r"\s*(?P<name>[^=:,'\"\[\]{}\x00-\x1f]*?)\s*=(?P<text>.*)", re.DOTALL)
_MAX_NAME_LENGTH = 60
PluginT = TypeVar("PluginT")


def split_name(plugin: PluginT) -> tuple[str | None, PluginT]:
    """Return the name that a user gives a plug-in, and the plug-in: ``ours=bm25:k1=0.9``.

    The name is None where there is none, and for an object. It begins with a letter, and has no
    equals sign, colon, comma, bracket or quote.
    """
    match = _NAMED_PLUGIN.fullmatch(plugin) if isinstance(plugin, str) else None
    if match is None:
        return None, plugin
    name, text = match["name"], match["text"].strip()
    if not text or not name[:1].isalpha() or len(name) > _MAX_NAME_LENGTH:
        raise ConfigError(
            f"{plugin!r}: expected NAME=PLUGIN, where NAME has at most {_MAX_NAME_LENGTH} "
            "characters and begins with a letter, as in ours=bm25:k1=0.9"
        )
    return name, cast(PluginT, text)


def check_names_differ(plugins: Iterable[str]) -> None:
    """Raise ``ConfigError`` if a name, or the text of a plug-in, stands for two of them."""
    seen: dict[str, str] = {}
    for plugin in plugins:
        for name in filter(None, split_name(plugin)):
            other = seen.setdefault(name, plugin)
            if other != plugin:
                raise ConfigError(
                    f"{other!r} and {plugin!r}: {name!r} means both; name each plug-in once, and "
                    "give it a name of its own"
                )


def parse_settings(text: str, whole: str) -> dict[str, Any]:
    """Read ``key=value,key=value``; ``whole`` is the text that an error message quotes."""
    settings: dict[str, Any] = {}
    for key, value in split_pairs(text, whole).items():
        try:
            settings[key] = read_yaml(value)
        except ValueError as error:
            shown = "***" if is_secret(key) else value
            raise ConfigError(
                f"{mask_settings(whole)!r}: the value of {key} is not YAML: {shown!r}. "
                "Quote text that holds brackets, commas or quotes."
            ) from error
    return settings


def split_pairs(text: str, whole: str) -> dict[str, str]:
    """Return key -> the text of its value, of ``key=value,key=value``."""
    values: dict[str, str] = {}
    for item in _split_at_commas(text, whole):
        key, equals, value = item.partition("=")
        key = key.strip()
        if not equals or not key.isidentifier():
            raise ConfigError(
                f"{mask_settings(whole)!r}: expected key=value, found {mask_settings(item)!r}. "
                "Settings look like bm25:fields=[title,header],k1=0.9"
            )
        if key in values:
            raise ConfigError(f"{mask_settings(whole)!r}: {key} is set twice")
        values[key] = value.strip()
    return values


def _split_at_commas(text: str, whole: str) -> list[str]:
    """Split at the commas outside brackets and quotes."""
    items, depth, quote, start = [], 0, "", 0
    for i, char in enumerate(text):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "[{(":
            depth += 1
        elif char in ")}]":
            depth -= 1
        elif char == "," and depth == 0:
            items.append(text[start:i])
            start = i + 1
    if depth or quote:
        raise ConfigError(f"{mask_settings(whole)!r}: a bracket or quote is not closed")
    items.append(text[start:])
    return [item for item in items if item.strip()]


def read_yaml(text: str) -> Any:
    """Read a value: YAML 1.1 as PyYAML reads it, but ``1e-3`` is a number."""
    import yaml

    if text.strip() == "***":  # a masked value of a stored run; to YAML it is a broken alias
        return text.strip()
    try:
        return yaml.load(text, _yaml_loader())  # noqa: S506 (a SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ValueError(f"{place}{error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(str(error)) from error


@cache
def _yaml_loader() -> "type[SafeLoader]":
    from yaml import AliasEvent, SafeLoader
    from yaml.composer import ComposerError
    from yaml.constructor import ConstructorError

    class YamlLoader(SafeLoader):
        def compose_node(self, parent: Any, index: Any) -> Any:
            # A value may stand within itself by an alias, or be a billion values in a line.
            if self.check_event(AliasEvent):
                mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
                raise ComposerError(problem="an alias (*name) is not read", problem_mark=mark)
            return super().compose_node(parent, index)

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                name = str(key.value)
                if name in seen:
                    problem = f"{name} is set twice"
                    raise ConstructorError(problem=problem, problem_mark=key.start_mark)
                seen.add(name)
            return super().construct_mapping(node, deep)

    YamlLoader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"),
        list("-+0123456789"),
    )
    return YamlLoader
