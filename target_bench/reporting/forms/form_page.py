"""The page of a form: its data, its scripts and what they share, as one HTML file."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.errors import ConfigError, StoreError
from target_bench.core.files import atomic_write
from target_bench.core.version import __version__
from target_bench.reporting.web import asset, environment, security_policy, valid
from target_bench.runs.record_log import cannot

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class SavedFile:
    """The file that a form saves: a JSON object with these fields, a name, and what was filled in.

    Attributes:
        format: the value of its field ``format``.
        version: the value of its field ``version``.
        who: the field with the person's name.
        what: the field with what was filled in, by query id.
    """

    format: str
    version: int
    who: str
    what: str


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of a page.

    Attributes:
        title: of the window.
        name: in the bar at the top.
        heading: above everything.
        explained: what is to be done, in a sentence or two; may be empty.
        items: the link to what is to be filled in.
        what: what is saved.
    """

    title: str
    name: str
    heading: str
    explained: str
    items: str
    what: str


def check_place(out: Path) -> None:
    """See that a file can have this name.

    Raises:
        ConfigError: it is a folder.
    """
    if out.is_dir():
        raise ConfigError(f"-o {out}: is a folder; name a file, as in form.html")


def write_page(
    out: Path,
    folder: Path,
    name: str,
    words: Words,
    saved: SavedFile,
    same: Mapping[str, str],
    content: Mapping[str, Any],
) -> None:
    """Write the page.

    Args:
        out: the file.
        folder: where the form's own files are: ``<name>.js`` and, if it has one, ``<name>.css``.
        name: the beginning of their names.
        words: its texts.
        saved: the file that it saves.
        same: further fields of the saved file, by which it is known to be of this form.
        content: what the form's script reads, as JSON.

    Raises:
        StoreError: the file cannot be written.
    """
    script = "\n".join([asset("page.js"), asset("form.js", _FOLDER), asset(f"{name}.js", folder)])
    style = f"{asset('theme.css')}\n{asset('form.css', _FOLDER)}"
    if (folder / f"{name}.css").exists():
        style += f"\n{asset(f'{name}.css', folder)}"
    about = {
        "format": saved.format,
        "version": saved.version,
        "who": saved.who,
        "what": saved.what,
        "same": dict(same),
    }
    text = (
        environment(_FOLDER)
        .get_template("form.html.j2")
        .render(
            policy=security_policy([script], [style]),
            version=__version__,
            script=script,
            style=style,
            words=words,
            form=_clean({"saved": about, **content}),
        )
    )
    try:
        atomic_write(out, text.encode())
    except OSError as error:
        raise StoreError(cannot("be written", out, error, "-o")) from error


def _clean(value: Any) -> Any:
    """Replace what UTF-8 cannot hold, in every text of a value of JSON."""
    if isinstance(value, str):
        return valid(value)
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    return {name: _clean(one) for name, one in value.items()} if isinstance(value, dict) else value
