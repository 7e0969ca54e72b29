"""Write results of ragas without a model: ``python write_ragas.py FOLDER``."""

import json
import sys
from pathlib import Path

from ragas import EvaluationDataset, evaluate
from ragas.metrics import ExactMatch, StringPresence

folder = Path(sys.argv[1])
printed: dict[str, dict[str, float]] = {}
for kind in ("careful", "careless"):
    rows = [
        {
            "user_input": f"What is {i}+{i}?",
            "response": f"{'' if i % 2 else 'It is '}{2 * i if kind == 'careful' or i % 3 else -1}",
            "reference": str(2 * i),
        }
        for i in range(12)
    ]
    metrics = [ExactMatch(), StringPresence()]
    result = evaluate(EvaluationDataset.from_list(rows), metrics, show_progress=False)
    result.to_pandas().to_csv(folder / f"{kind}.csv", index=False)
    result.to_pandas().to_json(folder / f"{kind}.jsonl", orient="records", lines=True)
    printed |= {f"{kind}.{form}": dict(result._repr_dict) for form in ("csv", "jsonl")}
sys.stdout.write(json.dumps(printed))
