"""What the trial of flipped bits makes, and what reads it: every kind of file on ``mini``."""

import hashlib
import json
import multiprocessing
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from target_bench import TARGET, corpora
from target_bench.core.contract import Generator
from target_bench.core.errors import TargetBenchError
from target_bench.core.observer import Observer
from target_bench.core.schema import Generation, GenerationRequest
from target_bench.harness.resume import ResumedRun
from target_bench.models.remote.answer_cache import AnswerCache, ModelReply, request_key
from target_bench.reporting.compare import compare
from target_bench.reporting.leaderboard.documents import Card
from target_bench.reporting.leaderboard.pack import pack
from target_bench.reporting.report.report_writer import write_report
from target_bench.retrievers.dense import Dense
from target_bench.runs.documents import described, listed
from target_bench.runs.result import list_runs, read_run
from tests.retrievers.encoders import UnitWords
from tests.runs.forked import PRELOADED

CUTOFFS = [1, 10]
QUERIES = 60
"""How many queries are asked; for text-to-SQL all are, unless the place has a limit."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of file.

    Attributes:
        name: for people.
        pattern: where its files lie.
        step: what reads them, a key of ``STEPS``.
    """

    name: str
    pattern: str
    step: str


KINDS = (
    Kind("corpora: tables", "cache/corpora/*-tables-*.arrow", "own"),
    Kind("corpora: queries", "cache/corpora/*-queries-*.arrow", "own"),
    Kind("databases: .sqlite", "cache/databases/*/*.sqlite", "sql"),
    Kind("copies: copy.duckdb", "cache/databases/*/copy.duckdb", "sql"),
    Kind("copies: entry.json", "cache/databases/*/entry.json", "sql"),
    Kind("gold results", "cache/gold/*/*.json.gz", "sql"),
    Kind("embeddings", "cache/embeddings/*.sqlite", "dense"),
    Kind("recorded answers", "cache/responses.sqlite", "answers"),
    Kind("indexes: index.json", "indexes/*/index.json", "indexes"),
    Kind("indexes: data", "indexes/*/data/**/*", "indexes"),
    Kind("runs: manifest.json", "runs/*/manifest.json", "stored"),
    Kind("runs: retrieval.jsonl", "runs/*/retrieval.jsonl", "stored"),
    Kind("runs: generations.jsonl", "runs/*/generations.jsonl", "stored"),
    Kind("runs: judgements.jsonl", "runs/*/judgements.jsonl", "stored"),
    Kind("runs: scores.json", "runs/*/scores.json", "stored"),
    Kind("runs: *.parquet", "runs/*/*.parquet", "stored"),
)


@dataclass
class Heard(Observer):
    """Keeps warnings."""

    messages: list[str] = field(default_factory=list)

    def warning(self, message: str) -> None:
        """Keep it."""
        self.messages.append(message)


class Known(Generator):
    """Answers by query id, every third one with that of the query before.

    Args:
        file: a JSON object of query id -> answer.
        recorded: whether answers are looked up in the cache of answers, and recorded there.
    """

    def __init__(self, file: str, recorded: bool = False) -> None:
        self.file = file
        self.recorded = recorded
        self.prompts: list[str] = []

    def config(self) -> Mapping[str, Any]:
        """Nothing that depends on where the file lies."""
        return {"recorded": self.recorded}

    def generate(self, request: GenerationRequest) -> Generation:
        """The answer of the file, or the one that was recorded."""
        prompt = [(message.role, message.content) for message in request.messages]
        self.prompts.append(hashlib.sha256(repr(prompt).encode()).hexdigest())
        answer = json.loads(Path(self.file).read_bytes())[request.query_id]
        if not self.recorded:
            return Generation(request.query_id, answer)
        cache = AnswerCache(Path(os.environ["TARGET_BENCH_CACHE"]) / "responses.sqlite")
        key = request_key("known", "", {"query": request.query_id})
        reply = cache.get(key)
        if reply is None:
            reply = ModelReply(answer, "stop", 10, 5)
            cache.put(key, reply)
        cache.close()
        return Generation(request.query_id, reply.text, input_tokens=reply.input_tokens)


@dataclass(frozen=True, slots=True)
class Place:
    """Where everything lies.

    Attributes:
        root: holds the rest.
        trial: what is read: cache, indexes and runs; copied again for every flip.
        whole: the same, as it was made.
        own: a folder of tables and questions, as a user has it.
        answers: query id -> answer.
        sql_limit: how many statements each engine runs; None for all.
    """

    root: Path
    sql_limit: int | None = None

    @property
    def trial(self) -> Path:
        return self.root / "trial"

    @property
    def whole(self) -> Path:
        return self.root / "whole"

    @property
    def own(self) -> Path:
        return self.root / "own"

    @property
    def answers(self) -> Path:
        return self.root / "answers.json"

    def copy(self) -> None:
        """Put the whole files in the place of the trial."""
        shutil.rmtree(self.trial, ignore_errors=True)
        shutil.copytree(self.whole, self.trial)


Figures = dict[str, Any]
Say = Callable[[str], None]
Step = Callable[[Place, Path, Say], Iterator[tuple[str, Callable[[], Any]]]]
"""(place, folder of runs, what gets messages) -> name and maker of each figure."""


def _run(task: str, corpus: str, say: Say, out: Path, retriever: Any, **more: Any) -> Any:
    heard = Heard()
    try:
        result = TARGET((task, corpus), out=out, observer=heard).run(
            retriever, top_k=CUTOFFS, **more
        )[0]
    finally:
        for message in heard.messages:
            say(message)
    scores = {name: score.to_json() for name, score in result.scores.items()}
    answers = None if result.answer_counts is None else result.answer_counts.to_json()
    return json.loads(json.dumps([scores, result.counts.to_json(), answers, result.data]))


def _own(place: Place, out: Path, say: Say) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield (
        "answers on an own folder",
        partial(_run, "qa", str(place.own), say, out, "bm25", limit=QUERIES),
    )


def _sql(place: Place, out: Path, say: Say) -> Iterator[tuple[str, Callable[[], Any]]]:
    def asked(engine: Any) -> Any:
        known = Known(str(place.answers))
        task = f"sql:engine={engine},workers=1"
        result = _run(task, "mini", say, out, "bm25", generator=known, limit=place.sql_limit)
        return [result, known.prompts]

    yield "SQL in SQLite", partial(asked, "sqlite")
    yield "SQL in DuckDB", partial(asked, "duckdb")


def _dense(_place: Place, out: Path, say: Say) -> Iterator[tuple[str, Callable[[], Any]]]:
    yield "dense", partial(_run, "retrieval", "mini", say, out, Dense(UnitWords()), limit=QUERIES)


def _answers(place: Place, out: Path, say: Say) -> Iterator[tuple[str, Callable[[], Any]]]:
    def asked() -> Any:
        known = Known(str(place.answers), recorded=True)
        return _run("qa", "mini", say, out, "bm25", generator=known, limit=QUERIES)

    yield "recorded answers", asked


def _indexes(place: Place, out: Path, say: Say) -> Iterator[tuple[str, Callable[[], Any]]]:
    for name, retriever in (("bm25", "bm25"), ("dense", Dense(UnitWords(), cache=False))):
        run = partial(_run, "retrieval", "mini", say, out, retriever, limit=QUERIES)
        yield f"saved index of {name}", partial(run, indexes=place.trial / "indexes")


def _stored(place: Place, out: Path, say: Say) -> Iterator[tuple[str, Callable[[], Any]]]:
    root = place.trial / "runs"

    def every() -> Any:
        rows = listed(list_runs(root))
        for row in rows:
            if row["state"] in ("damaged", "unreadable"):
                say(f"{row['folder']}: {row['state']}")
        return {row["folder"]: row for row in rows if row["state"] not in ("damaged", "unreadable")}

    def shown(folder: Path) -> Any:
        document = described(read_run(folder))
        if "problems" in document:
            raise TargetBenchError(str(document["problems"]))
        return json.loads(json.dumps(document))

    def scored(folder: Path) -> Any:
        shutil.copytree(root, out, dirs_exist_ok=True)
        stored = ResumedRun(read_run(out / folder.name), observer=Heard())
        result = stored.score()[0]
        return {name: score.to_json() for name, score in result.scores.items()}

    manifests = sorted((place.whole / "runs").glob("*/manifest.json"))
    folders = [root / path.parent.name for path in manifests]
    tasks = [json.loads(path.read_bytes())["asked"].get("about") for path in manifests]
    alike = [folder for folder, task in zip(folders, tasks, strict=True) if task is None]
    yield "list", every
    for folder in folders:
        yield f"show {folder.name}", partial(shown, folder)
    yield "compare", lambda: compare(alike, resamples=50).to_json()
    for folder in folders:
        yield f"report {folder.name}", partial(_sha256, partial(_report, folder, place.root))
    submission = partial(pack, folders, CARD, place.root / "a.tbs.zip")
    yield "submit", partial(_sha256, submission)
    for folder in folders:
        yield f"score {folder.name}", partial(scored, folder)
    yield "again", partial(_run, "retrieval", "mini", say, root, "bm25")
    known = Known(str(place.answers))
    again = partial(_run, "fact_verification", "mini", say, root, "bm25")
    yield "answers again", partial(again, generator=known)


def _report(folder: Path, root: Path) -> Path:
    return write_report([folder], root / "a.html")


def _sha256(make: Callable[[], Path]) -> str:
    return hashlib.sha256(make().read_bytes()).hexdigest()


CARD = Card(
    name="Trial",
    authors=("Ann Other",),
    retriever_kind="lexical",
    parameters=0,
    training_data={"mini": "no"},
    hardware="2 cores",
    licence="Apache-2.0",
    open_weights=True,
    code="https://example.org/code",
)
STEPS: Mapping[str, Step] = {
    "own": _own,
    "sql": _sql,
    "dense": _dense,
    "answers": _answers,
    "indexes": _indexes,
    "stored": _stored,
}


def prepare(root: Path, sql_limit: int | None = None) -> Place:
    """Make everything, in a process of its own."""
    for module in PRELOADED:  # else every process would import it
        import_module(module)
    place = Place(root, sql_limit)
    data = Path(corpora.__file__).parent / "mini" / "data"
    tables_alone = shutil.ignore_patterns("databases", "q*.jsonl", "rated*", "*_to_*", "*_as_*")
    shutil.copytree(data, place.own, ignore=tables_alone)
    lines = (data / "queries.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    lines = [line for line in lines if '"question_answering"' in line]
    (place.own / "queries.jsonl").write_text("".join(lines), encoding="utf-8")
    apart(partial(_prepare, place))
    shutil.copytree(place.trial, place.whole)
    return place


def _prepare(place: Place) -> None:
    queries = corpora.load("mini").queries
    answers = {}
    for i, query in enumerate(queries):
        given = queries[i - 1 if i % 3 == 2 else i].answer
        answers[query.id] = given if isinstance(given, str) else given[0]
    place.answers.write_text(json.dumps(answers), encoding="utf-8")

    def silent(_: str) -> None:
        """Say nothing."""

    for name in ("own", "sql", "dense", "answers", "indexes"):
        for _, make in STEPS[name](place, place.root / "new", silent):
            shutil.rmtree(place.root / "new", ignore_errors=True)
            make()
    runs, known = place.trial / "runs", Known(str(place.answers))
    for retriever in ("bm25", "tfidf"):
        _run("retrieval", "mini", silent, runs, retriever)
    for task in ("fact_verification", "sql:workers=1"):
        _run(task, "mini", silent, runs, "bm25", generator=known)


def apart(work: Callable[[], Any]) -> Any:
    """Do it in a forked process, so that nothing that is remembered of files outlives it."""
    return begun(work)()


def begun(work: Callable[[], Any]) -> Callable[[], Any]:
    """Begin it in a forked process; what waits for its result."""
    context = multiprocessing.get_context("fork")
    mine, theirs = context.Pipe(duplex=False)
    process = context.Process(target=lambda: theirs.send(work()))
    process.start()
    theirs.close()

    def result() -> Any:
        try:
            return mine.recv()
        finally:
            process.join()

    return result
