"""Where the data of a corpus lie: named, beside others, fetched, or with its code."""

import inspect
import os
from pathlib import Path

from target_bench.core.errors import DataError
from target_bench.core.observer import Observer
from target_bench.core.release import CorpusLoader

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder per corpus."""


def folder_of(
    plugin: CorpusLoader,
    data_dir: str | Path | None = None,
    split: str | None = None,
    strict: bool = False,
    observer: Observer | None = None,
) -> Path:
    """Return the folder that holds the data of this corpus, fetched if it is nowhere here.

    A corpus that declares no files needs none: where there is no folder, it reads the one of its
    code. With ``strict``, ``data_dir`` counts only if it has a sub-folder of the corpus's name.
    """
    info = plugin.info
    name = plugin.folder or info.name
    split = split or info.splits[0]
    if plugin.embedded is not None:
        return plugin.embedded
    if data_dir is not None:
        folder = Path(data_dir)
        if not folder.is_dir():
            raise _explain_missing(plugin, f"--data-dir {folder}: there is no such folder", split)
        if (folder / name).is_dir():
            return folder / name
        if not strict:
            return folder
    root = os.environ.get(ENVIRONMENT)
    if root and not Path(root).is_dir():
        raise _explain_missing(plugin, f"${ENVIRONMENT}={root}: there is no such folder", split)
    if root and (Path(root) / name).is_dir():
        return Path(root) / name
    from target_bench.data import download

    downloaded = download.find_download(info, split)
    is_fetched = bool(info.sources(split)) and not download.is_offline()
    searched = [str(Path(each) / name) for each in (data_dir, root) if each]
    if searched and (downloaded or is_fetched):  # the user may mean files that lie elsewhere
        what = f"read from {downloaded}" if downloaded else "fetched"
        (observer or Observer()).warning(
            f"{info.name} is {what}: there is no folder {' or '.join(searched)} with the files of "
            f"{info.source}"
        )
    if downloaded:
        return downloaded
    if not (info.files or info.fetched_splits):
        return folder_of_code(plugin)
    if is_fetched:
        return download.fetch(info, [split], observer).folder
    where = f"${ENVIRONMENT}/{name}: {Path(root) / name} is not a folder" if root else ""
    raise _explain_missing(plugin, where or f"the data of corpus {name} is not here.", split)


def _explain_missing(plugin: CorpusLoader, what: str, split: str) -> DataError:
    """Return the error that says what is missing, where to get it, and where to put it."""
    from target_bench.data.download import OFFLINE

    info = plugin.info
    folder = plugin.folder or info.name
    patterns = [pattern for source in info.sources(split) for pattern in source.patterns]
    lines = [
        what,
        f"Download {info.title} from {info.source} (licence: {info.licence}) and put these files",
        f"into a folder {folder}/ (as they are, or as .gz or .zip):",
        *(f"  {name}" for name in info.files or patterns),
        f"Then set {ENVIRONMENT} to the folder that holds {folder}/,",
        f"or pass --data-dir with the path of {folder}/ itself.",
    ]
    if patterns:
        lines.append(f"It would be fetched by itself, but --offline or {OFFLINE} is set.")
    elif info.fetched_splits:
        lines.append(f"Fetched by themselves are the splits {', '.join(info.fetched_splits)}.")
    return DataError("\n".join(lines))


def folder_of_code(plugin: CorpusLoader) -> Path:
    """Return the folder that the code of a loader lies in."""
    return Path(inspect.getfile(type(plugin))).resolve().parent
