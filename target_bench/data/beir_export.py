"""A data set in BEIR's layout, as MTEB loads retrieval tasks."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from target_bench.core.built_in import RANKING_TASK
from target_bench.core.errors import StoreError
from target_bench.core.files import atomic_write
from target_bench.core.schema import NO_DATABASE, Dataset, TableId
from target_bench.data.load import of_task
from target_bench.data.table_text import Serializer
from target_bench.metrics.retrieval import grades_of

_README = """\
---
configs:
- config_name: corpus
  description: {revision}
  data_files: corpus.jsonl
- config_name: queries
  description: {revision}
  data_files: queries.jsonl
- config_name: qrels
  description: {revision}
  data_files:
  - split: {split}
    path: qrels/{split}.jsonl
---

{title} ({split}): {tables} tables as Markdown, {queries} queries, in BEIR's layout.
Source: {source}. Licence: {licence}. {citation}
"""

_TASK = '''\
"""A retrieval task of MTEB: ``mteb.evaluate(model, [{name}()])``."""

from pathlib import Path

from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb.abstasks.task_metadata import TaskMetadata


class {name}(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="{name}",
        description={description!r},
        reference={reference!r},
        dataset={{"path": str(Path(__file__).parent), "revision": {revision!r}}},
        type="Retrieval",
        category="t2t",
        modalities=["text"],
        eval_splits=[{split!r}],
        eval_langs=[{language!r}],
        main_score="ndcg_at_10",
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )
'''


def export(dataset: Dataset, out: Path, language: str = "eng-Latn") -> list[Path]:
    """Write a data set as BEIR and MTEB read it, and return the paths.

    ``corpus.jsonl`` (``_id``, ``title``, ``text``: the table as Markdown), ``queries.jsonl``,
    ``qrels/SPLIT.tsv`` and ``.jsonl`` with the grades of gold tables (1 where they have none; MTEB
    takes whole numbers), ``README.md`` with the parts as ``datasets`` reads them, and
    ``mteb_task.py`` with the task as a class. A table in a database is called ``database__table``,
    and has its first 1,000 rows. Queries
    without a gold table, or about something else than finding it, are left out.

    Args:
        dataset: tables and queries.
        out: the folder; made if it is not there.
        language: of the queries, as MTEB writes it.

    Raises:
        StoreError: a file cannot be written.
    """
    info, split = dataset.info, dataset.split
    queries = [query for query in of_task(dataset, RANKING_TASK).queries if query.gold]
    text = Serializer(("header", "rows"), "markdown", "auto")
    tables = (
        {
            "_id": _name(table.id),
            "title": " / ".join(
                part for part in map(table.context.get, ("title", "section_title")) if part
            ),
            "text": text(table),
        }
        for table in dataset.corpus
    )
    texts = [{"_id": query.id, "text": query.text} for query in queries]
    judged = [
        {
            "query-id": query.id,
            "corpus-id": _name(table),
            "score": int(grade) if grade == int(grade) else grade,
        }
        for query in queries
        for table, grade in grades_of(query).items()
    ]
    # ``datasets`` takes what it has cached of a folder of this name, unless the README differs.
    revision = hashlib.sha256(json.dumps([dataset.corpus.fingerprint, texts, judged]).encode())
    facts = {
        "title": info.title,
        "name": "".join(["Tables", *map(str.capitalize, re.findall("[A-Za-z0-9]+", info.name))]),
        "split": split,
        "source": info.source,
        "reference": info.source if info.source.startswith("http") else None,
        "licence": info.licence,
        "citation": info.citation,
        "language": language,
        "tables": len(dataset.corpus),
        "queries": len(queries),
        "revision": f"sha256-{revision.hexdigest()[:16]}",
        "description": f"Which table answers a query: {info.title}, {split}.",
    }
    as_beir = ("\t".join(map(str, judgement.values())) + "\n" for judgement in judged)
    files = {
        "corpus.jsonl": _lines(tables),
        "queries.jsonl": _lines(texts),
        f"qrels/{split}.tsv": ["query-id\tcorpus-id\tscore\n", *as_beir],
        f"qrels/{split}.jsonl": _lines(judged),  # ``datasets`` takes one format for all parts
        "README.md": [_README.format(**facts)],
        "mteb_task.py": [_TASK.format(**facts)],
    }
    try:
        for name, lines in files.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            atomic_write(out / name, (line.encode("utf-8", "surrogatepass") for line in lines))
    except OSError as error:
        raise StoreError(f"{out}: cannot be written ({error}); name another folder") from error
    return [out / name for name in files]


def _name(table: TableId) -> str:
    in_database = table.database_id != NO_DATABASE
    return f"{table.database_id}__{table.table_id}" if in_database else table.table_id


def _lines(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    return (json.dumps(record, ensure_ascii=False) + "\n" for record in records)
