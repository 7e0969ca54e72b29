"""Errors of plug-ins and other code of users, with the line of the user's own file."""

import os
import re
import sysconfig
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from target_bench import contrib
from target_bench.core.errors import PASSED_ON

_MAX_CHARACTERS = 20_000  # of a message, or of a step of a traceback

_PACKAGE = Path(__file__).resolve().parents[1]
_USER_LINE = re.compile(r'\n  File "[^\n]+", line \d+(?:, in [^\n]+)?(?:\n    [^\n]+)?\Z')


@contextmanager
def restore_process() -> Iterator[None]:
    """Restore the working folder and the umask after code of users."""
    folder, mask = os.getcwd(), os.umask(0)  # noqa: PTH109 (it is called for every batch)
    os.umask(mask)  # it can only be read by setting another one
    try:
        yield
    finally:
        os.umask(mask)
        os.chdir(folder)


def describe_with_line(error: BaseException) -> str:
    """Return ``KeyError: 'missing'``, and the user's line below."""
    return describe_exception(error) + find_user_line(error)


def describe_exception(error: BaseException) -> str:
    """Return ``KeyError: 'missing'``; of any exception, also one whose ``__str__`` raises."""
    message = read_message(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def read_message(error: BaseException) -> str:
    """Return the message of an exception, truncated; if its ``__str__`` raises, say so."""
    try:
        return _truncate(str(error))
    except PASSED_ON:
        raise
    except BaseException as fault:
        return f"(its __str__ raised {type(fault).__name__})"


def show_value(value: object) -> str:
    """Return the beginning of a value's ``repr``; if that raises, the name of its type."""
    try:
        return f"{value!r:.100}"
    except PASSED_ON:
        raise
    except BaseException:
        return f"an object of {type(value).__name__}"


def find_user_line(error: BaseException) -> str:
    r"""Return the innermost line of a user's own file that an exception passed through.

    Returns:
        ``\n  File "boom.py", line 6, in look\n    return self.tables[query]``, ready to be put
        behind a message; empty where only this package and installed ones were passed through.
    """
    if isinstance(error, SyntaxError) and error.filename and _is_user_file(error.filename):
        code = (error.text or "").strip()
        return _format_line(f'"{error.filename}", line {error.lineno}', code)
    steps = traceback.extract_tb(error.__traceback__)
    for step in reversed(steps):
        if _is_user_file(step.filename):
            return _format_line(f'"{step.filename}", line {step.lineno}, in {step.name}', step.line)
    return find_user_line(error.__cause__) if error.__cause__ is not None else ""


def _format_line(where: str, code: str | None) -> str:
    return f"\n  File {where}\n    {code}" if code else f"\n  File {where}"


def split_user_line(text: str) -> tuple[str, str]:
    """Return a text without the end that ``find_user_line`` gave it, and that end."""
    match = _USER_LINE.search(text)
    return (text[: match.start()], match[0]) if match else (text, "")


def format_traceback(error: BaseException) -> str:
    """Return the traceback of an exception and its causes, as Python prints it."""
    return "".join(map(_truncate, traceback.format_exception(error)))


def _truncate(text: str) -> str:
    """Truncate a text that is kept for every query: it may be a whole page of a server."""
    if len(text) <= _MAX_CHARACTERS:
        return text
    return f"{text[:_MAX_CHARACTERS]}... ({len(text):,} characters)"


@cache
def _is_user_file(file: str) -> bool:
    """Return whether code is a user's: neither of this package nor installed.

    A notebook's cell and a contributed plug-in are a user's. Whoever wrote a plug-in that is
    installed finds its line in the whole traceback.
    """
    if file.startswith("<"):  # <frozen importlib._bootstrap>, but not <ipython-input-3-...>
        return file.startswith("<ipython")
    path = Path(file).resolve()
    if any(path.is_relative_to(folder) for folder in contrib.FOLDERS.values()):
        return True
    if is_installed(path):
        return False
    library = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib")]
    return not any(path.is_relative_to(folder) for folder in (_PACKAGE, *library))


def is_installed(file: Path) -> bool:
    """Return whether a file belongs to an installed package."""
    return not {"site-packages", "dist-packages"}.isdisjoint(file.parts)
