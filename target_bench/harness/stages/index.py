"""The index of a retriever, built or read from a folder."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from target_bench.core import cache_use
from target_bench.core.contract import RetrieverLike
from target_bench.core.files import exclusive_lock
from target_bench.core.observer import Observer
from target_bench.core.schema import Corpus
from target_bench.runs.manifest import run_key


@dataclass(slots=True)
class HeldIndex:
    """The last index that was built: the next cell need not build the same one again.

    Attributes:
        retriever: what holds it, or None.
        corpus: the tables in it.
        n_bytes: how large it is, as ``size_of`` says.
    """

    retriever: RetrieverLike | None = None
    corpus: Corpus | None = None
    n_bytes: int | None = None


def read_or_build(
    retriever: RetrieverLike, corpus: Corpus, saved: Path, observer: Observer
) -> None:
    """Read the index of a retriever from a folder; where it is not there, build and write it.

    Args:
        retriever: the retriever.
        corpus: the tables.
        saved: the folder of its index.
        observer: gets the message that another process builds it.
    """
    from target_bench.core.index_store import check_savable, load_index, save_index

    if not saved.exists():
        check_savable(retriever, corpus)
        with _alone(saved, observer):
            if not saved.exists():
                retriever.embed_corpus(corpus.handed_out())
                save_index(retriever, corpus, saved)
                return
    cache_use.note("saved index")
    load_index(retriever, corpus, saved)


def size_of(retriever: RetrieverLike, saved: Path | None) -> int | None:
    """Return the bytes that a retriever saves of its index, in a temporary folder if in none.

    Args:
        retriever: holds the index.
        saved: the folder of its index, or None.

    Returns:
        The size; None where the retriever cannot save its index (or cannot here: no room).
    """
    from target_bench.core.index_store import bytes_in, can_save, saved_bytes

    if saved is not None and saved.exists():
        return saved_bytes(saved)
    if not can_save(retriever):
        return None
    # A run that saves no index does not fail where a retriever of somebody's own cannot.
    # It takes 1 to 2% of a run of bm25 on OTT-QA, and less of one with cached vectors.
    with suppress(Exception), TemporaryDirectory(prefix="target-bench-") as folder:
        retriever.save(Path(folder))  # type: ignore[attr-defined]  # can_save has looked
        return bytes_in(Path(folder))
    return None


@contextmanager
def _alone(saved: Path, observer: Observer) -> Iterator[None]:
    """Wait for another process that builds the same index. Where nothing can be written, do not."""
    path = saved.with_name(f".{saved.name}.lock")

    def waits(_: object) -> None:
        observer.waiting(f"another process builds the index {saved.name}", 0.0)

    with ExitStack() as stack:
        try:
            stack.enter_context(exclusive_lock(path, waits))
        except OSError:
            yield
            return
        try:
            yield
        finally:
            if saved.exists():  # who comes now finds the index; else the next one builds it
                with suppress(OSError):
                    path.unlink()


def folder(root: Path, label: Iterable[str], identity: Mapping[str, Any], fingerprint: str) -> Path:
    """Return the folder of the index of a retriever over a corpus."""
    words = [re.sub(r"[^a-z0-9.]+", "-", word.lower()).strip("-")[:40] for word in label]
    key = run_key({"retriever": dict(identity), "corpus_fingerprint": fingerprint})
    earlier = sorted(root.glob(f"*-{key}"))  # the same index, perhaps of a run spelled otherwise
    return earlier[0] if earlier else root / "-".join([*words, key])
