"""The notebook of the documentation is ``examples/sweep.py``, executed, and is up to date.

``python -m tests.test_notebook`` executes it and stores the notebook.
"""

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "examples" / "sweep.py"
NOTEBOOK = ROOT / "docs" / "notebook.ipynb"
WIDGET = "application/vnd.jupyter.widget-view+json"
_TAG = re.compile(r"<[^>]*>")
_TIME = re.compile(r"\d+\.\d+(?=(</td></tr>)|\s*$|\s*\n)")
"""Milliseconds per query, which differ from run to run, end a line."""


def executed(folder: Path) -> Any:
    """Execute the cells of the source in an empty folder."""
    nbclient = pytest.importorskip("nbclient")
    v4 = pytest.importorskip("nbformat").v4
    pytest.importorskip("ipykernel")
    pytest.importorskip("pandas")
    cells = []
    for number, part in enumerate(SOURCE.read_text(encoding="utf-8").split("# %%")[1:]):
        if part.startswith(" [markdown]"):
            lines = part.strip().splitlines()[1:]
            cell = v4.new_markdown_cell("\n".join(line.removeprefix("#").strip() for line in lines))
        else:
            cell = v4.new_code_cell(part.strip())
        cell.id = f"cell-{number}"
        cells.append(cell)
    notebook = v4.new_notebook(cells=cells)
    resources = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources).execute()
    return notebook


def _outputs(notebook: Any) -> list[list[str]]:
    """What each cell shows, as words without times."""
    return [list(map(_words, _lasting(cell))) for cell in notebook.cells]


def _words(output: Any) -> str:
    data = output.get("data", {})
    shown = str(data.get("text/html") or data.get("text/plain") or output.get("text"))
    return _TAG.sub(" ", _TIME.sub("", shown))


def _lasting(cell: Any) -> list[Any]:
    """The outputs of a cell without bars of progress, which are gone when it has run."""
    return [output for output in cell.get("outputs", ()) if WIDGET not in output.get("data", {})]


def test_it_runs_and_shows_what_is_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = executed(tmp_path)
    stored = pytest.importorskip("nbformat").read(NOTEBOOK, as_version=4)
    assert _sources(notebook) == _sources(stored), "run python -m tests.test_notebook"
    assert _outputs(notebook) == _outputs(stored), "run python -m tests.test_notebook"
    assert "Warning" not in str(_outputs(notebook)), "SharedWords was identified by its source"
    assert len(list((tmp_path / "runs").glob("retrieval-mini-test-sharedwords-*"))) == 4


def _sources(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells]


def _store() -> None:
    """Store the notebook, unless times alone differ."""
    nbformat = pytest.importorskip("nbformat")
    with TemporaryDirectory() as folder:
        notebook = executed(Path(folder))
    stored = nbformat.read(NOTEBOOK, as_version=4)
    if (_sources(notebook), _outputs(notebook)) == (_sources(stored), _outputs(stored)):
        return
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _lasting(cell)
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    _store()
