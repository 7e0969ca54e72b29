"""The leaderboard: baselines run, packed and verified, systems of others scored, and README.md.

    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.regenerate              # everything
    TARGET_BENCH_DATA=... python -m benchmarks.leaderboard.regenerate --only bm25 best
    python -m benchmarks.leaderboard.regenerate --tables                           # README.md alone

Each baseline is run on OTT-QA, FeTaQA, TabFact, Spider and BIRD, packed with its card
(``cards/``) as ``NAME.tbs.zip``, and verified against all the others, which writes
``NAME.entry.json``. The settings that come closest to the paper's are run, packed and verified in
the same way, but only their scores are kept, in ``reproduced.json``. Systems of others are those of
``theirs.py``. Then README.md is written from the entries, ``reproduced.json`` and
``target-paper.reported.json``.

Finished runs are found again in ``--work``, so a killed call goes on where it stopped, and vectors
come from the cache of embeddings. A baseline that is rejected or suspicious ends the script with
exit code 1, after all the others.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any, ClassVar, Literal

from benchmarks.leaderboard import theirs
from benchmarks.leaderboard.board_readme import CORPORA, readme
from benchmarks.leaderboard.target_formula import TargetFormula
from target_bench import TARGET, corpora
from target_bench.core.observer import Observer
from target_bench.core.schema import Field
from target_bench.reporting.leaderboard.documents import read_card
from target_bench.reporting.leaderboard.entry import Entry
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.leaderboard.verify import verify

HERE = Path(__file__).parent
CUTOFFS = (1, 5, 10)

BASELINES = ("random", "tfidf", "bm25", "lsa", "dense", "hybrid", "rows", "best")
"""Retrievers without settings; what their defaults are is in docs/retrievers.md."""

SETS = {"sets": ("spider", "bird")}
"""Retrievers that choose sets of tables -> the corpora that they are for."""

FORMULA = f"{HERE / 'target_formula.py'}:TargetFormula"
_BM25 = "stopwords=en,stemmer=none,k1=1.5,b=0.75"
_TFIDF = "ngram=2,hashed=true"
REPRODUCTIONS = {
    "bm25-title": f"bm25:fields=[id,header],{_BM25}",
    "bm25-header": f"bm25:fields=[header],{_BM25}",
    "tfidf-title": f"tfidf:fields=[id,header],{_TFIDF}",
    "tfidf-header": f"tfidf:fields=[header],{_TFIDF}",
    "formula-bm25-title": f"{FORMULA}:scoring=bm25",
    "formula-bm25-header": f"{FORMULA}:scoring=bm25,fields=[header]",
    "formula-tfidf-title": f"{FORMULA}:scoring=tfidf",
    "formula-tfidf-header": f"{FORMULA}:scoring=tfidf,fields=[header]",
}


def main() -> int:
    given = _arguments()
    if not given.tables:
        given.work.mkdir(parents=True, exist_ok=True)
        names = given.only or [*BASELINES, *SETS, *REPRODUCTIONS]
        packed = {name: _submitted(name, given.work) for name in names}
        verdicts = {name: _verified(name, path) for name, path in packed.items()}
        if not given.only:
            theirs.main([])
    else:
        verdicts = {}
    (HERE / "README.md").write_text(readme(HERE), encoding="utf-8")
    return int(any(verdict != "accepted" for verdict in verdicts.values()))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only",
        nargs="+",
        choices=[*BASELINES, *SETS, *REPRODUCTIONS],
        metavar="NAME",
        help="these",
    )
    parser.add_argument(
        "--work", type=Path, default=Path("runs"), help="where run folders go (default: runs)"
    )
    parser.add_argument("--tables", action="store_true", help="write README.md alone")
    return parser.parse_args()


def _submitted(name: str, work: Path) -> Path:
    """The submission of a baseline, of runs that are there already or are made now."""
    folders = []
    task = "retrieval:sets=true" if name in SETS else "retrieval"
    for corpus, split, _ in CORPORA:
        if corpus not in SETS.get(name, (corpus,)):
            continue
        target = TARGET((task, corpus), out=work, observer=_PrintedOnce())
        result = target.run(REPRODUCTIONS.get(name, name), split, CUTOFFS)[0]
        again = "there already" if result.reused else f"{sum(result.seconds.values()):.0f} s"
        print(f"{name} on {corpus} {split}: {result.folder.name} ({again})", flush=True)
        folders.append(result.folder)
    card = "reproduction" if name in REPRODUCTIONS else name
    out = (work if name in REPRODUCTIONS else HERE) / f"{name}.tbs.zip"
    return pack(folders, read_card(HERE / "cards" / f"{card}.yaml"), out)


def _verified(name: str, path: Path) -> str:
    """The verdict; scores are kept."""
    verification = verify(
        path, against=None if name in REPRODUCTIONS else HERE, observer=_PrintedOnce()
    )
    findings = (
        f"\n  {finding.level}: {finding.check}: {finding.message}"
        for finding in verification.findings
    )
    print(f"{name}: {verification.verdict}", *findings, flush=True)
    if verification.entry is not None and name in REPRODUCTIONS:
        _keep(name, verification.entry)
    elif verification.entry is not None:
        theirs.compact(verification.entry).write(HERE / f"{name}.entry.json")
    return verification.verdict


def _keep(name: str, entry: Entry) -> None:
    """The scores of a reproduction, and the range that equal scores leave to the formula's."""
    path = HERE / "reproduced.json"
    kept: dict[str, Any] = json.loads(path.read_bytes()) if path.exists() else {}
    metrics = {corpus: metric for corpus, _, metric in CORPORA}
    runs = {
        run.corpus: {
            metrics[run.corpus]: round(run.scores[metrics[run.corpus]].value, 6),
            "predictions_sha256": run.predictions_sha256,
            "corpus_fingerprint": run.corpus_fingerprint,
        }
        for run in entry.runs
    }
    spec = REPRODUCTIONS[name]
    if name.startswith("formula-"):
        for corpus, low_high in _ranges(spec).items():
            runs[corpus]["between"] = low_high
    kept[name] = {"retriever": spec.replace(f"{HERE}/", ""), "runs": runs}
    ordered = {known: kept[known] for known in REPRODUCTIONS if known in kept}
    path.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


def _ranges(spec: str) -> dict[str, Any]:
    scoring: Literal["bm25", "tfidf"] = "bm25" if "scoring=bm25" in spec else "tfidf"
    fields: tuple[Field, ...] = ("header",) if "fields=[header]" in spec else ("id", "header")
    ranges = {}
    for corpus, split, metric in CORPORA:
        retriever = TargetFormula(scoring, fields)
        k = int(metric.rpartition("@")[2])
        low_high = retriever.range_of_ties(corpora.load(corpus, split), k, "[db]" in metric)
        ranges[corpus] = [round(share, 6) for share in low_high]
    return ranges


class _PrintedOnce(Observer):
    """Prints each warning once."""

    printed: ClassVar[set[str]] = set()

    def warning(self, message: str) -> None:
        if message not in self.printed:
            print(f"  {message}", file=sys.stderr, flush=True)
            self.printed.add(message)


if __name__ == "__main__":
    sys.exit(main())
