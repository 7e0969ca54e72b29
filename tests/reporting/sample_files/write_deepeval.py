"""Write test runs of deepeval without a model: ``python write_deepeval.py FOLDER``."""

import json
import os
import sys
from pathlib import Path
from typing import Any

folder = Path(sys.argv[1])
os.environ |= {"DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "DEEPEVAL_RESULTS_FOLDER": str(folder / "run")}

from deepeval import evaluate  # noqa: E402
from deepeval.metrics import BaseMetric  # noqa: E402
from deepeval.test_case import LLMTestCase  # noqa: E402


class Includes(BaseMetric):
    name = "Includes the answer"

    def __init__(self) -> None:
        self.threshold, self.async_mode, self.reason = 0.5, False, None

    def measure(self, case: Any, *_: Any, **__: Any) -> float:
        self.score = float(self.holds(case.expected_output, case.actual_output))
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, case: Any, *_: Any, **__: Any) -> float:
        return self.measure(case)

    def holds(self, expected: str, actual: str) -> bool:
        return expected in actual

    def is_successful(self) -> bool:
        return self.success

    @property
    def __name__(self) -> str:
        return self.name


class Exact(Includes):
    name = "Exact"

    def holds(self, expected: str, actual: str) -> bool:
        return expected == actual


printed = {}
for kind in ("careful", "careless"):
    cases = [
        LLMTestCase(
            name=f"q{i}",
            input=f"What is {i}+{i}?",
            actual_output=("" if i % 2 else "It is ")
            + str(2 * i if kind == "careful" or i % 3 else -1),
            expected_output=str(2 * i),
        )
        for i in range(12)
    ]
    result = evaluate(cases, [Includes(), Exact()])
    (written,) = (folder / "run").glob("test_run_*.json")
    written.rename(folder / f"{kind}.json")
    scores: dict[str, list[float]] = {}
    for test in result.test_results:
        for metric in test.metrics_data:
            scores.setdefault(metric.name, []).append(metric.score)
        scores.setdefault("success", []).append(float(test.success))
    printed[f"{kind}.json"] = {name: sum(all_) / len(all_) for name, all_ in scores.items()}
(folder / "printed.json").write_text(json.dumps(printed))
