"""Credentials in the settings of a plug-in: no file and no output of any command holds them."""

import json
import re
import zipfile
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.runs import processes

pytestmark = pytest.mark.filterwarnings("default")
"""The plug-in warns of what it knows."""

SECRETS = {
    "password of the address": "Pa55w0rdInUrl",
    "user of the address": "userNameInUrl7",
    "key in the address": "KeyInQuery123",
    "api_key": "ownKeyAbc98765",
    "password": "hunter2",
    "header": "HeaderValue4711",
    "nested": "nestedSecretXy1",
}

PLUGIN = '''
import warnings


class Leaky:
    """Says all that it knows, wherever it can."""

    def __init__(self, url, api_key, password, headers, client, size=3, where="retrieve"):
        self.url, self.api_key, self.password = url, api_key, password
        self.headers, self.client, self.size, self.where = headers, client, size, where
        if where == "make":
            raise ValueError(self.said())

    def said(self):
        return f"{self.url} refused {self.api_key} {self.password} {self.headers} {self.client}"

    def embed_corpus(self, corpus):
        self.ids = [table.id for table in corpus]
        warnings.warn(self.said())
        if self.where == "index":
            raise ValueError(self.said())

    def retrieve(self, query, top_k):
        if "19" in query and self.where == "retrieve":
            raise ValueError(self.said())
        return self.ids[:top_k]


class Answering(Leaky):
    converses = False

    n_requests = 0

    def generate(self, request):
        self.n_requests += 1
        if self.n_requests > 1:
            return f"I was sent {self.api_key}"
        raise ValueError(self.said())
'''

SETTINGS = (
    "url=https://userNameInUrl7:Pa55w0rdInUrl@h.example/x?size=2&api_key=KeyInQuery123,"
    "api_key=ownKeyAbc98765,password=hunter2,"
    "headers={X-Api-Key: HeaderValue4711, Accept: text/csv},"
    "client={secret: nestedSecretXy1, region: eu}"
)


def _held(text: str) -> list[str]:
    return [name for name, secret in SECRETS.items() if secret in text]


def _files(folder: Path) -> str:
    """The bytes of all files, those of archives unpacked."""
    contents = []
    for path in sorted(folder.rglob("*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                contents += [archive.read(name).decode("latin-1") for name in archive.namelist()]
        elif path.is_file() and path.suffix != ".py" and path.name != "sweep.yaml":
            contents.append(path.read_bytes().decode("latin-1"))
    return "\n".join(contents)


@pytest.fixture(autouse=True)
def _plugin(inside: Inside) -> None:
    Path("leaky.py").write_text(PLUGIN, encoding="utf-8")


@pytest.mark.parametrize("where", ["make", "index", "retrieve"])
def test_no_credential_in_outputs_and_run_folders(inside: Inside, where: str) -> None:
    plugin = f"leaky.py:Leaky:where={where},{SETTINGS}"
    run = ("run", "mini", "--task", "retrieval", "--limit", "60", "--debug")
    done = inside(*run, "--retriever", plugin)
    assert done.code != 0
    assert "refused" in done.out + done.err
    assert _held(done.out + done.err) == []
    assert _held(_files(Path())) == []


def test_no_credential_in_what_is_made_of_a_run(inside: Inside) -> None:
    plugin, answers = f"leaky.py:Leaky:{SETTINGS}", f"leaky.py:Answering:{SETTINGS}"
    rank = ("--task", "retrieval", "--limit", "40", "--json")
    answer = ("--task", "qa", "--limit", "5", "--generator", answers, "--yes")
    for command in ((*rank, "--retriever", plugin), answer):
        done = inside("run", "mini", *command, "--retriever", "bm25")
        assert _held(done.out + done.err) == [], command
    folders = sorted(Path("runs").iterdir())
    assert len(folders) == 4
    assert '"I was sent ***"' in (folders[0] / "generations.jsonl").read_text(encoding="utf-8")
    retrieval = [path for path in folders if path.name.startswith("retrieval-mini")]
    readers: tuple[tuple[object, ...], ...] = (
        ("report", *retrieval, "-o", "report.html"),
        ("compare", *retrieval),
        ("runs", "list", "--json"),
        ("runs", "show", retrieval[1], "--json"),
        ("check", plugin),
    )
    for reader in readers:
        done = inside(*reader)
        assert _held(done.out + done.err) == [], reader
    assert Path("report.html").is_file()
    assert _held(_files(Path())) == []
    manifest = json.loads((retrieval[1] / "manifest.json").read_text(encoding="utf-8"))
    config = manifest["identity"]["retriever"]["config"]
    assert config["url"] == "https://***@h.example/x?size=2&api_key=***"
    assert config["headers"] == {"X-Api-Key": "***", "Accept": "text/csv"}
    assert config["client"] == {"secret": "***", "region": "eu"}
    assert (config["api_key"], config["password"], config["size"]) == ("***", "***", 3)


def test_no_credential_in_the_files_of_a_sweep(inside: Inside) -> None:
    settings = re.sub(r"(?<![&])\b(url|api_key|password|headers|client)=", r"\1: ", SETTINGS)
    settings = re.sub(r"(https[^,]*)", r"'\1'", settings)
    text = (
        "corpora: {name: mini, limit: 12}\n"
        f"retrievers: {{name: leaky.py:Leaky, size: [3, 4], {settings}}}\n"
    )
    Path("sweep.yaml").write_text(text, encoding="utf-8")
    for more in (("--dry-run",), (), ("--json",)):
        done = inside("sweep", "sweep.yaml", *more)
        assert "size" in done.out
        assert _held(done.out + done.err) == []
    assert _held(_files(Path())) == []
    rows = json.loads(Path("runs/sweep.results.json").read_text(encoding="utf-8"))["cells"]
    assert [row["retriever.size"] for row in rows] == ["3", "4"]
    assert {row["retriever.api_key"] for row in rows} == {"***"}


def test_a_submission_holds_none(inside: Inside) -> None:
    plugin = f"leaky.py:Leaky:{SETTINGS},where=nowhere"
    inside("run", "mini", "--task", "retrieval", "--retriever", plugin, "--json")
    (folder,) = Path("runs").iterdir()
    Path("card.yaml").write_text(
        "name: Leaky\nauthors: [Ann Other]\nkind: lexical\nparameters: 0\n"
        "trained_on: {mini: no}\nchosen_on: nothing\n"
        "licence: Apache-2.0\n"
    )
    packed = inside("leaderboard", "submit", folder, "-o", "s.tbs.zip", "--card", "card.yaml")
    assert packed.code == 0, packed.err
    assert _held(packed.out + packed.err + _files(Path())) == []


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_sweep_masks_what_plug_ins_warn_of(tmp_path: Path, workers: str) -> None:
    """In its own process and in workers; the warnings themselves are shown."""
    (tmp_path / "leaky.py").write_text(PLUGIN, encoding="utf-8")
    entry = json.dumps(f"leaky.py:Leaky:where=never,{SETTINGS}")
    text = f"corpora: {{name: mini, limit: 4}}\nretrievers: [{entry}, bm25]\n"
    (tmp_path / "sweep.yaml").write_text(text, encoding="utf-8")
    code, out, err = processes.finish(
        processes.command("sweep", "sweep.yaml", "--workers", workers), tmp_path
    )
    assert code == 0, err
    assert "refused" in err
    assert _held(out + err) == []
