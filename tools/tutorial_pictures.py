"""The pictures of docs/tutorial.md: its own commands are run, and their output is drawn.

A picture belongs to the command above it. An ``.svg`` shows what the command prints on a terminal
of 98 columns, unless the command writes a file of this name itself; a ``.png`` is the page that it
writes, in Chromium.

    python -m tools.tutorial_pictures
"""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "tutorial.md"
PICTURES = ROOT / "docs" / "assets" / "tutorial"
COLUMNS = 98

_STEP = re.compile(
    r"^```sh(?: run)?\n((?:(?!```).)*target-bench(?:(?!```).)*)```\n+(?:!\[[^\]]*\]\((\S+)\))?",
    re.MULTILINE | re.DOTALL,
)
_WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def main(folder: Path = PICTURES) -> None:
    """Write all pictures into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    steps = _STEP.findall(PAGE.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as work:
        for command, picture in steps:
            if "pip install" not in command:
                _draw(command, Path(work), folder / Path(picture).name if picture else None)


def _draw(command: str, work: Path, picture: Path | None) -> None:
    """Run a command, and write its picture if it has one."""
    shown = _run(command, work)
    if picture is None:
        return
    if picture.suffix == ".png":
        (page,) = work.glob("*.html")
        _photograph(page, picture)
    elif (work / picture.name).is_file():
        shutil.copyfile(work / picture.name, picture)
    else:
        picture.write_text(_terminal(command, shown), encoding="utf-8")


def _run(command: str, work: Path) -> str:
    scripts = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    terminal = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    done = subprocess.run(  # noqa: S603 (the commands are those of our own page)
        ["/bin/bash", "-ec", command],
        cwd=work,
        env=os.environ | {"PATH": scripts, "TARGET_BENCH_CACHE": str(work / "cache")} | terminal,
        capture_output=True,
        encoding="utf-8",
    )
    if done.returncode:
        raise SystemExit(f"{command}\n{done.stderr}")
    return done.stdout


def _terminal(command: str, shown: str) -> str:
    """Return a terminal with the output of a command, as SVG without a font from elsewhere."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(shown.rstrip()))
    name = command.split()[1]
    return _WEB_FONT.sub("", console.export_svg(title=f"target-bench {name}", unique_id=name))


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
