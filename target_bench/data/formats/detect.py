"""A path -> the loader of the layout that is found there."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from target_bench.core import registry
from target_bench.core.errors import ConfigError, DataError
from target_bench.core.release import CorpusLoader, Release
from target_bench.data.formats.catalogs import Catalog
from target_bench.data.formats.database_files import SUFFIXES, Databases
from target_bench.data.formats.kinds import find_suffix
from target_bench.data.formats.own_folder import TableFolder
from target_bench.data.formats.target_layout import TargetDatabases, TargetLayout


def split_settings(name: str | Path) -> tuple[Path, dict[str, Any]]:
    """Return the path of a corpus, and the settings after it, as in ``./tables:encoding=cp1252``.

    Raises:
        ConfigError: the settings are not ``key=value`` pairs.
    """
    path = Path(name).expanduser()
    if ":" not in path.name or path.exists():
        return path, {}
    spec = registry.parse("corpus", str(path))
    return Path(spec.target), dict(spec.settings)


def choose_loader(path: Path, settings: Mapping[str, Any] | None = None) -> CorpusLoader:
    """Return the loader of a folder or of a database file.

    Raises:
        ConfigError: a setting is unknown or invalid, or the layout has none.
        DataError: there is nothing, or nothing in a known layout.
    """
    loader = _choose_class(path)
    if loader in (TableFolder, Databases, Catalog):
        return loader(path, settings=settings)
    for name in settings or {}:
        raise ConfigError(
            f"{path}: the setting {name} is for a folder with one file per table, and this is none"
        )
    return loader(path)


def _choose_class(path: Path) -> Callable[[Path], CorpusLoader]:
    if path.is_file() and path.suffix.lower() in SUFFIXES:
        return Databases
    if Catalog.is_in(path):
        return Catalog
    if path.is_file():
        advice = f"expected a folder, or a database file ending in {', '.join(SUFFIXES)}"
        if find_suffix(path.name):
            folder = str(path.parent)  # as it is named on the command line, with a separator
            folder = folder if "/" in folder else f"./{folder}".removesuffix("/.")
            advice = f"a single file of tables; name its folder, {folder}"
        raise DataError(f"{path}: {advice}")
    if not path.is_dir():
        raise DataError(f"{path}: there is no such folder or database file")
    if (path / "qrels").is_dir() and Release(path, "").find("corpus.jsonl"):
        beir: Callable[[str], CorpusLoader] = registry.resolve("corpus", "beir")
        return lambda folder: beir(str(folder))
    for layout in (TargetDatabases, TargetLayout, TableFolder, Databases):
        if layout.is_in(path):
            return layout
    if TableFolder.is_below(path):
        return TableFolder
    raise DataError(
        f"{path}: no layout that is known. A folder holds one of\n"
        "  tables, *.csv (or .tsv, .parquet, .jsonl, .xlsx, .xls, .ods), in it or in tables/,\n"
        "  and, to measure, their questions in queries.csv or queries.jsonl;\n"
        "  corpus/<split>.parquet and queries/<split>.parquet (or .jsonl), as TARGET publishes,\n"
        "  or its hub repositories <name>-corpus/ and <name>-queries/ side by side;\n"
        "  corpus.jsonl, queries.jsonl and qrels/<split>.tsv, as BEIR does;\n"
        f"  databases (*{', *'.join(SUFFIXES)}) and queries.jsonl; the path of one works too;\n"
        "  manifest.json and catalog.json of dbt; the path of a CSV of information_schema.columns\n"
        "  works too."
    )
