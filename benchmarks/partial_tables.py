"""The protocol of QGpT and CGPT: their partial tables and questions, as a folder of tables.

    git clone https://github.com/cc3374twa/QGpT
    python -m benchmarks.partial_tables QGpT ottqa -o partial/ottqa
    target-bench run partial/ottqa --retriever bm25 --retriever rows --retriever best --top-k 1,10

``fetaqa`` and ``e2e-wtq`` are the other two corpora whose figures both papers print. Tables are the
first rows of those of the data sets. Those of OTT-QA have a title, the name of their file; the
others are named by numbers and paths, which say nothing and are left out.
"""

import argparse
import csv
import json
import re
from pathlib import Path
from typing import Any

TABLES = "Corpora/Table5_Single_Table_Retrieval/pT"
QUESTIONS = "evaluation/test_datasets"
CORPORA = {
    "ottqa": ("OTTQA_pT.json", "OTTQA_test.json"),
    "fetaqa": ("FetaQA_pT.json", "FetaQA_test.json"),
    "e2e-wtq": ("E2EWTQ_pT.json", "E2E-WTQ_test.json"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path, help="of github.com/cc3374twa/QGpT")
    parser.add_argument("corpus", choices=CORPORA)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    tables, questions = CORPORA[options.corpus]
    n_tables, n_questions = write_folder(
        json.loads((options.checkout / TABLES / tables).read_text(encoding="utf-8")),
        json.loads((options.checkout / QUESTIONS / questions).read_text(encoding="utf-8")),
        options.output,
        titles=options.corpus == "ottqa",
    )
    print(f"{options.output}: {n_tables:,} tables, {n_questions:,} questions")


def write_folder(
    tables: list[dict[str, Any]], questions: list[dict[str, Any]], folder: Path, titles: bool
) -> tuple[int, int]:
    """Write tables as CSV with their titles, and questions with their gold tables."""
    (folder / "tables").mkdir(parents=True)
    contexts = []
    for table in tables:
        name = _file_name(table["FileName"])
        with (folder / "tables" / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows(read_rows(table["Text"]))
        # 1979_Detroit_Lions_season_0 is the first table of that page
        title = re.sub(r"_\d+$", "", table["SheetName"]).replace("_", " ") if titles else ""
        contexts.append({"table_id": name, "title": title})
    records = [
        {"query_id": str(n), "query": q["query"], "table_id": [*map(_file_name, q["Answer_table"])]}
        for n, q in enumerate(questions)
    ]
    for file_name, lines in (("tables.jsonl", contexts), ("queries.jsonl", records)):
        text = "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines)
        (folder / file_name).write_text(text, encoding="utf-8")
    return len(tables), len(questions)


def read_rows(text: str) -> list[list[str]]:
    """Read a pipe table, whose cells may have line breaks, without its line of dashes."""
    body = text.partition("Table:\n")[2] or text
    lines = re.split(r"\|\s*\n\s*\|", body.strip().strip("|"))
    rows = [[" ".join(cell.split()) for cell in line.split("|")] for line in lines]
    return [rows[0], *(row for row in rows[1:] if not all(re.fullmatch("-+", c) for c in row))]


def _file_name(name: str) -> str:
    return name.removesuffix(".csv").replace("/", "-")


if __name__ == "__main__":
    main()
