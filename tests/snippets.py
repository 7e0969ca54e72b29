"""Examples of pages and docstrings: how each is run, as a reader would run it."""

import runpy
from pathlib import Path


def run_python(source: str, path: Path) -> None:
    """Run an example from a file of its own, so that the code of its classes can be read."""
    path.write_text(source, encoding="utf-8")
    runpy.run_path(str(path), run_name="__main__")
