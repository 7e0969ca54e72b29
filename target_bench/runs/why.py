"""The differences between two runs, in words: ``the code of mine.py changed: line 14``.

For the lines, a run folder has copies of the user's own source files, without credentials, in
``source``. No submission, report or export reads them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.credentials import without_secrets
from target_bench.core.errors import StoreError
from target_bench.core.text_tables import count_noun, list_first
from target_bench.runs.differences import format_option
from target_bench.runs.find import list_run_folders
from target_bench.runs.manifest import Manifest, flatten
from target_bench.runs.record_log import write_file
from target_bench.runs.result import Result, read_run
from target_bench.runs.run import Run

SOURCE = "source"
"""The folder of the copies in a run folder."""

_MOST_COPIES = 50  # of more files, which are a project and no plug-in, only hashes are recorded
_MOST_LISTED = 3


# Source files

Sources = Mapping[str, bytes]
"""Name of a source file -> its content."""


def read_sources(files: Sequence[Path]) -> dict[str, bytes]:
    """Return name -> content of source files.

    A name is the path from the folder of the first file, so that a moved project keeps its names.
    A file elsewhere has its file name, with as many folders before it as make the name unique.
    """
    folder = files[0].parent if files else Path()
    below = [file for file in files if file.is_relative_to(folder)]
    sources = {file.relative_to(folder).as_posix(): file.read_bytes() for file in below}
    for file in files:
        if file not in below:
            names = ["/".join(file.parts[-n:]) for n in range(1, len(file.parts))]
            unique = next(name for name in names if name not in sources)
            sources[unique] = file.read_bytes()
    return sources


def hash_sources(sources: Sources) -> dict[str, str]:
    """Return name -> SHA-256 of the content."""
    return {name: sha256(content).hexdigest() for name, content in sources.items()}


def write_copies(folder: Path, sources: Sources) -> None:
    """Write copies of source files, without credentials, into a run folder."""
    if len(sources) > _MOST_COPIES:
        return
    for name, content in sources.items():
        text = _hide_secrets(content)
        write_file(folder / SOURCE / name, text.encode("utf-8", "backslashreplace"))


def read_copies(result: Result) -> dict[str, bytes]:
    """Return name -> content of the copies in a run folder."""
    copies = {}
    for name in result.run.manifest.code:
        with suppress(OSError):  # there are none after run --no-source
            copies[name] = (result.folder / SOURCE / name).read_bytes()
    return copies


def _hide_secrets(content: bytes) -> str:
    return without_secrets(content.decode("utf-8", "replace"))


# Changes


class Change(NamedTuple):
    """A reason for which a run is not used again."""

    what: str  # "the code of mine.py changed"
    detail: str = ""  # "line 14"

    def __str__(self) -> str:
        return f"{self.what}: {self.detail}" if self.detail else self.what


def find_changes(
    before: Manifest, after: Manifest, old_sources: Sources, new_sources: Sources
) -> list[Change]:
    """List the differences between two runs, the code first; nothing if they are the same run."""
    # Path -> value, as in ``retriever.class``, ``retriever.code``, ``retriever.config.k1``, and for
    # a plug-in in another one ``retriever.parts.encoder.class``.
    old, new = dict(flatten(before.identity.content)), dict(flatten(after.identity.content))
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    old_code: Mapping[str, str] = before.code
    new_code: Mapping[str, str] = after.code
    if _read_asked_metrics(before) != _read_asked_metrics(after):
        # A file of one run alone may be that of a metric, which makes no run new.
        old_code = {name: old_code[name] for name in old_code if name in after.code}
        new_code = {name: new_code[name] for name in new_code if name in before.code}
    changes = list(_find_code_changes(old_code, new_code, old_sources, new_sources))
    if not changes:  # classes whose code is in no recorded file
        hashes = [path for path in paths if path.endswith(".code") and ".config." not in path]
        for path in hashes:
            name = new.get(path.removesuffix("code") + "class", _name_plugin(path))
            changes.append(Change(f"the code of {name} changed"))
    changes += _find_data_changes(before, after)
    # If a plug-in replaced another one, their settings are not compared.
    replaced = tuple(
        path.removesuffix("class")
        for path in paths
        if path.endswith(".class") and ".config." not in path  # a setting may be called class
    )
    for path in paths:
        is_class = path.endswith(".class") and ".config." not in path
        if is_class or not path.startswith(replaced):
            changes += _describe_entry(path, old.get(path), new.get(path))
    if "top_k" not in paths:  # else the signatures of metrics follow it
        changes += _find_metric_changes(before, paths)
    if paths and not changes:
        changes.append(Change(f"{list_first(paths, _MOST_LISTED)} changed"))
    return list(dict.fromkeys(changes))


def _find_code_changes(
    before: Mapping[str, str], after: Mapping[str, str], old: Sources, new: Sources
) -> Iterator[Change]:
    for name in {**before, **after}:
        if name not in before:
            yield Change(f"{name} is new in the code")
        elif name not in after:
            yield Change(f"{name} is no longer in the code")
        elif before[name] != after[name]:
            lines = _list_changed_lines(old[name], new[name]) if name in old and name in new else ""
            yield Change(f"the code of {name} changed", lines)


def _list_changed_lines(before: bytes, after: bytes) -> str:
    """Return the lines of the new text that changed, as ``lines 3, 14-16``.

    Deleted lines are told by the line after them, or by the last line.
    """
    # as Python and editors count lines: a form feed, say, ends none
    old, new = (StringIO(_hide_secrets(each), None).readlines() for each in (before, after))
    last = max(len(new), 1)
    blocks = [
        (first := min(start + 1, last), max(first, end))
        for kind, _, _, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    ]
    if not blocks:
        return "in a credential, or in white space at the ends of lines"
    texts = [f"{first}" if first == last else f"{first}-{last}" for first, last in blocks]
    noun = "line" if texts == [str(blocks[0][0])] else "lines"
    return f"{noun} {list_first(texts, _MOST_LISTED)}"


def _find_data_changes(before: Manifest, after: Manifest) -> Iterator[Change]:
    changed_options = set()
    for name in ("limit", "distractors", "about"):
        old, new = getattr(before.command, name), getattr(after.command, name)
        if old != new:
            changed_options.add(name)
            yield Change(f"{name} changed", _describe_values(old, new))
    tables = before.identity.corpus_fingerprint != after.identity.corpus_fingerprint
    if tables and "distractors" not in changed_options:
        yield from _describe_count(before.corpus_tables, after.corpus_tables, "table")
        yield from _find_file_changes(before, after) or [Change("the tables changed")]
    queries = before.identity.queries_fingerprint != after.identity.queries_fingerprint
    if queries and not changed_options & {"limit", "about"}:
        yield from _describe_count(before.n_queries, after.n_queries, "question")
        yield from _find_file_changes(before, after) or [
            Change("the questions or their gold changed")
        ]
    if (tables or queries) and before.command.corpus != after.command.corpus:
        values = _describe_values(before.command.corpus, after.command.corpus)
        yield Change("the corpus is asked for in another way", values)


def _describe_count(before: int | None, after: int | None, noun: str) -> Iterator[Change]:
    if before is not None and after is not None and before != after:
        n = count_noun(abs(after - before), noun)
        verb = "were" if abs(after - before) > 1 else "was"
        how = "added" if after > before else "removed"
        yield Change(f"{n} {verb} {how}", f"{before:,} → {after:,}")


def _find_file_changes(before: Manifest, after: Manifest) -> list[Change]:
    old, new = before.files, after.files
    by_verb = {
        ("changed", "changed"): [n for n in new if n in old and old[n] != new[n]],
        ("was added", "were added"): [name for name in new if name not in old],
        ("was removed", "were removed"): [name for name in old if name not in new],
    }
    changes = []
    for (singular, plural), names in by_verb.items():
        if len(names) == 1:
            changes.append(Change(f"the data file {names[0]} {singular}"))
        elif names:
            listed = list_first(names, _MOST_LISTED)
            changes.append(Change(f"the data files {listed} {plural}"))
    return changes


_METRIC = "metrics: "  # a path of ``flatten`` with the signature of a metric


def _find_metric_changes(before: Manifest, paths: Iterable[str]) -> Iterator[Change]:
    signatures = [path.removeprefix(_METRIC) for path in paths if path.startswith(_METRIC)]
    names = [signature.partition("|")[0] for signature in signatures]
    earlier = {signature.partition("|")[0] for signature in before.identity.metrics}
    for name in dict.fromkeys(names):
        if name in signatures:  # a setting of the task, as timeout:30, which has no definition
            yield Change(f"{name.partition(':')[0]} of the task changed")
        elif names.count(name) > 1:  # the signature before and the one after
            yield Change(f"metric {name} is computed in another way")
        else:
            yield Change(f"metric {name} was {'removed' if name in earlier else 'added'}")


def _read_asked_metrics(manifest: Manifest) -> list[str] | None:
    """Return what ``--metric`` named; None before a run is scored, when that is not recorded."""
    return (manifest.command.options or {}).get("metrics")


_OTHER_WORDS = {"top_k": "top-k", "depth": "the number of retrieved tables"}
_TOLD_ELSEWHERE = ("code", "corpus_fingerprint", "queries_fingerprint")


def _describe_entry(path: str, old: Any, new: Any) -> list[Change]:
    """Return the change of one entry of the identity; nothing for what is told elsewhere.

    A path may fit several of the rules, as ``prompt.class``: the first one counts.
    """
    plugin, name = _name_plugin(path), path.rpartition(".")[2]
    values = _describe_values(old, new)
    if ".config." in path:  # a setting may be called "class" too
        return [Change(f"{path.partition('.config.')[2]} of {plugin} changed", values)]
    if name in _TOLD_ELSEWHERE or path.startswith(_METRIC):
        return []
    if name == "unique":
        return [Change(f"{plugin} cannot be identified, so no run of it is used again")]
    if name == "version":
        return [Change(f"the version of {plugin} changed", values)]
    if ".files." in path:
        return [Change(f"the file that {path.partition('.files.')[2]} of {plugin} names changed")]
    if path.endswith("prompt.prompt"):
        return [Change("the prompt changed")]
    if name == "class":
        return [Change(f"{plugin} changed", values)]
    if path.startswith("prompt."):
        return [Change(f"{name} of the prompt changed", values)]
    return [Change(f"{_OTHER_WORDS.get(name, name.replace('_', ' '))} changed", values)]


def _name_plugin(path: str) -> str:
    """Return ``the retriever`` for ``retrieval.retriever.config.k1``; a part by its name."""
    words = path.removeprefix("retrieval.").split(".")
    names = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "parts"]
    return " of ".join(f"the {name}" for name in [*reversed(names), words[0]])


def _describe_values(old: Any, new: Any) -> str:
    # Lists in an identity are flattened to JSON, as in [1, 5].
    texts = [format_option(each).removeprefix("[").removesuffix("]") for each in (old, new)]
    return " → ".join(texts)


# Why a run is new


def explain_new(run: Run, manifest: Manifest, sources: Sources) -> str:
    """Say why the newest run of the same plug-ins and data is not used again; "" without one.

    ``manifest`` is that of the new run with its metrics, which are recorded with the scores.
    """
    earlier = [other for other in _find_same_command(run) if other.run.manifest.started]
    if not earlier:
        return ""
    newest = max(earlier, key=lambda other: _read_start(other).timestamp())
    changes = find_changes(newest.run.manifest, manifest, read_copies(newest), sources)
    if not changes:
        return ""
    started = _read_start(newest)
    is_today = started.date() == datetime.now(started.tzinfo).date()
    since = started.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
    first, *others = changes
    detail = f" ({first.detail})" if first.detail else ""
    more = f"; {list_first([change.what for change in others], _MOST_LISTED)}" if others else ""
    return f"new run: {first.what} since {since}{detail}{more}"


def _read_start(result: Result) -> datetime:
    return datetime.fromisoformat(str(result.run.manifest.started))


def _find_same_command(run: Run) -> Iterator[Result]:
    """Yield the other runs of the same task, corpus, split and labels."""
    command = run.manifest.command
    prefix = run.folder.name.rpartition("-")[0]
    for folder in list_run_folders(run.folder.parent):
        if folder != run.folder and folder.name.rpartition("-")[0] == prefix:
            with suppress(StoreError):
                other = read_run(folder)
                same = (other.command.names, other.command.task, other.command.corpus)
                if same == (command.names, command.task, command.corpus):
                    yield other
