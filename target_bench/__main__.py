"""``python -m target_bench`` is the ``target-bench`` command."""

from target_bench.cli import main

if __name__ == "__main__":
    main()
