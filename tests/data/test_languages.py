"""Words of many scripts and languages, and which language tables are in."""

from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from target_bench import ask as synthetic_questions
from target_bench.core.registry import create
from target_bench.core.schema import Table, TableId
from target_bench.data.languages import (
    StopWords,
    guess_language,
    recognize_language,
)
from target_bench.data.load import load
from target_bench.data.table_text import WORDS, Analyzer, add_languages, list_languages
from target_bench.data.tables import MemoryCorpus
from tests.retrievers.tables import ask, names

GERMAN = [
    ("Flüsse", "Die Flüsse des Landes und der Nachbarn", ["Elbe", "Sie fließt durch die Städte"]),
    ("Häuser", "Die Häuser der Stadt und ihre Gärten", ["Rathaus", "Es steht an dem Markt"]),
]
WITH_STEMS = "stemmer=english,fold=true,stopwords=en_plus"


def tables() -> MemoryCorpus:
    return MemoryCorpus(
        [
            Table(TableId("0", name), ["Name", "Text"], [row], {"title": title})
            for name, title, row in GERMAN
        ]
    )


@pytest.mark.parametrize(
    ("text", "words_of", "language"),
    [
        ("The house of the king and the queen", "en", "en"),
        ("Das Haus des Königs und der Königin", "de", "de"),
        ("La maison du roi et de la reine dans les bois", "fr", "fr"),
        ("La casa del rey y de la reina en los bosques", "es", "es"),
        ("Дом короля и королевы", "ru", "ru"),
        ("بيت الملك والملكة", "ar", "ar"),
        ("राजा और रानी का घर", "hi", "hi"),
        ("法罗群岛政府的首都是托尔斯港", "zh", "zh"),
        ("他出生在北京的一家医院", "zh", "zh"),
        ("東京タワーは東京にある", "en", "ja"),
        ("그는 서울에서 태어났다", "en", "ko"),
        ("เขาเกิดที่กรุงเทพ", "en", "th"),
        ("Der König von 서울 und seine Königin", "de", "de"),
        ("id name city_key 17", "en", None),
        ("Zürich 1999", "en", None),
        ("", "en", None),
    ],
)
def test_the_language_of_texts(text: str, words_of: str, language: str | None) -> None:
    assert (guess_language([text]), recognize_language([text])) == (words_of, language)


@pytest.mark.parametrize(
    ("text", "code", "name"),
    [
        ("شهر تهران پایتخت ایران است و جمعیت آن زیاد", "fa", "Persian"),
        ("Мова програмування та її історія в Україні", "uk", "Ukrainian"),
        ("Stolica Polski jest Warszawa i jej mieszkańcy są", "pl", "Polish"),
    ],
)
def test_a_language_without_a_stemmer_is_told_and_is_not_taken_for_another(
    text: str, code: str, name: str, tmp_path: Path
) -> None:
    assert recognize_language([text]) == code
    assert guess_language([text]) == "en"
    (tmp_path / "a.csv").write_text(f"{text},x\n1,2\n3,4\n", encoding="utf-8")
    (note,) = (n for n in load(tmp_path).notes if "the tables are in" in n)
    assert f"in {name}: without a stemmer and stop words for it, words are what spaces" in note
    questions = synthetic_questions(tmp_path)
    assert not questions.queries
    (reason,) = questions.dropped
    assert f"in {name}" in reason


@given(st.text(max_size=40), st.sampled_from(get_args(StopWords)), st.booleans())
def test_english_is_what_it_was(text: str, name: StopWords, fold: bool) -> None:
    plain = Analyzer(WORDS, fold, name, "english")
    assert Analyzer(WORDS, fold, name, "english", ["en"])(text) == plain(text)


@pytest.mark.parametrize("name", ["bm25", "tfidf", "lsa", "rows"])
def test_retrievers_read_the_language_of_their_tables(name: str) -> None:
    """``Fluss`` is a form of ``Flüsse`` in German and not in English, ``die`` a word in English."""
    corpus = tables()
    assert list_languages(corpus) == ("de",)
    settings = f"{WITH_STEMS}," if name == "tfidf" else ""
    queries = ["Wie heißt der Fluss?", "Welches Haus hat einen Garten?"]
    rankings = []
    for language in ("auto", "de"):
        retriever = create("retriever", f"{name}:{settings}language={language}")
        retriever.embed_corpus(corpus)
        rankings.append([names(ranking) for ranking in ask(retriever, queries)])
    assert [ranking[:1] for ranking in rankings[0]] == [["Flüsse"], ["Häuser"]]
    assert rankings[0] == rankings[1]


ENGLISH = [
    ("Rivers", "The rivers of the country", ["Thames", "It flows through the cities of the south"]),
    ("Houses", "The houses of the town", ["Town hall", "It stands at the market of the town"]),
]


HEADERS = ["Bezeichnung", "Beschreibung des Ortes"], ["Name of the place", "Description"]


def mixed() -> list[Table]:
    return [
        Table(TableId("0", name), header, [row], {"title": title})
        for header, known in zip(HEADERS, (GERMAN, ENGLISH), strict=True)
        for name, title, row in known
    ] + [Table(TableId("0", "Codes"), ["x"], [["17"]])]


def test_tables_of_several_languages_name_theirs(tmp_path: Path) -> None:
    """Of tables in one language none is named, and of a table that shows none neither."""
    for table in mixed():
        rows = [table.header, [table.context.get("title", ""), *table.rows[0][1:]]]
        text = "\n".join(",".join(map(str, row)) for row in rows)
        (tmp_path / f"{table.id.table_id}.csv").write_text(text, encoding="utf-8")
    dataset = load(tmp_path)
    named = {t.id.table_id: t.context.get("language") for t in dataset.corpus}
    expected = {"Flüsse": "de", "Häuser": "de", "Rivers": "en", "Houses": "en", "Codes": None}
    assert named == expected
    assert set(list_languages(dataset.corpus)) == {"de", "en"}
    assert any("in 2 languages (" in note for note in dataset.notes)
    assert list(add_languages(mixed()[:2])) == mixed()[:2]


@pytest.mark.parametrize("name", ["bm25", f"tfidf:{WITH_STEMS}", "rows"])
def test_words_of_several_languages_are_stemmed_and_stop(name: str) -> None:
    corpus = MemoryCorpus(add_languages(mixed()))
    retriever = create("retriever", name)
    retriever.embed_corpus(corpus)
    queries = ["Wie heißt der Fluss?", "Which river is it?", "Welches Haus hat einen Garten?"]
    rankings = ask(retriever, queries)
    assert [names(ranking)[0] for ranking in rankings] == ["Flüsse", "Rivers", "Häuser"]


def test_function_characters_divide_chinese() -> None:
    """As stop words do: not where these are kept, and in no other language."""
    text = "他出生在深圳的1981年 the Towers"
    pairs = ["出生", "深圳", "1981", "年", "tower"]
    assert Analyzer(WORDS, True, "en_plus", "english", ["zh"])(text) == pairs
    kept = Analyzer(WORDS, True, "none", "english", ["zh"])(text)
    assert kept == ["他出", "出生", "生在", "在深", "深圳", "圳的", "1981", "年", "the", "tower"]


@pytest.mark.parametrize("name", ["bm25", "tfidf", "lsa:dims=1", "rows"])
def test_a_query_without_a_known_pair_finds_tables_by_its_characters(name: str) -> None:
    """In other scripts a query of unknown words finds nothing."""
    tables = [
        Table(TableId("0", "wed"), ["状态"], [["已婚"]]),
        Table(TableId("0", "born"), ["出生"], [["深圳"]]),
    ]
    corpus = MemoryCorpus(tables)
    retriever = create("retriever", name)
    retriever.embed_corpus(corpus)
    known, pair, unknown = retriever.retrieve_batch(["已婚", "结婚了", "wed"], 2)
    for ranking in (known, pair):
        assert next(iter(ranking))[0] == TableId("0", "wed")
    assert not list(unknown)


# text -> tokens, in scripts with and without spaces between words

han = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x9FBF), min_size=2, max_size=20)


analyze = Analyzer(WORDS, True, "en_plus", "english")


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
    assert analyze(text) == tokens


@given(han, st.data())
def test_a_part_of_a_sentence_is_found_in_it(sentence: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(sentence) - 2))
    end = data.draw(st.integers(start + 2, len(sentence)))
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
    retriever = create("retriever", "bm25")
    retriever.embed_corpus(MemoryCorpus(tables))
    assert names(ask(retriever, [query])[0])[0] == "right"
