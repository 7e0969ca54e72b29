"""Encoding a corpus in parts, before the cells that search it: a part is one picklable value."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from target_bench.core.errors import TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import Table
from target_bench.data.select import Loader
from target_bench.harness.stages import retrieve
from target_bench.harness.sweeps.sweep_cell import SweepCell

_TABLES_AT_ONCE = 1024


@dataclass(frozen=True, slots=True)
class CorpusPart:
    """The k-th of n parts of a corpus, to be encoded as a retriever would.

    Attributes:
        number: which part it is among all that are encoded, from 1.
        corpus: as for ``SweepCell``.
        split: as for ``SweepCell``.
        distractors: as for ``SweepCell``.
        data_dir: as for ``SweepCell``.
        retriever: whose vectors they are; it has ``encode_tables`` and records what it encodes.
        part: which part of the corpus it is, from 0.
        parts: how many there are.
        gpus: how many GPUs it needs.
        group: none; parts do not wait for each other.
    """

    number: int
    corpus: str
    split: str | None
    distractors: tuple[str, ...]
    data_dir: Path | None
    retriever: str
    part: int
    parts: int
    gpus: float = 0.0
    group: str = ""

    def __str__(self) -> str:
        data = " + ".join([" ".join(filter(None, (self.corpus, self.split))), *self.distractors])
        return f"encode {data} | {self.retriever} | part {self.part + 1} of {self.parts}"


def parts_of(cells: Sequence[SweepCell], n: int, observer: Observer) -> list[CorpusPart]:
    """List the corpora to encode for the cells, each in ``n`` parts.

    Retrievers without ``encode_tables``, or that do not record what they encode, are left out:
    nothing that is encoded for them ahead is found again.
    """
    wanted: dict[tuple[object, ...], SweepCell] = {}
    for cell in cells:
        options = cell.options
        key = (cell.corpus, options.split, options.distractors, cell.data_dir, cell.retriever)
        wanted.setdefault(key, cell)
    retrievers = dict.fromkeys(cell.retriever for cell in wanted.values() if cell.retriever)
    encoding = {retriever: _encodes(retriever, observer) for retriever in retrievers}
    first = [cell for cell in wanted.values() if encoding.get(cell.retriever or "")]
    return [
        CorpusPart(
            number=i * n + part + 1,
            corpus=cell.corpus,
            split=cell.options.split,
            distractors=cell.options.distractors,
            data_dir=cell.data_dir,
            retriever=cell.retriever or "",
            part=part,
            parts=n,
            gpus=cell.gpus,
        )
        for i, cell in enumerate(first)
        for part in range(n)
    ]


def encode_part(part: CorpusPart, observer: Observer) -> int:
    """Encode the tables of a part; their vectors are recorded in the embedding cache.

    Returns:
        how many tables it has.

    Raises:
        TargetBenchError: the corpus is missing or broken, or the encoder fails.
    """
    corpus = Loader(part.data_dir, observer).load(part.corpus, part.split, part.distractors)
    retriever = retrieve.retriever_spec(part.retriever, observer).retriever
    n = len(corpus.dataset.corpus)
    first, last = (n * k // part.parts for k in (part.part, part.part + 1))
    observer.stage(str(part), last - first)
    tables = islice(corpus.dataset.corpus, first, last)
    for some in _batches(tables):
        retriever.encode_tables(some)  # type: ignore[union-attr]  # see ``parts_of``
        observer.advance(len(some))
    return last - first


def _batches(values: Iterator[Table]) -> Iterator[list[Table]]:
    while some := list(islice(values, _TABLES_AT_ONCE)):
        yield some


def _encodes(name: str, observer: Observer) -> bool:
    try:
        retriever = retrieve.retriever_spec(name, observer).retriever
        records = getattr(retriever, "records", None)
        return hasattr(retriever, "encode_tables") and records is not None and bool(records())
    except TargetBenchError:  # its cells say why
        return False
