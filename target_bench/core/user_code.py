"""What code that is not ours raises, told so that its author finds the line."""

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

_MOST_CHARACTERS = 20_000  # of a message, or of a step of a traceback

_PACKAGE = Path(__file__).resolve().parents[1]
_PLACE = re.compile(r'\n  File "[^\n]+", line \d+(?:, in [^\n]+)?(?:\n    [^\n]+)?\Z')


@contextmanager
def process_restored() -> Iterator[None]:
    """Put the working folder and the umask back that code of users leaves otherwise."""
    folder, mask = os.getcwd(), os.umask(0)  # noqa: PTH109 (it is called for every batch)
    os.umask(mask)
    try:
        yield
    finally:
        os.umask(mask)
        os.chdir(folder)


def describe_exception(error: BaseException) -> str:
    """Return ``KeyError: 'missing'``; of any exception, also one whose ``__str__`` raises."""
    return ": ".join(filter(None, (type(error).__name__, message(error))))


def message(error: BaseException) -> str:
    """Return what an exception says, cut if long; if even that raises, a sentence about it."""
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


def place(error: BaseException) -> str:
    r"""Return the innermost line of a user's own file that an exception passed through.

    Returns:
        ``\n  File "boom.py", line 6, in look\n    return self.tables[query]``, ready to be put
        behind a message; empty where only this package and installed ones were passed through.
    """
    if isinstance(error, SyntaxError) and error.filename and _is_users(error.filename):
        text = (error.text or "").strip()
        return f'\n  File "{error.filename}", line {error.lineno}' + f"\n    {text}" * bool(text)
    steps = traceback.extract_tb(error.__traceback__)
    users = [step for step in steps if _is_users(step.filename)]
    if users:
        step = users[-1]
        line = f"\n    {step.line}" if step.line else ""
        return f'\n  File "{step.filename}", line {step.lineno}, in {step.name}{line}'
    return place(error.__cause__) if error.__cause__ is not None else ""


def split_place(text: str) -> tuple[str, str]:
    """Divide a text that ends with what ``place`` gave into what is said, and the place."""
    match = _PLACE.search(text)
    return (text[: match.start()], match[0]) if match else (text, "")


def whole_traceback(error: BaseException) -> str:
    """Return the traceback of an exception with those of its causes, as Python prints it."""
    return "".join(map(_truncate, traceback.format_exception(error)))


def _truncate(text: str) -> str:
    """Return a text that is kept for every query, and may be a whole page of a server."""
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[:_MOST_CHARACTERS]}... ({len(text):,} characters)"


@cache
def _is_users(file: str) -> bool:
    """Return whether code is a user's: neither of this package nor installed.

    A notebook's cell and a contributed plug-in are a user's. Whoever wrote a plug-in that is
    installed finds its line in the whole traceback.
    """
    if file.startswith("<"):  # <frozen importlib._bootstrap>, but not <ipython-input-3-...>
        return file.startswith("<ipython")
    path = Path(file).resolve()
    if any(path.is_relative_to(folder) for folder in contrib.FOLDERS.values()):
        return True
    installed = {"site-packages", "dist-packages"} & set(path.parts)
    library = (Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "platstdlib"))
    return not installed and not any(path.is_relative_to(folder) for folder in (_PACKAGE, *library))
