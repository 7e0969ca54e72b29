# SPDX-License-Identifier: Apache-2.0
"""Wikipedia tables of 2019, for distractors: the test corpus of Leventidis et al. 2024."""

from collections.abc import Iterable
from pathlib import PurePosixPath

from target_bench import CorpusInfo, CorpusLoader, Release, Table, TableId
from target_bench.plugin_tools import csv_grid, decode


class WikiTables2019(CorpusLoader):
    """Tables without titles and without questions; an id is the name of a file without suffix.

    The release writes a link as the name of its page, ``1958_French_legislative_election``: the
    underscores become spaces, so that its words can be found.
    """

    info = CorpusInfo(
        name="wikitables2019",
        title="Wikipedia tables of 2019",
        tasks=(),
        splits=("test",),
        licence="MIT (texts of Wikipedia: CC BY-SA)",
        citation="Leventidis et al., A Large Scale Test Corpus for Semantic Table Search, SIGIR "
        "2024",
        source="https://github.com/dkw-aau/SemanticTableSearchDataset",
        files=("tables_part_*.tar.gz of table_corpus/csv_tables_2019/, one or more of them",),
    )

    tables_alone = True

    def tables(self, release: Release, split: str) -> Iterable[Table]:  # noqa: ARG002 (the contract's argument)
        """Yield the tables of all archives, in the order of the archives' names."""
        archives = release.matching("tables_part_*.tar.gz")
        if not archives:
            release.require("tables_part_1.tar.gz")
        for path in archives:
            for name, content in release.members(path):
                yield _read_table(release, f"{path}, {name}", PurePosixPath(name).stem, content)


def _read_table(release: Release, place: str, name: str, content: bytes) -> Table:
    header, rows = csv_grid(release, place, decode(content, place).replace("_", " "))
    return Table(TableId("0", name), header, rows)
