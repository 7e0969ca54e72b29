"""The pytest fixture ``target_bench``: a test fails if a retriever is worse than a stored run.

Loaded by every pytest of the environment, so it imports nothing of the package before a test asks.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from target_bench.reporting.gate import Gate

_UPDATE = "--target-bench-update"


class Benchmark:
    """What the fixture ``target_bench`` is.

    ```python
    def test_retriever(target_bench):
        target_bench.assert_not_worse(MyRetriever(), "baseline.json", "./tables")
    ```

    Args:
        folder: where a relative path of a baseline begins: that of the test's file.
        out: where run folders go.
        update: whether baselines are written and nothing is checked.
    """

    def __init__(self, folder: Path, out: Path, update: bool) -> None:
        self.folder, self.out, self.update = folder, out, update

    def assert_not_worse(
        self,
        retriever: Any,
        baseline: str | Path,
        corpus: Any = "mini",
        fail_on: Sequence[str] = (),
        **options: Any,
    ) -> "Gate | None":
        """Evaluate a retriever, and fail if it is worse than a baseline.

        Args:
            retriever: as for ``evaluate``: an object, a class or a name.
            baseline: a file that ``pytest --target-bench-update`` or ``target-bench gate --update``
                wrote, or a run folder; a relative path begins at the test's file.
            corpus: as for ``evaluate``.
            fail_on: rules, as ``"recall@10<-0.01"``; default: a drop of more than .01 in the
                main metric. A drop that chance explains does not fail.
            **options: other arguments of ``evaluate``, as ``task``, ``generator`` and ``top_k``.

        Returns:
            The checks, or None if the baseline was written.

        Raises:
            AssertionError: the retriever is worse, or there is no baseline.
            TargetBenchError: it cannot be evaluated, or not be compared with the baseline.
        """
        from target_bench import evaluate, gate
        from target_bench.runs.baseline_file import write_baseline

        path = self.folder / baseline
        if not (path.exists() or self.update):
            raise AssertionError(f"{path}: no such baseline; pytest {_UPDATE} writes it")
        [result] = evaluate(retriever, corpus, out=self.out, **options)
        if self.update:
            write_baseline(result, path)
            return None
        checked = gate(str(path), result, fail_on)
        if checked.failed:
            reasons = "\n".join(f"{check.rule}: {check.reason}" for check in checked.checks)
            raise AssertionError(f"{checked.sentence}\n{reasons}")
        return checked


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes baselines."""
    parser.getgroup("target-bench").addoption(
        _UPDATE,
        action="store_true",
        help="Write the baselines of tests with the fixture target_bench, and check nothing.",
    )


@pytest.fixture
def target_bench(request: pytest.FixtureRequest, tmp_path: Path) -> Benchmark:
    """Assert that a retriever is not worse than a stored run."""
    update = bool(request.config.getoption(_UPDATE))
    return Benchmark(request.path.parent, tmp_path / "runs", update)
