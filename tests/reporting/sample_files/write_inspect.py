"""Write logs of Inspect without a model: ``python write_inspect.py FOLDER``."""

import json
import sys
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score, exact, includes, mean, scorer
from inspect_ai.solver import solver

SAMPLES = [Sample(id=f"q{i}", input=f"What is {i}+{i}?", target=str(2 * i)) for i in range(12)]


@solver
def answers(kind: str) -> Any:
    async def solve(state: Any, generate: Any) -> Any:
        i = int(state.sample_id[1:])
        right = kind == "careful" or i % 3 or state.epoch == 2
        text = f"{'' if i % 2 else 'It is '}{2 * i if right else -1}"
        state.output = ModelOutput.from_content("none", text)
        return state

    return solve


@scorer(metrics={"digits": [mean()], "words": [mean()]})
def sizes() -> Any:
    async def score(state: Any, target: Any) -> Any:
        text = state.output.completion
        counts = {"digits": sum(map(str.isdigit, text)), "words": len(text.split())}
        return Score(value=counts)

    return score


printed = {}
for kind, form, epochs in (
    ("careful", "eval", 2),
    ("careless", "eval", 2),
    ("careful", "json", 1),
    ("careless", "json", 1),
):
    task = Task(
        dataset=SAMPLES,
        solver=[answers(kind)],
        scorer=[includes(), exact(), sizes()],
        name="sums",
        epochs=epochs,
    )
    folder = Path(sys.argv[1]) / "log"
    log = eval(task, "mockllm/model", log_dir=str(folder), log_format=form, display="none")[0]
    file = Path(sys.argv[1], f"{kind}.{form}")
    Path(log.location).rename(file)
    printed[file.name] = {
        score.name if score.scorer == score.name else f"{score.scorer}/{score.name}": next(
            metric.value for name, metric in score.metrics.items() if name != "stderr"
        )
        for score in log.results.scores
    }
sys.stdout.write(json.dumps(printed))
