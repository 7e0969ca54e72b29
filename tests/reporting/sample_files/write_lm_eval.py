"""Write samples of lm-eval by its dummy model: ``python write_lm_eval.py FOLDER``."""

import json
import subprocess
import sys
from pathlib import Path

TASK = """
task: {name}
dataset_path: json
dataset_kwargs:
  data_files: {{test: {folder}/data.jsonl}}
test_split: test
doc_to_text: "{{{{question}}}} "
"""
CHOICE = """
output_type: multiple_choice
doc_to_choice: "{{choices}}"
doc_to_target: "{{gold}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
"""
TEXT = """
output_type: generate_until
doc_to_target: "{{answer}}"
generation_kwargs: {until: ["\\n"]}
filter_list:
  - {name: letters, filter: [{function: regex, regex_pattern: "([a-z]+)"}, {function: take_first}]}
  - {name: plain, filter: [{function: take_first}]}
metric_list: [{metric: exact_match}, {metric: bleu}]
"""

folder = Path(sys.argv[1]).resolve()
rows = [
    {
        "question": f"What is {i}+{i}?",
        "choices": [str(2 * i), str(2 * i + 1), str(i)],
        "gold": 0,
        "answer": "lol" if i % 3 else str(2 * i),  # what the dummy model says
    }
    for i in range(12)
]
tasks = folder / "tasks"
tasks.mkdir(parents=True)
(tasks / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
for name, rest in (("sums", CHOICE), ("words", TEXT)):
    (tasks / f"{name}.yaml").write_text(TASK.format(name=name, folder=tasks) + rest)
printed: dict[str, dict[str, float]] = {}
for run in ("first", "second"):
    words = ["--model", "dummy", "--tasks", "sums,words", "--include_path", str(tasks)]
    words += ["--log_samples", "--output_path", str(folder / run), "--seed", str(len(printed))]
    subprocess.run([sys.executable, "-m", "lm_eval", *words], check=True, capture_output=True)
    (results,) = (folder / run).rglob("results_*.json")
    for task, scores in json.loads(results.read_text())["results"].items():
        (file,) = results.parent.glob(f"samples_{task}_*.jsonl")
        file = file.rename(folder / run / file.name)
        printed[str(file.relative_to(folder))] = {
            name.removesuffix(",none"): value
            for name, value in scores.items()
            if "," in name and "_stderr" not in name and not name.startswith("bleu")
        }
sys.stdout.write(json.dumps(printed))
