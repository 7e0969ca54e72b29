"""Where the data of corpora lie on the web, pinned: the authors' repositories, TARGET's copies.

The authors' files on GitHub are pinned by commit, and each file by its git blob id (a SHA-1 of its
size and content, as ``git ls-tree`` prints it), in ``pins/<corpus>.txt``: a line is blob id, size
(``-`` where it is not known) and path. They give the figures of the README.

TARGET's copies on the Hugging Face hub are pinned by commit where a commit is known, also in short;
else the branch ``main`` is taken as it is when it is first fetched. The hub states the hash of each
file of a commit. Text-to-SQL corpora are fetched database by database: their JSON files hold the
same rows once more (1.93 GB for BIRD) and are left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from urllib.parse import quote

MAIN = "main"

PINS = Path(__file__).with_name("pins")
"""The folder with the files of pins."""


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file on the web.

    Attributes:
        url: its address.
        path: where it lies in the folder of the corpus.
        size: in bytes, if known.
        git_blob: its git blob id, if known.
        sha256: its SHA-256, if known.
    """

    url: str
    path: str
    size: int | None = None
    git_blob: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class GitHubSource:
    """Files of a commit of a repository on GitHub.

    Attributes:
        repository: ``owner/name``.
        commit: the commit.
        splits: split -> patterns of the files that it needs.
    """

    repository: str
    commit: str
    splits: Mapping[str, tuple[str, ...]]

    def files(self, corpus: str, split: str, base: str) -> list[RemoteFile]:
        """Return the files of a split of a corpus; ``base`` is the address of raw files."""
        root = f"{base}/{self.repository}/{self.commit}"
        patterns = self.splits[split]
        found = []
        for line in (PINS / f"{corpus}.txt").read_text(encoding="utf-8").splitlines():
            blob, size, path = line.split(" ", 2)
            if any(fnmatchcase(path, pattern) for pattern in patterns):
                known = None if size == "-" else int(size)
                found.append(RemoteFile(f"{root}/{quote(path)}", path, known, blob))
        return found


@dataclass(frozen=True, slots=True)
class HubPart:
    """Files of a data set on the Hugging Face hub.

    Attributes:
        repository: ``owner/name``.
        pattern: the files that are needed.
        revision: a commit, perhaps abbreviated, or ``main``.
    """

    repository: str
    pattern: str
    revision: str = MAIN

    @property
    def short(self) -> str:
        """The name of the repository without its owner: the folder that its files lie in."""
        return self.repository.rpartition("/")[2]

    def needs(self, path: str) -> bool:
        """Return whether a file of the repository is needed."""
        return fnmatchcase(path, self.pattern) and not path.startswith((".", "README"))


@dataclass(frozen=True, slots=True)
class HubSource:
    """Data sets on the Hugging Face hub.

    Attributes:
        splits: split -> what it needs.
    """

    splits: Mapping[str, tuple[HubPart, ...]]


def _databases(
    corpus: str, split: str, tables: str = MAIN, queries: str = MAIN
) -> tuple[HubPart, ...]:
    name = f"target-benchmark/{corpus}"
    return (
        HubPart(f"{name}-corpus-{split}", f"{split}_database/*/*.sqlite", tables),
        HubPart(f"{name}-queries-{split}", f"{corpus}-queries-{split}.json", queries),
    )


SOURCES: Mapping[str, GitHubSource | HubSource] = {
    "fetaqa": GitHubSource(
        "Yale-LILY/FeTaQA",
        "bbc441be807212d736c8c35a18146b530dde11d0",
        {
            "test": ("data/fetaQA-v1_test.jsonl",),
            "validation": ("data/fetaQA-v1_dev.jsonl",),
            "train": ("data/fetaQA-v1_train.jsonl",),
        },
    ),
    "ottqa": GitHubSource(
        "wenhuchen/OTT-QA",
        "b289bcca691db21a5259c3420e6b9819a9be9ba3",
        {
            "validation": (
                "released_data/dev.json",
                "released_data/train_dev_test_table_ids.json",
                "data/traindev_tables_tok/*",
            )
        },
    ),
    "tabfact": GitHubSource(
        "wenhuchen/Table-Fact-Checking",
        "2ab782ba42b5808076ac91fec846473aa5315a79",
        {"test": ("tokenized_data/test_examples.json", "data/all_csv/*")},
    ),
    "spider": HubSource(
        {
            "validation": _databases(
                "spider", "validation", queries="b0a9545f2f6cca84a3af9015fb60c80813eeee1b"
            ),
            "train": _databases(
                "spider", "train", "c34f052df7fee92ee827cc9ca3b78ccc459199c2", "381842a"
            ),
            "test": _databases("spider", "test", "0a79688", "5b68726"),
        }
    ),
    "bird": HubSource(
        {"validation": _databases("bird", "validation", "f9ff528e4bec050982f3112d7857d6ea0c27846a")}
    ),
    "infiagentda": HubSource(
        {
            "test": (
                HubPart("target-benchmark/infiagentda-corpus", "*"),
                HubPart("target-benchmark/infiagentda-queries", "*"),
            )
        }
    ),
    "gittables": HubSource(
        {
            "train": (
                HubPart(
                    "target-benchmark/gittables-corpus",
                    "corpus_train.parquet",
                    "401ebb35a14b2d6aa1135bce5d81d55e1f3cbf51",
                ),
            )
        }
    ),
}
"""Corpus -> where it is fetched from."""
