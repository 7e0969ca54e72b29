"""Where the data of corpora lie on the web, pinned: the authors' repositories, TARGET's copies.

The authors' files on GitHub are pinned by commit, and each file by its SHA-256 (or git blob id) in
``pins/<repository>.txt``: a line is hash, size in bytes (``-`` where it is not known) and path.
They give the figures of the README.

TARGET's copies on the Hugging Face hub are pinned by commit where a commit is known, also in short;
else the branch ``main`` is taken as it is when it is first fetched. The hub states the hash of each
file of a commit. Text-to-SQL corpora are fetched database by database: their JSON files hold the
same rows once more (1.93 GB for BIRD) and are left out.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

MAIN = "main"

PINS = Path(__file__).with_name("pins")
"""The folder with the files of pins."""


class GitHubFiles(NamedTuple):
    """Files of a repository on GitHub (``owner/name``) at a commit, by patterns of their paths."""

    repository: str
    commit: str
    patterns: tuple[str, ...]


class HubFiles(NamedTuple):
    """Files of a data set on the Hugging Face hub (``owner/name``), by a pattern of their paths.

    The revision is a commit, perhaps abbreviated, or ``main``.
    """

    repository: str
    pattern: str
    revision: str = MAIN


def _databases(
    corpus: str, split: str, tables: str = MAIN, queries: str = MAIN
) -> tuple[HubFiles, ...]:
    name = f"target-benchmark/{corpus}"
    return (
        HubFiles(f"{name}-corpus-{split}", f"{split}_database/*/*.sqlite", tables),
        HubFiles(f"{name}-queries-{split}", f"{corpus}-queries-{split}.json", queries),
    )


def _fetaqa(name: str) -> tuple[GitHubFiles]:
    commit = "bbc441be807212d736c8c35a18146b530dde11d0"
    return (GitHubFiles("Yale-LILY/FeTaQA", commit, (f"data/fetaQA-v1_{name}.jsonl",)),)


def _ottqa(*more: str) -> tuple[GitHubFiles]:
    files = ("released_data/train_dev_test_table_ids.json", "data/traindev_tables_tok/*", *more)
    return (GitHubFiles("wenhuchen/OTT-QA", "b289bcca691db21a5259c3420e6b9819a9be9ba3", files),)


SOURCES: Mapping[str, Mapping[str, tuple[GitHubFiles | HubFiles, ...]]] = {
    "fetaqa": {
        "test": _fetaqa("test"),
        "validation": _fetaqa("dev"),
        "train": _fetaqa("train"),
    },
    "ottqa": {"validation": _ottqa("released_data/dev.json")},
    "tabfact": {
        "test": (
            GitHubFiles(
                "wenhuchen/Table-Fact-Checking",
                "2ab782ba42b5808076ac91fec846473aa5315a79",
                ("tokenized_data/test_examples.json", "data/all_csv/*"),
            ),
        )
    },
    "spider": {
        "validation": _databases(
            "spider", "validation", queries="b0a9545f2f6cca84a3af9015fb60c80813eeee1b"
        ),
        "train": _databases(
            "spider", "train", "c34f052df7fee92ee827cc9ca3b78ccc459199c2", "381842a"
        ),
        "test": _databases("spider", "test", "0a79688", "5b68726"),
    },
    "bird": {
        "validation": _databases("bird", "validation", "f9ff528e4bec050982f3112d7857d6ea0c27846a")
    },
    "gittables": {
        "train": (
            HubFiles(
                "target-benchmark/gittables-corpus",
                "corpus_train.parquet",
                "401ebb35a14b2d6aa1135bce5d81d55e1f3cbf51",
            ),
        )
    },
}
"""Corpus -> split -> where its files are fetched from."""
