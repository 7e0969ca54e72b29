"""A value of a setting as users write it: YAML 1.1, with ``1e-3`` as a number."""

import re
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yaml import SafeLoader


def yaml_value(text: str) -> Any:
    """Read a value: YAML 1.1 as PyYAML reads it, but ``1e-3`` is a number.

    Raises:
        ValueError: the text is not YAML.
    """
    import yaml

    try:
        return yaml.load(text, _yaml_loader())  # noqa: S506 (a SafeLoader)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


@cache
def _yaml_loader() -> "type[SafeLoader]":
    from yaml import SafeLoader

    class Loader(SafeLoader):
        pass

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float",
        re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$"),
        list("-+0123456789"),
    )
    return Loader
