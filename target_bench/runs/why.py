"""In what two runs differ, in words: ``the code of mine.py changed: line 14``.

For this the manifest has the SHA-256 of the user's own source files, and the folder ``source`` of a
run a copy of each without credentials. No submission, report or export reads the copies.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from difflib import SequenceMatcher
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from target_bench.core.credentials import without_secrets
from target_bench.core.errors import StoreError
from target_bench.core.text_tables import count_noun, list_first
from target_bench.runs.find import list_run_folders
from target_bench.runs.manifest import Manifest, flatten
from target_bench.runs.record_log import write_file
from target_bench.runs.result import Result, read_run
from target_bench.runs.run import Run

SOURCE = "source"
"""The folder of the copies in a run folder."""

_MOST_COPIES = 50  # more files are a project and no plug-in: their hashes are recorded alone
_LISTED = 3


class Change(NamedTuple):
    """A cause for which a run is not used again."""

    what: str  # "the code of mine.py changed"
    detail: str = ""  # "line 14"

    def __str__(self) -> str:
        return f"{self.what}: {self.detail}" if self.detail else self.what


# The user's own source files

Sources = Mapping[str, bytes]
"""Name of a source file -> its content."""


def read_sources(files: Sequence[Path]) -> dict[str, bytes]:
    """Return name -> content of source files.

    A name is the path below the folder of the first file; elsewhere it is as much of the end of
    the path as no other file has.
    """
    folder = files[0].parent if files else Path()
    below = [file for file in files if file.is_relative_to(folder)]
    sources = {file.relative_to(folder).as_posix(): file.read_bytes() for file in below}
    for file in files:
        if file not in below:
            names = ["/".join(file.parts[-n:]) for n in range(1, len(file.parts))]
            sources[next(name for name in names if name not in sources)] = file.read_bytes()
    return sources


def read_copies(run: Result) -> dict[str, bytes]:
    """Return name -> content, without credentials, of the copies in a run folder."""
    copies = {}
    for name in run.run.manifest.code:
        with suppress(OSError):  # there is no copy with --no-source
            copies[name] = (run.folder / SOURCE / name).read_bytes()
    return copies


def hash_sources(sources: Sources) -> dict[str, str]:
    """Return name -> SHA-256 of the content."""
    return {name: sha256(content).hexdigest() for name, content in sources.items()}


def write_copies(folder: Path, sources: Sources) -> None:
    """Write copies of source files, without credentials, into a run folder."""
    for name, content in sources.items() if len(sources) <= _MOST_COPIES else ():
        text = _hide_secrets(content)
        write_file(folder / SOURCE / name, text.encode("utf-8", "backslashreplace"))


def _hide_secrets(content: bytes) -> str:
    return without_secrets(content.decode("utf-8", "replace"))


# Changes in words


def find_changes(
    before: Manifest, after: Manifest, old_sources: Sources, new_sources: Sources
) -> list[Change]:
    """Return in what two runs differ, the code first; nothing where they are the same run."""
    old, new = (dict(flatten(manifest.identity.content)) for manifest in (before, after))
    paths = [path for path in {**old, **new} if old.get(path) != new.get(path)]
    changes = [*_code_changes(before.code, after.code, old_sources, new_sources)]
    if not changes:
        changes += [
            _untold_code(path, new)
            for path in paths
            if path.endswith(".code") and ".config." not in path
        ]
    changes += _data_changes(before, after)
    replaced = [path.removesuffix("class") for path in paths if path.endswith(".class")]
    for path in paths:
        is_part = path.startswith(tuple(replaced)) and not path.endswith(".class")
        if not is_part and not path.startswith("metrics: ") and path not in _FINGERPRINTS:
            changes += _entry_change(path, old.get(path), new.get(path))
    if "top_k" not in paths:  # else the signatures of metrics follow it
        changes += _metric_changes(before, after, paths)
    if paths and not changes:
        changes.append(Change(f"{list_first(paths, _LISTED)} changed"))
    return list(dict.fromkeys(changes))


_FINGERPRINTS = ("corpus_fingerprint", "queries_fingerprint")


def _code_changes(
    before: Mapping[str, str], after: Mapping[str, str], old: Sources, new: Sources
) -> Iterator[Change]:
    for name in {**before, **after}:
        if name not in before:
            yield Change(f"{name} is new in the code")
        elif name not in after:
            yield Change(f"{name} is no longer in the code")
        elif before[name] != after[name]:
            is_there = name in old and name in new
            detail = _changed_lines(*map(_hide_secrets, (old[name], new[name]))) if is_there else ""
            yield Change(f"the code of {name} changed", detail)


def _changed_lines(before: str, after: str) -> str:
    """Return the lines of the new text that are others, as ``lines 3, 14-16``."""
    matcher = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    ranges = [
        (start + 1, max(start + 1, end))
        for kind, _, _, start, end in matcher.get_opcodes()
        if kind != "equal"
    ]
    if not ranges:
        return "in a credential, or in white space at the ends of lines"
    texts = [f"{first}" if first == last else f"{first}-{last}" for first, last in ranges]
    is_one = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
    return f"line{'' if is_one else 's'} {list_first(texts, _LISTED)}"


def _untold_code(path: str, identity: Mapping[str, Any]) -> Change:
    name = identity.get(path.replace(".code", ".class"), _name_plugin(path))
    return Change(f"the code of {name} changed")


def _data_changes(before: Manifest, after: Manifest) -> Iterator[Change]:
    was_named = set()
    for name in ("limit", "distractors", "about"):
        old, new = getattr(before.asked, name), getattr(after.asked, name)
        if old != new:
            was_named.add(name)
            yield Change(f"{name} changed", f"{_value_text(old)} → {_value_text(new)}")
    tables, queries = (
        getattr(before.identity, n) != getattr(after.identity, n) for n in _FINGERPRINTS
    )
    if tables and "distractors" not in was_named:
        yield from _count_change(before.corpus_tables, after.corpus_tables, "table")
        yield from _file_changes(before, after) or [Change("the tables changed")]
    if queries and not was_named & {"limit", "about"}:
        yield from _count_change(before.queries, after.queries, "question")
        yield from _file_changes(before, after) or [Change("the questions or their gold changed")]
    corpora = before.asked.corpus, after.asked.corpus
    if (tables or queries) and corpora[0] != corpora[1]:
        detail = " → ".join(_value_text(corpus) for corpus in corpora)
        yield Change("the corpus is asked for in another way", detail)


def _count_change(before: int | None, after: int | None, noun: str) -> Iterator[Change]:
    if before is not None and after is not None and before != after:
        n = count_noun(abs(after - before), noun)
        verb = "were" if abs(after - before) > 1 else "was"
        how = "added" if after > before else "removed"
        yield Change(f"{n} {verb} {how}", f"{before:,} → {after:,}")


def _file_changes(before: Manifest, after: Manifest) -> list[Change]:
    old, new = before.files, after.files
    by_verb = {
        "changed": [name for name in new if name in old and old[name] != new[name]],
        "was added": [name for name in new if name not in old],
        "was removed": [name for name in old if name not in new],
    }
    changes = []
    for verb, names in by_verb.items():
        if len(names) > 1:
            verb = verb.replace("was", "were")
        if names:
            noun = "the data file" if len(names) == 1 else "the data files"
            changes.append(Change(f"{noun} {list_first(names, _LISTED)} {verb}"))
    return changes


def _metric_changes(before: Manifest, after: Manifest, paths: Iterable[str]) -> Iterator[Change]:
    signatures = [path.removeprefix("metrics: ") for path in paths if path.startswith("metrics: ")]
    names = [signature.partition("|")[0] for signature in signatures]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            yield Change(f"metric {name} is computed in another way")
        else:
            yield Change(f"metric {name} is in one of them alone")
    old, new = ((r.asked.options or {}).get("metrics") or [] for r in (before, after))
    for text in sorted({*old} ^ {*new}):
        yield Change(f"metric {text} is in one of them alone")


_OTHER_WORDS = {"top_k": "top-k", "depth": "the number of retrieved tables"}


def _entry_change(path: str, old: Any, new: Any) -> list[Change]:
    """Return the change of one entry of the identity; nothing for what is told elsewhere."""
    plugin, name = _name_plugin(path), path.rpartition(".")[2]
    detail = f"{_value_text(old)} → {_value_text(new)}"
    if ".config." in path:  # first: a setting may have the name of an entry
        return [Change(f"{path.partition('.config.')[2]} of {plugin} changed", detail)]
    if name == "code":
        return []
    if name == "unique":
        return [Change(f"{plugin} cannot be identified, so no run of it is used again")]
    if name == "version":
        return [Change(f"the version of {plugin} changed", detail)]
    if ".files." in path:
        return [Change(f"the file that {path.partition('.files.')[2]} of {plugin} names changed")]
    if path.endswith("prompt.prompt"):
        return [Change("the prompt changed")]
    if name == "class":
        return [Change(f"{plugin} changed", detail)]
    if path.startswith("prompt."):
        return [Change(f"{name} of the prompt changed", detail)]
    return [Change(f"{_OTHER_WORDS.get(name, name.replace('_', ' '))} changed", detail)]


def _name_plugin(path: str) -> str:
    """Return ``the retriever`` of ``retrieval.retriever.config.k1``; parts by their names."""
    words = path.removeprefix("retrieval.").split(".")
    names = [words[i + 1] for i, word in enumerate(words[:-1]) if word == "parts"]
    return " of ".join([*(f"the {name}" for name in reversed(names)), f"the {words[0]}"])


def _value_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return " + ".join(map(str, value)) or "none"
    return "none" if value is None else str(value).removeprefix("[").removesuffix("]")


# Why a run is new


def explain_new(run: Run, manifest: Manifest, sources: Sources) -> str:
    """Say why the newest run of the same plug-ins and data is not used again; "" without one.

    ``manifest`` is that of the new run with its metrics, which are recorded with the scores.
    """
    earlier = [other for other in _find_alike(run) if other.run.manifest.started]
    if not earlier:
        return ""
    newest = max(earlier, key=lambda other: _read_time(other).timestamp())
    changes = find_changes(newest.run.manifest, manifest, read_copies(newest), sources)
    if not changes:
        return ""
    started = _read_time(newest)
    is_today = started.date() == datetime.now(started.tzinfo).date()
    since = started.strftime("%H:%M" if is_today else "%Y-%m-%d %H:%M")
    first, *others = changes
    detail = f" ({first.detail})" if first.detail else ""
    more = f"; {list_first([change.what for change in others], _LISTED)}" if others else ""
    return f"new run: {first.what} since {since}{detail}{more}"


def _read_time(run: Result) -> datetime:
    return datetime.fromisoformat(str(run.run.manifest.started))


def _find_alike(run: Run) -> Iterator[Result]:
    """Yield the other runs of the same task, corpus, split and labels."""
    command = run.manifest.asked
    words = run.folder.name.rpartition("-")[0]
    for folder in list_run_folders(run.folder.parent):
        if folder != run.folder and folder.name.rpartition("-")[0] == words:
            with suppress(StoreError):
                other = read_run(folder)
                same = (other.command.names, other.command.task, other.command.corpus)
                if same == (command.names, command.task, command.corpus):
                    yield other
