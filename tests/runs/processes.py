"""The command line in processes of its own, which can be killed, starved of room or locked out."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.builders import ROOT
from tests.runs.forked import Forked

SLOW = """
import io, os, time, zlib
from pathlib import Path

# In words that a run does not look for: it would say that it cannot see what they give.
ENVIRONMENT, OPEN = getattr(os, "environ"), getattr(io, "open")


class Slow:
    '''Ranks by a hash of the query. The environment says how slowly, and where to wait.'''

    def embed_corpus(self, corpus):
        self.ids = list(corpus.ids)
        self.asked = 0

    def retrieve(self, query, top_k):
        time.sleep(float(ENVIRONMENT.get("SLOW_SECONDS", 0)))
        if ENVIRONMENT.get("SLOW_WAITS_AT") == str(self.asked):
            Path("waiting").touch()
            while not Path("go").exists():
                time.sleep(0.01)
        self.asked += 1
        if "SLOW_ASKED" in ENVIRONMENT:
            with OPEN(ENVIRONMENT["SLOW_ASKED"], "a", encoding="utf-8") as file:
                file.write(query + "\\n")
        if query in ENVIRONMENT.get("SLOW_FAILS_ON", ""):
            raise RuntimeError("no answer")
        start = zlib.crc32(query.encode()) % len(self.ids)
        turned = self.ids[start:] + self.ids[:start]
        return [(table_id, 1 / (3 + rank)) for rank, table_id in enumerate(turned[:top_k])]
"""

N_QUERIES = 280
"""The queries of the test split of ``mini``."""


def write_slow(folder: Path) -> str:
    """Write the retriever; how it is called on the command line."""
    (folder / "slow.py").write_text(SLOW, encoding="utf-8")
    return "slow.py:Slow"


def command(*arguments: str) -> list[str]:
    """The command line of a process."""
    return [sys.executable, "-m", "target_bench", *arguments]


def run_slow(out: str = "runs") -> list[str]:
    """The command line that runs the retriever on ``mini``."""
    words = "run mini --task retrieval --retriever slow.py:Slow --top-k 10 --out"
    return command(*words.split(), out)


Process = subprocess.Popen[str] | Forked


def start(arguments: Sequence[str], folder: Path, **environment: str) -> Process:
    """A process in a folder; our own command is forked."""
    if list(arguments[:3]) == command():
        return Forked(arguments[3:], folder, _variables(environment))
    return start_unforked(arguments, folder, **environment)


def start_unforked(
    arguments: Sequence[str], folder: Path, **environment: str
) -> subprocess.Popen[str]:
    """A process in a folder, as a shell would start it."""
    return subprocess.Popen(
        arguments,
        cwd=folder,
        env=_variables(environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def _variables(more: dict[str, str]) -> dict[str, str]:
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return os.environ | {"PYTHONPATH": path, "COLUMNS": "120"} | more


def finish(arguments: Sequence[str], folder: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a process."""
    return ended(start(arguments, folder, **environment))


def ended(process: Process) -> tuple[int, str, str]:
    """The same of one that was started; a busy machine needs minutes for what takes seconds."""
    try:
        out, err = process.communicate(timeout=900)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode is not None
    return process.returncode, out, err


def scores(runs: Path) -> bytes:
    """``scores.json`` of the one run in a folder."""
    (path,) = runs.glob("*/scores.json")
    return path.read_bytes()


def rankings(runs: Path) -> list[tuple[str, str]]:
    """(query id, its line) of every whole line of the one ``retrieval.jsonl``, if there is one."""
    lines = []
    for path in runs.glob("*/retrieval.jsonl"):
        lines += path.read_text(encoding="utf-8").split("\n")[:-1]
    return [(json.loads(line)["query_id"], line) for line in lines]


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        script = 'mount -t tmpfs -o size=64k none "$0" && mount -o remount,ro "$0"'
        done = subprocess.run(
            ["unshare", "-rm", "sh", "-c", script, folder], capture_output=True, check=False
        )
    return done.returncode == 0


CAN_MOUNT = _can_mount()
"""Whether processes may have mounts of their own."""


def in_own_mounts(script: str, *arguments: str) -> list[str]:
    """The command line of a shell script whose mounts nobody else sees; ``$0``, ``$@``."""
    return ["unshare", "-rm", "sh", "-c", script, *arguments]


def read_only(folder: Path, arguments: Sequence[str]) -> list[str]:
    """Take away the right to write in a folder; the command line of a process that is bound."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    if os.geteuid() != 0:
        return list(arguments)
    return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *arguments]  # bits bind root too
