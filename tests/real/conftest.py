"""What tests on real data share."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="package", autouse=True)
def _cache_of_every_worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Corpora of real size are read into one cache, whichever process of the suite comes first."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARGET_BENCH_CACHE", str(folder / "cache-of-real-data"))
        yield
