"""Runs of answers by a model behind the OpenAI API, from the command line, over real sockets."""

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from tests import openai_server as served
from tests.cli.inside import Inside
from tests.openai_server import OpenAIServer, Reply
from tests.runs.processes import command, finish, start

N = 60
QA = ("run", "mini", "--task", "qa", "--retriever", "oracle", "--top-k", "1", "--limit", str(N))
SECRET = "sk-very-secret-0123456789abcdef"

pytestmark = pytest.mark.usefixtures("quick_retries")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARGET_BENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as running:
        yield running


def _generator(server: OpenAIServer, *more: str) -> tuple[str, str]:
    """A model for money: without prices, a server on this machine costs nothing."""
    if not any(part.startswith("prices=") for part in more):
        more = (*more, "prices={input: 1, output: 1}")
    settings = ",".join(("model=m", f"base_url={server.base_url}", *more))
    return "--generator", f"openai:{settings}"


def _one(out: str) -> dict[str, Any]:
    result: dict[str, Any]
    (result,) = json.loads(out)["results"]
    return result


def _generations(folder: str) -> dict[str, dict[str, Any]]:
    path = Path(folder) / "generations.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()
    return {record["query_id"]: record for record in map(json.loads, lines)}


def test_paid_requests_are_agreed_to_first(inside: Inside, server: OpenAIServer) -> None:
    """For what will be sent: recorded answers cost nothing, and another run asks for no other."""
    paid = (*QA, *_generator(server, "prices={input: 1000, output: 1000}"))
    message = inside.bad(2, *paid)
    for part in (f"{N} requests with about ", "cost about ", "pass --yes"):
        assert part in message
    assert not server.requests
    inside.telling("20 requests", *paid, "--yes", "--limit", "20")
    assert f"{N - 20} requests with about " in inside.bad(2, *paid)
    inside.good(*paid, "--limit", "15")
    assert len(server.requests) == 20
    answers = _one(inside.telling(f"{N - 20} requests", *paid, "--yes", "--json"))["answers"]
    assert len(server.requests) == answers["answered"] == N
    assert answers["input_tokens"] == 10 * N
    assert answers["cost"] > N / 100
    inside.good(*paid, "--yes")
    inside.good(*paid, "--yes", "--out", "another")
    assert len(server.requests) == len(server.answered) == N, "no answer is asked for twice"
    inside.telling("9 requests", *QA, *_generator(server, "seed=1"), "--yes", "--limit", "9")
    assert len(server.requests) == N + 9


SQL = ("run", "mini", "--task", "text-to-sql", "--retriever", "oracle", "--top-k", "1")


def test_sql_is_asked_for_once(inside: Inside, server: OpenAIServer) -> None:
    """Also where it cannot be run: a second request is what no paper measures."""
    server.script = lambda _: served.answer('{"reasoning": "", "sql": "SELECT nope"}')
    run = (*SQL, *_generator(server), "--limit", "4")
    assert "}: 4 requests with about" in inside.bad(2, *run)
    inside.telling("4 requests", *run, "--yes", "--out", "a")
    assert len(server.requests) == 4
    assert "requests" not in inside(*run, "--out", "b").err, "all are recorded"


def test_labels_are_asked_for_in_json(inside: Inside, server: OpenAIServer) -> None:
    """Of a schema, as part of what identifies the run; as free text where that is wanted."""
    run = ("run", "mini", "--task", "fact_verification", "--retriever", "oracle", "--top-k", "1",
           *_generator(server), "--yes", "--limit", "3", "--json")  # fmt: skip
    server.script = lambda request: served.answer(
        '{"label": "False"}' if "response_format" in request.body else "It is not true."
    )
    structured = _one(inside.telling("3 requests", *run))
    schema = server.requests[-1].body["response_format"]["json_schema"]["schema"]
    assert schema["properties"]["label"]["enum"] == ["True", "False", "Not Enough Information"]
    free = _one(inside.telling("3 requests", *run, "--free-text"))
    assert "response_format" not in server.requests[-1].body
    assert structured["folder"] != free["folder"]
    for result in (structured, free):
        assert result["answers"]["unparsed"] == 0
        assert result["report"]["confusion"]["False"]["False"] >= 1
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (served.answer(None, refusal="I would rather not"), "refusal"),
        (served.cut(), "connection"),
        (served.wrong_key(SECRET), "authentication"),
    ],
)
def test_failures_are_counted_and_shown(
    inside: Inside, server: OpenAIServer, reply: Reply, kind: str
) -> None:
    """The run ends with scores over what was asked, and says that some failed."""
    inside.telling(
        "1 requests", *QA, *_generator(server), "--yes", "--limit", "1", "--out", "first"
    )
    server.script = lambda request: None if len(request.content) % 3 else reply
    done = inside(*QA, *_generator(server, "max_retries=1", "concurrency=1"), "--yes", "--json")
    assert done.code == 3
    result = _one(done.out)
    failed = result["answers"]["failed"]
    assert 0 < failed < N
    assert f"failed on {failed} of {N}" in done.err
    assert result["scores"]["exact_match"]["n"] == result["answers"]["asked"] == N
    errors = [g["error"] for g in _generations(result["folder"]).values() if "error" in g]
    assert len(errors) == failed
    assert all(error.startswith(f"{kind}: ") for error in errors)
    server.script = None
    before = len(server.requests)
    inside.telling(f"{failed} requests", *QA, *_generator(server), "--yes")
    assert len(server.requests) - before == failed


def test_nothing_works(inside: Inside, server: OpenAIServer, tmp_path: Path) -> None:
    """A wrong key, model or address ends the run at once, with what to do."""
    server.script = lambda request: served.wrong_key(request.key)
    message = inside.bad(2, *QA, *_generator(server), "--yes")
    assert "authentication: HTTP 401" in message
    assert "OPENAI_API_KEY" in message
    assert len(server.requests) <= 32
    server.script = lambda _: served.error(429, "pay", "insufficient_quota")
    message = inside.bad(2, *QA, *_generator(server), "--yes")
    assert "has no credit; the answers so far are kept" in message
    assert "fix the key" not in message
    server.script = lambda _: served.unknown_model()
    assert "unknown_model" in inside.bad(2, *QA, *_generator(server), "--yes")
    gone = "openai:model=m,base_url=http://127.0.0.1:9/v1,max_retries=0"
    assert "connection: " in inside.bad(2, *QA, "--generator", gone, "--yes")
    openai = "openai:model=gpt-x"
    assert "set the environment variable" in inside.bad(2, *QA, "--generator", openai, "--yes")


def test_random_faults_lose_nothing(inside: Inside) -> None:
    """The scores are those of an undisturbed run, byte for byte, once all are answered."""
    scores = []
    for n, rate in enumerate((0.0, 0.2)):
        with OpenAIServer(fault_rate=rate, seed=5) as server:
            done = inside(*QA, *_generator(server), "--yes", "--json", "--out", str(n))
            if done.code:
                again = (*_generator(server), "--yes", "--json", "--out", str(n))
                done = inside(*QA, *again)
            assert done.code == 0, done.err
            assert set(server.answered.values()) == {1}
            assert sum(server.answered.values()) == N
        scores.append((Path(_one(done.out)["folder"]) / "scores.json").read_bytes())
    assert scores[0] == scores[1]


def test_killed_in_the_middle(tmp_path: Path) -> None:
    """What was recorded is not sent again, and the scores are those of an undisturbed run."""
    with OpenAIServer() as server:
        code, _, err = finish(
            command(*QA, *_generator(server), "--yes", "--out", "whole"), tmp_path
        )
        assert code == 0, err
    (whole,) = (tmp_path / "whole").glob("question-answering-*/scores.json")
    cache = {"TARGET_BENCH_CACHE": str(tmp_path / "another")}
    with OpenAIServer(delay=0.1) as server:
        run = command(*QA, *_generator(server, "concurrency=8"), "--yes", "--out", "runs")
        for moment in (15, 40):
            process = start(run, tmp_path, **cache)
            while len(server.answered) < moment and process.poll() is None:
                time.sleep(0.005)
            process.send_signal(signal.SIGKILL)
            process.communicate()
            recorded = _recorded(tmp_path / "another" / "answers.sqlite")
            assert max(0, moment - 16) <= recorded < N
            sent = len(server.requests)
        code, _, err = finish(run, tmp_path, **cache)
        assert code == 0, err
        assert len(server.requests) - sent == N - recorded
        assert len(server.answered) == N
        on_their_way = 8 + 8  # to this process, and from there to the file
        assert sum(server.answered.values()) <= N + 2 * on_their_way
    (scores,) = (tmp_path / "runs").glob("question-answering-*/scores.json")
    assert scores.read_bytes() == whole.read_bytes()


def _recorded(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        (n,) = database.execute("SELECT count(*) FROM cache").fetchone()
    return int(n)


def test_the_key_is_nowhere(
    inside: Inside, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: OpenAIServer
) -> None:
    """Neither on the terminal, tracebacks included, nor in any file."""
    monkeypatch.setenv("MY_KEY", SECRET)
    named = ("api_key_env=MY_KEY", "max_retries=1")
    printed = [str(inside(*QA, *_generator(server, *named), "--yes"))]
    assert all(request.key == SECRET for request in server.requests)
    server.script = lambda request: (
        served.wrong_key(request.key) if "Oslo" in request.content else served.error(500, SECRET)
    )
    for more in ((), ("--debug",)):
        again = _generator(server, *named, "seed=2")
        printed.append(str(inside(*QA, *again, "--yes", "--out", "wrong", *more)))
    server.script = lambda request: served.answer(request.key)
    printed.append(str(inside(*QA, *_generator(server, *named, "seed=3"), "--yes", "--limit", "1")))
    assert "***" in "".join(printed[:-1])
    assert SECRET not in "".join(printed)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 5
    holding = [path.name for path in files if SECRET.encode() in path.read_bytes()]
    assert not holding
    assert os.environ["MY_KEY"] == SECRET
