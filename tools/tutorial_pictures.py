"""The pictures of docs/tutorial.md, README's among them: the page's own commands are run.

A picture belongs to the command above it. An ``.svg`` is written by the command itself; a ``.png``
is the page that it writes, in Chromium.

    python -m tools.tutorial_pictures
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
PICTURES = ROOT / "docs" / "assets" / "tutorial"

_STEP = re.compile(
    r"^```sh(?: run)?\n((?:(?!```).)*target-bench(?:(?!```).)*)```\n+(?:!\[[^\]]*\]\((\S+)\))?",
    re.MULTILINE | re.DOTALL,
)


def main(folder: Path = PICTURES) -> None:
    """Write all pictures into a folder."""
    with tempfile.TemporaryDirectory() as work:
        for command, picture in _STEP.findall(PAGE.read_text(encoding="utf-8")):
            _run(command, Path(work))
            if picture.endswith(".png"):
                (page,) = Path(work).glob("*.html")
                _photograph(page, folder / Path(picture).name)
            elif picture:
                shutil.copyfile(Path(work) / Path(picture).name, folder / Path(picture).name)


def _run(command: str, work: Path) -> None:
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(  # noqa: S603 (the commands are those of our own page)
        ["/bin/bash", "-ec", command],
        cwd=work,
        env=os.environ | {"PATH": scripts, "TARGET_BENCH_CACHE": str(work / "cache")},
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")


def _photograph(page: Path, picture: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        opened = browser.new_page(viewport={"width": 1100, "height": 700})
        opened.goto(page.as_uri())
        opened.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
