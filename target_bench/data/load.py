"""``load``: one split of a corpus, with tables of others mixed in."""

from collections.abc import Sequence
from pathlib import Path

from target_bench.core.errors import ConfigError
from target_bench.core.observer import Observer
from target_bench.core.schema import Dataset
from target_bench.data.distractors import mixed
from target_bench.data.read_split import folder_of, loader, read, split_of


def load(
    corpus: str | Path | Dataset,
    split: str | None = None,
    distractors: Sequence[str] = (),
    *,
    data_dir: str | Path | None = None,
    observer: Observer | None = None,
) -> Dataset:
    """Load one split of a corpus; data that are pinned and nowhere here are fetched.

    Args:
        corpus: what ``loader`` takes, or a dataset that distractors are mixed into.
        split: ``train``, ``validation`` or ``test`` (``dev`` and ``val`` mean validation);
            default: the corpus's own, the one its paper reports on.
        distractors: tables of other corpora, splits or folders to mix in, each written as
            ``ottqa:split=train,n=1000,seed=7``.
        data_dir: the folder with the release files, or one that holds it under the corpus's name;
            default: ``$TARGET_BENCH_DATA/<name>``, else what was fetched, now or earlier.
        observer: is shown the progress of a download.

    Raises:
        ConfigError: an unknown corpus or split, or distractors are invalid.
        DataError: files are missing or broken, or cannot be fetched.
    """
    if isinstance(corpus, Dataset):
        if split not in (None, corpus.split):
            raise ConfigError(
                f"split={split!r}, but the dataset {corpus.info.name} given is its split "
                f"{corpus.split}"
            )
        dataset = corpus
    else:
        plugin = loader(corpus)
        split = split_of(plugin, split)
        dataset = read(plugin, folder_of(plugin, data_dir, split, observer=observer), split)
    if not distractors:
        return dataset
    if isinstance(distractors, str | Path):
        raise ConfigError(f"distractors={str(distractors)!r}: expected a list of texts")
    return mixed(dataset, distractors, data_dir, observer)
