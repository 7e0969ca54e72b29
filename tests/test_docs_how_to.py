"""Every command of docs/how_to.md runs, each section in a folder as its reader has it."""

import contextlib
import re
import shutil
from pathlib import Path

import pytest

from tests.builders import ROOT
from tests.test_docs import _run

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default::UserWarning")]

LEADERBOARD = (ROOT / "docs" / "leaderboard.md").read_text(encoding="utf-8")
SECTIONS = (ROOT / "docs" / "how_to.md").read_text(encoding="utf-8").split("\n## ... ")[1:]
FILES = {
    "my_tables/cities.csv": "city,visitors\nOslo,3\nRome,9\n",
    "my_tables/staff.csv": "name,role\nAnn,chef\nBo,host\nCy,waiter\n",
    "my_tables/queries.csv": "query_id,query,table_id\nq1,visitors,cities\nq2,the chef,\n",
    "my_file.py": (
        "class Mine:\n"
        "    def embed_corpus(self, corpus):\n"
        "        self.ids = [table.id for table in corpus]\n\n"
        "    def retrieve(self, query, top_k):\n"
        "        return self.ids[:top_k]\n"
    ),
    "my_metrics.py": "def short(answer):\n    return len(answer.split()) <= 5\n",
}
CORPORA = re.compile(r"\b(ottqa|fetaqa)\b")
"""They are not here: ``mini`` stands in their place."""

RANKINGS = [f"runs/retrieval-mini-test-{name}-*" for name in ("tfidf", "bm25", "lsa")]
"""What RUN stands for, in turn: a gate's baseline is worse than what it checks."""
ANSWERS = ["answers/question-answering-mini-*"]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    card = re.search(r"^cat > card.yaml <<'CARD'\n.*?^CARD\n", LEADERBOARD, re.M | re.S)
    assert card
    runs = [f"target-bench run mini --retriever {name}\n" for name in ("tfidf", "bm25", "lsa")]
    answers = "target-bench run mini --task qa --retriever bm25 --limit 20 --out answers\n"
    (folder / "examples").symlink_to(ROOT / "examples")
    with contextlib.chdir(folder):
        _run("sh run", "".join([card[0], *runs, answers]), folder)
    return folder


@pytest.mark.parametrize("section", SECTIONS, ids=lambda text: text.partition("?")[0])
def test_commands_run(
    section: str, reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(reader, tmp_path, dirs_exist_ok=True, symlinks=True)
    monkeypatch.chdir(tmp_path)
    if "without questions" in section.partition("\n")[0]:
        Path("my_tables/queries.csv").unlink()
    if "plot" in section:
        pytest.importorskip("matplotlib")
    blocks = re.findall(r"^```sh\n(.*?)^```", section, re.M | re.S)
    assert blocks
    for line in "".join(blocks).splitlines():
        for pattern in ANSWERS if " score " in line else RANKINGS:
            line = line.replace("RUN", str(next(Path().glob(pattern))), 1)
        _run("sh run", CORPORA.sub("mini", line).replace("SUBMISSIONS/", "."), tmp_path)
