"""Check the data files of the embedded corpus, or write its queries again."""

from __future__ import annotations

import argparse
import sys

from .queries import DATA, faults, write


def main() -> None:
    """Check or write, as the command line says; exit code 1 when files and checks differ."""
    parser = argparse.ArgumentParser(prog="python -m tools.mini", description=__doc__)
    parser.add_argument("--write", action="store_true", help="write queries.jsonl from the checks")
    if parser.parse_args().write:
        write(DATA)
        return
    problems = faults(DATA)
    for fault in problems:
        print(fault, file=sys.stderr)
    if problems:
        sys.exit(1)
    print(f"{DATA}: tables, databases and queries agree")


if __name__ == "__main__":
    main()
