"""What is trained on: splits of corpora, without what will be scored."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset, Query
from target_bench.data import load as loading
from target_bench.models.training.held_out import KeptOut, contents_of


@dataclass(frozen=True, slots=True)
class Data:
    """What is trained on, and what is kept out of it.

    Args:
        corpora: names or paths.
        split: of each of them.
        validation_split: the epoch that ranks the gold tables of its questions best is kept;
            default: the last epoch is.
        keep_out: splits that will be scored, of the corpora, or as in ``ottqa:validation`` of
            another; default: each corpus's default split and its validation.
        shared_tables: train on tables that the kept-out splits ask about too. Their questions are
            kept out in any case.
        strict: refuse to train where questions have to be left out.
        limit: only the first questions of each split.
        data_dir: as for ``corpora.load``.
    """

    corpora: Sequence[str | Path]
    split: str = "train"
    validation_split: str | None = None
    keep_out: Sequence[str] | None = None
    shared_tables: bool = False
    strict: bool = False
    limit: int | None = None
    data_dir: str | Path | None = None


@dataclass(frozen=True, slots=True)
class Splits:
    """Loaded splits; a validation split holds what no kept-out split does.

    Attributes:
        train: one split per corpus.
        validation: one split per corpus, or none.
        kept_out: what stays out.
        left_out: a sentence for each split of which questions were left out.
    """

    train: tuple[Dataset, ...]
    validation: tuple[Dataset, ...]
    kept_out: KeptOut
    left_out: tuple[str, ...]


def load(data: Data, observer: Observer) -> Splits:
    """Load the splits and leave out what overlaps with those that are kept out.

    Raises:
        ConfigError: a corpus or split that there is not, one that is both trained on and scored,
            no question that is left, or any that overlaps in mode ``strict``.
        DataError: files are missing or broken.
    """
    if not data.corpora:
        raise ConfigError("name a corpus to train on, as in --corpus fetaqa")
    if data.limit is not None and data.limit < 1:
        raise ConfigError(f"limit={data.limit}: at least 1 is needed")
    scored, kept = kept_out_splits(data)
    for corpus in data.corpora:
        check_apart(corpus, data, scored)
    observer.stage("load the corpora")
    chosen = [(c, _full(c, data.validation_split)) for c in data.corpora if data.validation_split]
    apart = KeptOut.of([_load(c, s, data) for c, s in kept if (c, s) not in chosen])
    kept_out = KeptOut.of([_load(c, s, data) for c, s in dict.fromkeys([*kept, *chosen])])
    left_out: list[str] = []
    train = tuple(_kept(_load(c, data.split, data), data, kept_out, left_out) for c in data.corpora)
    validation = tuple(_kept(_load(c, s, data), data, apart, left_out) for c, s in chosen)
    for note in left_out:
        observer.warning(note)
    if left_out and data.strict:
        raise ConfigError(f"{'; '.join(left_out)}. Without --strict, training leaves them out")
    return Splits(train, validation, kept_out, tuple(left_out))


def kept_out_splits(
    data: Data,
) -> tuple[list[tuple[str | Path, str]], list[tuple[str | Path, str]]]:
    """Return the (corpus, split) pairs that will be scored, and all that stay out of training.

    Raises:
        ConfigError: a corpus or split that there is not.
    """
    if data.keep_out is not None:
        named = [place for text in data.keep_out for place in _named(text, data)]
        return named, named
    scored = [(corpus, loading.loader(corpus).info.splits[0]) for corpus in data.corpora]
    also = [
        (corpus, "validation")
        for corpus in data.corpora
        if "validation" in loading.loader(corpus).info.splits
        and _full(corpus, data.split) != "validation"
    ]
    return scored, list(dict.fromkeys([*scored, *also]))


def _named(text: str, data: Data) -> list[tuple[str | Path, str]]:
    corpus, _, split = text.rpartition(":")
    return [(c, _full(c, split)) for c in ([corpus] if corpus else data.corpora)]


def _full(corpus: str | Path, split: str) -> str:
    try:
        return loading.split_of(loading.loader(corpus), split)
    except ConfigError as error:
        raise ConfigError(
            f"{error} Name another one with --split, --validation-split or --keep-out."
        ) from error


def check_apart(corpus: str | Path, data: Data, scored: Sequence[tuple[str | Path, str]]) -> None:
    """Check that a corpus is neither trained on nor chosen by what will be scored.

    Raises:
        ConfigError: it is.
    """
    for option, split in (("--split", data.split), ("--validation-split", data.validation_split)):
        if split is not None and (corpus, _full(corpus, split)) in scored:
            raise ConfigError(
                f"{option} {split}: this split of {corpus} is kept out because it will be scored. "
                "Name another one, or say with --keep-out which will be scored"
            )
    if data.validation_split is not None and _full(corpus, data.validation_split) == _full(
        corpus, data.split
    ):
        raise ConfigError(f"--validation-split {data.validation_split}: it is what is trained on")


def _load(corpus: str | Path, split: str, data: Data) -> Dataset:
    return loading.load(corpus, split, data_dir=data.data_dir)


def _kept(dataset: Dataset, data: Data, out: KeptOut, left_out: list[str]) -> Dataset:
    """Return the split with the questions that may be trained on; report what is left out."""
    name, contents = dataset.info.name, contents_of(dataset)
    asked = dataset.queries[: data.limit]
    kept: list[Query] = []
    reasons: Counter[str] = Counter()
    for query in asked:
        golds = [contents[table] for table in query.gold]
        reason = out.overlap(name, query, golds, data.shared_tables)
        reason = "are empty" if not query.text.strip() else reason
        if reason is None:
            kept.append(query)
        else:
            reasons[reason] += 1
    if reasons:
        counts = ", ".join(f"{n:,} {reason}" for reason, n in reasons.most_common())
        left_out.append(
            f"{name} {dataset.split}: {reasons.total():,} of {len(asked):,} questions are left "
            f"out: {counts} (kept out: {', '.join(out.names)})"
        )
    if not kept:
        raise ConfigError(
            f"{name} {dataset.split}: no question is left. {''.join(left_out[-1:])}. "
            "Where all splits ask about the same tables, --shared-tables keeps their questions "
            "apart and no more"
        )
    return replace(dataset, queries=tuple(kept))
