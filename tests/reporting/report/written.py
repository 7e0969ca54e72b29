"""Runs for reports, and what a written report holds, read as a browser does."""

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

from tests.builders import Recorder, only, rewrite
from tests.target import TARGET

_DATA = re.compile(r'<script type="text/plain" id="data">([A-Za-z0-9+/=]*)</script>')

HOSTILE = (
    "<script>document.title='owned'</script>",
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<a href=\"javascript:document.title='owned'\">link</a>",
    '"><svg onload=document.title="owned">',
    "<!-- <script> -->",
    "]]></style></title></textarea>",
    "{{ 7 * 7 }} {% raw %} ${document.title} <%= 1 %>",
    "\u2028\u2029 line separators",
    "\u202egnirts desrever\u202c and \u2066isolate",
    "zero\u200bwidth, a\u0301ccents, \U0001f600, \ufeff",
    "half \ud800 a pair",
)
"""Texts that try to be more than text."""


def ranked(out: Path, *retrievers: str, **asked: Any) -> list[Path]:
    """Folders of retrieval runs on mini."""
    target = TARGET(("retrieval", "mini"), out=out, observer=Recorder())
    return [only(target.run(name, **asked)).folder for name in retrievers]


def own_corpus(folder: Path, texts: tuple[str, ...] = HOSTILE) -> Path:
    """A corpus with these texts as titles, column names, cells, questions, answers and ids."""
    tables = folder / "tables"
    tables.mkdir(parents=True)
    titles, queries = [], []
    for i, text in enumerate(texts):
        whole = text.replace("\ud800", "")  # a run cannot record ids that are no UTF-8
        quoted = whole.replace('"', '""')
        (tables / f"t{i}.csv").write_text(
            f'name {i},"of {quoted}"\nrow {i},"{quoted}"\n', encoding="utf-8"
        )
        titles.append({"table_id": f"t{i}", "title": text})
        queries.append(
            {
                "query_id": f"q{i} {whole}",
                "query": f"row {i} {text}",
                "table_id": f"t{i}",
                "answer": text,
                "kind": whole[:20],
            }
        )
    for name, records in (("tables.jsonl", titles), ("queries.jsonl", queries)):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / name).write_text(lines, encoding="ascii")
    return folder


def hostile_runs(folder: Path) -> list[Path]:
    """Two runs of answers on ``own_corpus``, which say hostile things themselves."""
    corpus = own_corpus(folder / "own")
    predictions = folder / "predictions.jsonl"
    lines = (corpus / "queries.jsonl").read_text(encoding="ascii")
    queries = [json.loads(line) for line in lines.splitlines()]
    given = [{"query_id": q["query_id"], "text": q["answer"]} for q in queries[1:]]
    given.insert(0, {"query_id": queries[0]["query_id"], "error": HOSTILE[0]})
    lines = "".join(json.dumps(record) + "\n" for record in given)
    predictions.write_text(lines, encoding="ascii")
    target = TARGET(("qa", corpus), out=folder / "runs", observer=Recorder())
    folders = [
        only(target.run("bm25", generator=f"replay:file={predictions}")).folder,
        only(target.run("tfidf", generator="extractive")).folder,
    ]
    for path, label in zip(folders, HOSTILE[:2], strict=True):
        rename(path, label)
    return folders


def rename(folder: Path, label: str) -> None:
    """Have a run say that its generator was called so."""
    rewrite(folder / "manifest.json", lambda manifest: manifest["command"].update(generator=label))


def read_data(report: Path) -> Any:
    """Unpack the data of a report."""
    (packed,) = _DATA.findall(report.read_text(encoding="utf-8"))
    return json.loads(zlib.decompress(base64.b64decode(packed)))
