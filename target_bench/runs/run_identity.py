"""What a run depends on: its identity, which names it, and its environment, which is recorded.

The identity is all that can change the result, fingerprints of the queries among it; timings, and
perhaps results, depend on the environment besides.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.registry import installed_version
from target_bench.core.schema import Query

EVERY_FIELD = 2
"""The version of the fingerprint of runs about answers, in ``queries_version`` of their identity.

Version 1, which no identity names, left out the database and the metadata of a query.
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """All that can change the result of a run.

    Attributes:
        content: the JSON object whose hash names the run folder; it is written as it was read.
    """

    content: Mapping[str, Any]

    @property
    def key(self) -> str:
        """The hash at the end of the folder's name."""
        return run_key(self.content)

    @property
    def task(self) -> str:
        """Short name of the task."""
        return str(self.content["task"])

    @property
    def corpus(self) -> str:
        """Lower-case name of the corpus."""
        return str(self.content["corpus"])

    @property
    def split(self) -> str:
        """Full name of the split."""
        return str(self.content["split"])

    @property
    def corpus_fingerprint(self) -> str:
        """Hash of all tables."""
        return str(self.content["corpus_fingerprint"])

    @property
    def queries_fingerprint(self) -> str:
        """Hash of what the run reads of its queries."""
        return str(self.content["queries_fingerprint"])

    @property
    def top_k(self) -> tuple[int, ...]:
        """The cutoffs of rankings, ascending; empty for a run of answers."""
        return tuple(self.content.get("top_k", ()))

    @property
    def has_answers(self) -> bool:
        """Whether the run is one of answers, built on the rankings of another run."""
        return "generator" in self.content

    @property
    def retriever(self) -> Mapping[str, Any]:
        """The identity of what ranked, also for a run of answers."""
        found: Mapping[str, Any] = self.content.get(RANKING_TASK, self.content).get("retriever", {})
        return found

    @property
    def generator(self) -> Mapping[str, Any] | None:
        """The identity of what answered; None for rankings."""
        return self.content.get("generator")

    @property
    def prompt(self) -> Mapping[str, Any] | None:
        """The identity of the prompt; None where it is not recorded."""
        return self.content.get("prompt")

    @property
    def prompt_tables(self) -> int | None:
        """How many tables a prompt holds, where fewer than were retrieved."""
        tables = self.content.get(RANKING_TASK) or self.content.get("given") or {}
        found: int | None = tables.get("tables")
        return found

    @property
    def metrics(self) -> tuple[str, ...]:
        """The signatures of the metrics, and the settings of the task."""
        return tuple(self.content.get("metrics", ()))

    @property
    def is_earlier(self) -> bool:
        """Whether the fingerprint of the queries of answers leaves out fields, as in 0.1.0."""
        return is_earlier(self.content)


def run_key(identity: Mapping[str, Any]) -> str:
    """Return the hash that names a run: equal for equal identities, on every machine."""
    text = json.dumps(identity, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


_ID = re.compile(r".*-([0-9a-f]{12})")


def key_of(folder: Path) -> str | None:
    """Return the hash that a run folder's name ends with, or None."""
    found = _ID.fullmatch(folder.name)
    return found[1] if found else None


def queries_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of id, text and gold of every query, in any order: what rankings depend on.

    Their scores read the database of a query too, and their slices its metadata; both are computed
    again whenever a ranking is reused.
    """
    asked = sorted((query.id, query.text, tuple(sorted(query.gold))) for query in queries)
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def answers_fingerprint(queries: Sequence[Query]) -> str:
    """Return a hash of every field of every query, in any order: a prompt or metric may read it."""
    fields = sorted(
        (query.id, [query.text, sorted(query.gold), query.answer, query.database_id])
        for query in queries
    )
    metadata = sorted((query.id, _canonical(query.metadata)) for query in queries)
    return hashlib.sha256(json.dumps([EVERY_FIELD, fields, metadata]).encode()).hexdigest()


def is_earlier(identity: Mapping[str, Any]) -> bool:
    """Return whether a run has answers and its fingerprint leaves out fields of its queries."""
    return "generator" in identity and identity.get("queries_version") != EVERY_FIELD


def _canonical(value: Any) -> str:
    """Return a value of metadata as text, the same for equal lists and tuples, of numpy or not."""
    return json.dumps(_plain(value), sort_keys=True)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, AbstractSet):
        return sorted(map(_canonical, value))
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    as_python = getattr(value, "tolist", None)  # numpy's arrays and scalars
    if callable(as_python):
        return _plain(as_python())
    if isinstance(value, Sequence):
        return [_plain(inner) for inner in value]
    return [type(value).__name__, str(value)]


_RECORDED = (
    "target-bench",
    "numpy",
    "scipy",
    "scikit-learn",
    "bm25s",
    "PyStemmer",
    "ir-measures",
    "pytrec-eval-terrier",
    "pyarrow",
    "duckdb",
    "sqlglot",
    "sacrebleu",
    "rouge-score",
    "torch",
    "transformers",
    "sentence-transformers",
    "faiss-cpu",
    "faiss-gpu-cu12",
    "hnswlib",
    "openai",
)

_THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
)

_GIT_SECONDS = 2.0


def environment() -> dict[str, Any]:
    """Return interpreter, platform, host, processors, device, threads, packages, user's commit.

    ``packages`` holds those of ours that are installed, ``git`` the commit of the working folder
    and whether tracked files differ from it (None outside of a repository).
    """
    versions = {name: installed_version(name) for name in _RECORDED}
    return {
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "machine": platform.machine(),
        "host": platform.node(),
        "processors": os.cpu_count(),
        "usable_processors": _usable(),
        "devices": _devices(),
        "threads": {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ},
        "packages": {name: found for name, found in versions.items() if found is not None},
        "git": _git(),
    }


def _usable() -> int | None:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _devices() -> list[str]:
    """Return the accelerators' names, from torch where it is imported, else from the driver."""
    torch = sys.modules.get("torch")
    if torch is not None:
        with suppress(Exception):  # a driver that does not fit raises anything
            if torch.cuda.is_available():
                names = range(torch.cuda.device_count())
                return [str(torch.cuda.get_device_name(i)) for i in names]
    found = []
    for path in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information")):
        with suppress(OSError):
            model = re.search(r"^Model:\s*(.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
            found += [model[1].strip()] if model else []
    return found


def _git() -> dict[str, Any] | None:
    """Return the commit of the working folder, and whether tracked files were changed since."""
    commit = _asked_git("rev-parse", "HEAD")
    if commit is None:
        return None
    changed = _asked_git("status", "--porcelain", "--untracked-files=no")
    return {"commit": commit, "dirty": None if changed is None else bool(changed)}


def _asked_git(*arguments: str) -> str | None:
    """Return the output of git; None without git, outside a repository, or after a time limit."""
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "--no-optional-locks", *arguments]
    try:
        done = subprocess.run(  # noqa: S603 (a program and arguments of ours)
            command, capture_output=True, text=True, timeout=_GIT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
