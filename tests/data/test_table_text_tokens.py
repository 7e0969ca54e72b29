"""Text -> tokens, in scripts with and without spaces between words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import TableId
from target_bench.core.schema import Table
from target_bench.data.table_text import WORDS, Analyzer
from target_bench.data.tables import MemoryCorpus
from target_bench.retrievers.bm25 import BM25
from tests.retrievers.tables import ask, names

han = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FBF), min_size=2, max_size=20)
PIECES = ["Kings", "法罗群岛", "กรุงเทพ", "हिन्दी", "은", "3月", "ça", " ", "-"]


def analyzer(tokens: str = WORDS, fold: bool = True) -> Analyzer:
    return Analyzer(tokens, fold, "en_plus", "english")


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("法罗群岛政府", ["法罗", "罗群", "群岛", "岛政", "政府"]),
        ("东 京", ["东", "京"]),
        ("于2019年3月", ["于", "2019", "年", "3", "月"]),
        ("大阪Castle大阪城", ["大阪", "castl", "大阪", "阪城"]),
        ("ﾄﾞｲﾂ ドイツ", ["ドイ", "イツ", "ドイ", "イツ"]),
        ("𠮷野家", ["𠮷野", "野家"]),
        ("Johannesen은 정부에", ["johannesen", "은", "정부", "부에"]),
        ("ไทย", ["ไท", "ทย"]),
        ("กรุง", ["กร", "รุ", "ุง"]),
        ("हिन्दी भाषा", ["हिनदी", "भाषा"]),
        ("العَرَبِيَّة", ["العربية"]),
        ("the heart of 法", ["heart", "法"]),
    ],
)
def test_tokens_of_other_scripts(text: str, tokens: list[str]) -> None:
    assert analyzer()(text) == tokens


@given(han, st.data())
def test_a_part_of_a_sentence_is_found_in_it(sentence: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sentence) - 2))
    end = data.draw(st.integers(start + 2, len(sentence)))
    analyze = analyzer()
    assert set(analyze(sentence[start:end])) <= set(analyze(f"Kings {sentence}"))


@pytest.mark.parametrize(
    ("cell", "query"),
    [
        ("法罗群岛政府", "他在法罗群岛服役。"),
        ("페로 제도 정부", "그는 정부에서 일한다"),
        ("กรุงเทพมหานคร", "เขาอยู่ในกรุงเทพ"),
        ("हिन्दी", "हिन्दी भाषा"),
    ],
)
def test_a_statement_finds_a_word_without_spaces_around_it(cell: str, query: str) -> None:
    tables = [
        Table(TableId("0", name), ["a"], [[text]], {"title": name})
        for name, text in (("other", "हवा 산 山 Berg"), ("right", cell))
    ]
    retriever = BM25()
    retriever.embed_corpus(MemoryCorpus(tables))
    found = names(ask(retriever, [query])[0])
    assert found[0] == "right"
