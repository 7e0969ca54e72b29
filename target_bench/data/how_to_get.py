"""What to do where the data of a corpus are not here."""

from target_bench.core.errors import DataError
from target_bench.core.release import CorpusLoader

ENVIRONMENT = "TARGET_BENCH_DATA"
"""The variable that names the folder with one sub-folder per corpus."""


def data_missing(plugin: CorpusLoader, what: str, split: str | None = None) -> DataError:
    """Return the error that says what is missing, where to get it, and where to put it."""
    from target_bench.data import download

    info = plugin.info
    folder = plugin.folder or info.name
    lines = [
        what,
        f"Download {info.title} from {info.source} (licence: {info.licence}) and put these files",
        f"into a folder {folder}/ (as they are, or as .gz or .zip):",
        *(f"  {name}" for name in info.files),
        f"Then set {ENVIRONMENT} to the folder that holds {folder}/,",
        f"or pass --data-dir with the path of {folder}/ itself.",
    ]
    fetched = download.splits_of(info.name)
    if split in fetched:
        lines.append(f"It would be fetched by itself, but --offline or {download.OFFLINE} is set.")
    elif fetched:
        lines.append(f"Fetched by themselves are the splits {', '.join(fetched)}.")
    return DataError("\n".join(lines))
