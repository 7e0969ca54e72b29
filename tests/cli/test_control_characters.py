"""What others wrote cannot steer a terminal: control characters are shown as escapes."""

import json
from pathlib import Path

import pytest

from tests.cli.inside import Inside

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\b\u202egnp\u2066\u2028"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\r\x08\u202egnp\u2066\u2028"

PLUGIN = f"""
import warnings

SAID = {HOSTILE!r}

class Loud:
    def __init__(self, where="retrieve"):
        self.where = where

    def embed_corpus(self, corpus):
        self.ids = [table.id for table in corpus]
        if self.where == "warn":
            warnings.warn(SAID)
        if self.where == "index":
            raise ValueError(SAID)

    def retrieve(self, query, top_k):
        if self.where == "retrieve":
            raise ValueError(SAID)
        return self.ids[:top_k]
"""


def _raw(text: str) -> set[str]:
    return set(text) & set(HOSTILE) - set("gnpowned;02J31m][")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("where", ["index", "retrieve", "warn"])
def test_words_of_a_plugin(inside: Inside, where: str, recwarn: pytest.WarningsRecorder) -> None:
    """In its errors, in the lines of ``--debug`` and in its warnings."""
    Path("loud.py").write_text(PLUGIN, encoding="utf-8")
    task = ("--task", "retrieval", "--limit", "3", "--debug")
    done = inside("run", "mini", *task, "--retriever", f"loud.py:Loud:where={where}")
    assert done.code == (0 if where == "warn" else 3)
    assert _raw(done.out + done.err) == set()
    shown = str(recwarn.pop(UserWarning).message) if where == "warn" else done.err
    assert SHOWN in shown
    assert _raw(shown) == set()


def test_names_headers_and_cells_of_tables(inside: Inside) -> None:
    Path("own").mkdir()
    table = f"town{HOSTILE},b\nOslo{HOSTILE},1\nRome,2\n".replace("\r", "").replace("\u2028", "")
    Path("own/rivers\x1b[2J.csv").write_text(table, encoding="utf-8")
    Path("own/bad\x1b]0;x\x07.csv").write_text("", encoding="utf-8")
    for command in (
        ("describe", "corpus", "./own"),
        ("describe", "corpus", "./own"),
        ("search", "./own", "Oslo"),
        ("run", "./own", "--retriever", "bm25"),
        ("search", f"./own{HOSTILE}", "Oslo"),
        ("run", "mini", "--retriever", f"bm25{HOSTILE}"),
    ):
        done = inside(*command)
        assert _raw(done.out + done.err) == set(), command
    ranking = json.loads(inside("search", "./own", "Oslo", "--json").out)
    assert ranking["bm25"][0]["table_id"] == "rivers\x1b[2J", "JSON keeps them"
