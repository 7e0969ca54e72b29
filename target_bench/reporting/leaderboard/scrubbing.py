"""Removal of names of machines, users and folders from what is submitted."""

import platform
import re
from getpass import getuser
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from target_bench.core.settings import is_secret, without_secrets

_PART = r"[^/\\:,=\s'\"\[\]{}()]+"
_PATH = re.compile(rf"(?:~|\.{{1,2}})?(?:/{_PART})+/?|(?:[A-Za-z]:|\\)(?:[/\\]{_PART})+[/\\]?")
_ADDRESS = re.compile(r"\b(?:[a-z][a-z0-9+.-]*)://[^\s'\",]+", re.IGNORECASE)
_SHORTEST = 4  # letters of a name that is looked for in texts; shorter ones are parts of words


def scrubbed(value: Any) -> Any:
    """Return a JSON value without paths, addresses, secrets, and names of the machine and its user.

    Of a path the last part is kept, of the value of a setting with the name of a secret nothing.
    """
    if isinstance(value, dict):
        return {
            scrubbed_label(str(name)): "***" if is_secret(str(name)) and found else scrubbed(found)
            for name, found in value.items()
        }
    if isinstance(value, list | tuple):
        return [scrubbed(item) for item in value]
    if not isinstance(value, str):
        return value
    for path in (PurePosixPath(value), PureWindowsPath(value)):
        if path.is_absolute() and path.name:
            value = path.name
    return scrubbed_label(value)


def scrubbed_label(text: str) -> str:
    """Return the same of a text; paths inside it are shortened to their last part."""
    text = _ADDRESS.sub("***", without_secrets(text))
    text = text.replace(str(Path.home()), "~")
    text = _PATH.sub(_last_part, text)
    for name in _names():
        text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "***", text, flags=re.IGNORECASE)
    return text


def _last_part(match: re.Match[str]) -> str:
    found = match[0]
    before = match.string[match.start() - 1 : match.start()]
    if before.isalnum() and found[0] == "/":  # org/model, and/or: no path of a machine
        return found
    parts = [part for part in re.split(r"[/\\]", found) if part not in ("", "~", ".", "..")]
    return parts[-1] if parts else ""


def _names() -> list[str]:
    try:
        user = getuser()
    except (OSError, KeyError, ImportError):
        user = ""
    names = {platform.node(), user, Path.home().name}
    return sorted(name for name in names if len(name) >= _SHORTEST and name != "root")
