"""The retriever milvus, with Milvus Lite."""

from pathlib import Path

import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from tests.contrib.vector_databases import finds_the_nearest, is_identified_without_its_place
from tests.retrievers.encoders import UnitWords

Milvus = registry.resolve("retriever", "milvus")


@pytest.mark.filterwarnings("default")  # those of the client are not ours
def test_the_nearest(tmp_path: Path) -> None:
    pytest.importorskip("pymilvus")
    pytest.importorskip("milvus_lite")
    finds_the_nearest(Milvus(str(tmp_path / "milvus.db"), encoder=UnitWords()))
    encoder = UnitWords()
    is_identified_without_its_place(
        Milvus(encoder=encoder), Milvus("x", "y", encoder), Milvus(encoder=encoder, rows=1)
    )
    with pytest.raises(ConfigError, match="keys come from the environment"):
        Milvus("http://user:word@x")
