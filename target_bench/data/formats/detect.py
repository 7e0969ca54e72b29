"""A path -> the loader of the layout that is found there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import CorpusLoader, Release
from target_bench.data.formats.catalogs import Catalog
from target_bench.data.formats.database_files import Databases
from target_bench.data.formats.file_tables import DATABASES, find_suffix
from target_bench.data.formats.own_folder import TableFolder
from target_bench.data.formats.target_layout import TargetLayout


def split_settings(name: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the path of a corpus, and its settings, as in ``./tables:encoding=cp1252``."""
    path = Path(name).expanduser()
    if ":" not in path.name or path.exists():
        return path, {}
    spec = registry.parse("corpus", str(path))
    return Path(spec.target), dict(spec.settings)


def choose_loader(path: Path, settings: Mapping[str, Any] | None = None) -> CorpusLoader:
    """Return the loader of a folder or of a file."""
    if path.is_file() and path.suffix.lower() in DATABASES:
        return Databases(path, settings)
    if Catalog.is_in(path):
        return Catalog(path, settings)
    if not path.is_dir():
        raise _explain_file(path)
    is_beir = (path / "qrels").is_dir() and Release(path, "").find("corpus.jsonl")
    if is_beir or TargetLayout.is_in(path):
        for name in settings or {}:
            raise ConfigError(
                f"{path}: the setting {name} is for a folder with one file per table, and this is "
                "none"
            )
        beir = registry.resolve("corpus", "beir") if is_beir else None
        loader: CorpusLoader = beir(str(path)) if beir else TargetLayout(path)
        return loader
    for layout in (TableFolder, Databases):
        if layout.is_in(path):
            return layout(path, settings)
    if TableFolder.is_below(path):
        return TableFolder(path, settings)
    raise DataError(
        f"{path}: its layout is unknown. A folder holds one of\n"
        "  tables, *.csv (or .tsv, .parquet, .jsonl, .xlsx, .xls, .ods), in it or in tables/,\n"
        "  and, to measure, their questions in queries.csv or queries.jsonl;\n"
        "  corpus/<split>.parquet and queries/<split>.parquet (or .jsonl), as TARGET publishes,\n"
        "  or its hub repositories <name>-corpus/ and <name>-queries/ side by side;\n"
        "  corpus.jsonl, queries.jsonl and qrels/<split>.tsv, as BEIR does;\n"
        f"  databases (*{', *'.join(DATABASES)}) and queries.jsonl; the path of one works too;\n"
        "  manifest.json and catalog.json of dbt; the path of a CSV of information_schema.columns\n"
        "  works too."
    )


def _explain_file(path: Path) -> DataError:
    """Return the error of a path that is no folder, database or catalog."""
    if not path.is_file():
        return DataError(f"{path}: there is no such folder or database file")
    if not find_suffix(path.name):
        return DataError(
            f"{path}: expected a folder, or a database file ending in {', '.join(DATABASES)}"
        )
    folder = str(path.parent)  # as it is named on the command line, with a separator
    folder = folder if "/" in folder else f"./{folder}".removesuffix("/.")
    return DataError(f"{path}: a single file of tables; name its folder, {folder}")
