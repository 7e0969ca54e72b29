"""Regenerate the data files of the demonstration corpus."""

from __future__ import annotations

import argparse
from pathlib import Path

from .writer import DATA, write


def main() -> None:
    """Write the corpus into the folder of the command line."""
    parser = argparse.ArgumentParser(prog="python -m target_bench.corpora.mini.build")
    parser.add_argument("--out", type=Path, default=DATA, help="folder to write into")
    write(parser.parse_args().out)


if __name__ == "__main__":
    main()
