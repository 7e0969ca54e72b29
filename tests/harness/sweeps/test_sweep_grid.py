"""From a file to its cells, and what a file may not say."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.harness.sweeps.cell import SweepCell
from target_bench.harness.sweeps.grid import cells, shared_options
from target_bench.harness.sweeps.sweep_file import SweepFile


def _cells(folder: Path, text: str) -> list[SweepCell]:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    document = SweepFile.read(path)
    return cells(document, shared_options(document))


NESTED = "\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "expected entries such as corpora: [mini]"),
        ("k: [1\nlimit: 3\n", "line 2, column 6"),
        ("a: {b: 1, b: 2}\n", "b is set twice"),
        ("[1, 2]: 3\n", "not valid YAML"),
        ("a: {off: 1}\n", "the key False is no text; YAML reads on, off, yes and no as"),
        ("a: !!python/object:os.system x\n", "not valid YAML"),
        ("a: \x00\n", "not valid YAML"),
        (NESTED, "an alias (*name) is not read"),
        ("# " + 1_000_000 * "x", "has 1,000,002 bytes; 1,000,000 are the most"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=r"s\.yaml") as error:
        _cells(tmp_path, text)
    assert told in str(error.value)


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ("retreivers: [lsa]", "s.yaml: retreivers: unknown key 'retreivers'. Did you mean retr"),
        ("top_k: [5, 0]", "s.yaml: top_k=0: a cutoff is a whole number from 1"),
        ("latency: true", "s.yaml: latency=True: expected a whole number from 0"),
        ("structured: 1", "s.yaml: structured=1: expected true or false"),
        ("tables: []", "s.yaml: tables: the list is empty"),
        ("memory: much", "s.yaml: memory='much': expected an amount such as 500MB"),
        ("generators: {name: x, gpus: .inf}", "s.yaml: generators.gpus: expected a number from 0"),
        ("on_error: go", "s.yaml: on_error='go': expected stop or record"),
        ("corpora: [{name: mini, spilts: dev}]", "corpora is set twice"),
        ("zip: [top_k, retrievers]", "s.yaml: zip: unknown list 'top_k'"),
        ("distractors:\n  - name: ottqa\n    m: 3", "s.yaml: distractors[0].m: unknown key"),
        ("distractors:\n  - [{n: 3}]", "s.yaml: distractors[0]: expected a name or {name: ..."),
        ("generators:\n  - {label: x}", "s.yaml: generators[0]: expected a name or {name: ..."),
        ("generators: [a=gold, a=empty]", "s.yaml: generators: 'a=gold' and 'a=empty'"),
        ("table_formats: [markdwon]", "s.yaml: table_formats[0]='markdwon': expected text or"),
        (
            "limit: x\nmemory: y",
            "s.yaml: limit='x': expected a whole number from 1\n",
        ),
    ],
)
def test_what_cannot_be(tmp_path: Path, more: str, told: str) -> None:
    """Every entry that is wrong is named."""
    with pytest.raises(ConfigError) as error:
        _cells(tmp_path, f"corpora: mini\nretrievers: bm25\n{more}\n")
    assert told in str(error.value)


def _retrievers(folder: Path, text: str) -> list[str | None]:
    return [cell.retriever for cell in _cells(folder, f"corpora: mini\nretrievers:\n{text}")]


@pytest.mark.parametrize(
    ("corpus", "told"),
    [
        ("{name: mini, limit: 0}", "s.yaml: corpora.limit=0: expected a whole number from 1"),
        ("{name: mini, spilts: dev}", "s.yaml: corpora.spilts: unknown key 'spilts'"),
        ("", "s.yaml: corpora: the list is empty"),
    ],
)
def test_what_a_corpus_cannot_be(tmp_path: Path, corpus: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        _cells(tmp_path, f"corpora: {corpus}\nretrievers: bm25\n")
    assert told in str(error.value)


def test_lists_multiply(tmp_path: Path) -> None:
    """A value that is itself a list stands in a list."""
    found = _retrievers(
        tmp_path, "  - {name: bm25, k1: [1, 2], fields: [[title, header], [header]]}\n  - lsa\n"
    )
    assert found == [
        "bm25:k1=1,fields=[title, header]",
        "bm25:k1=1,fields=[header]",
        "bm25:k1=2,fields=[title, header]",
        "bm25:k1=2,fields=[header]",
        "lsa",
    ]


def test_zip_pairs_settings(tmp_path: Path) -> None:
    found = _retrievers(
        tmp_path, "  - {name: bm25, k1: [1, 2], b: [0, 1], rows: [0, 3], zip: [k1, b]}"
    )
    assert found == [
        "bm25:k1=1,b=0,rows=0",
        "bm25:k1=1,b=0,rows=3",
        "bm25:k1=2,b=1,rows=0",
        "bm25:k1=2,b=1,rows=3",
    ]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ("{name: bm25, k1: [1, 2], b: [1], zip: [k1, b]}", "k1 has 2, b has 1"),
        ("{name: bm25, k1: [1, 2], zip: [k1, bb]}", "unknown list 'bb'"),
        ("{name: bm25, k1: [1], b: [1], zip: [[k1, b], [b]]}", "b is zipped twice"),
        ("{name: bm25, k1: []}", "retrievers[0].k1: the list is empty"),
        ("{name: 'bm25:k1=1', k1: 2}", "k1 is set twice"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, entry: str, told: str) -> None:
    with pytest.raises(ConfigError) as error:
        _retrievers(tmp_path, f"  - {entry}")
    assert "s.yaml: retrievers[0]" in str(error.value)
    assert told in str(error.value)


def test_distractors(tmp_path: Path) -> None:
    """``n`` 0 is none; parts of one mixture multiply."""
    found = _cells(
        tmp_path,
        "corpora: mini\nretrievers: bm25\ndistractors:\n  - none\n"
        "  - {name: ottqa, split: train, n: [0, 10, 20]}\n"
        "  - [{name: ottqa, n: 5, seed: [1, 2]}, ./own]\n"
        "  - {name: ottqa, near_copies: [out, kept]}\n",
    )
    assert [cell.options.distractors for cell in found] == [
        (),
        ("ottqa:split=train,n=10",),
        ("ottqa:split=train,n=20",),
        ("ottqa:n=5,seed=1", "./own"),
        ("ottqa:n=5,seed=2", "./own"),
        ("ottqa:near_copies=out",),
        ("ottqa:near_copies=kept",),
    ]


def test_tasks(tmp_path: Path) -> None:
    """Without generators retrieval, with them what the corpus has answers for."""
    plain = "corpora: mini\nretrievers: bm25\n"
    assert [(c.task_name, c.generator) for c in _cells(tmp_path, plain)] == [("retrieval", None)]
    answered = _cells(tmp_path, plain + "generators: [gold, empty]\ntables: [1, 10]\n")
    assert len(answered) == 4 * 2 * 2 + 2 * 2  # two tasks do not read how many tables
    assert {cell.task_name for cell in answered} == {
        "question_answering",
        "fact_verification",
        "text_to_sql",
        "text_to_table",
        "table_to_text",
        "table_answering",
    }
    both = _cells(tmp_path, plain + "tasks: [Table Retrieval, qa]\ngenerators: [gold, empty]\n")
    assert [(c.task_name, c.generator) for c in both] == [
        ("retrieval", None),
        ("question_answering", "gold"),
        ("question_answering", "empty"),
    ]
    with pytest.raises(ConfigError, match=r"s.yaml: tasks: unknown task 'retrival'"):
        _cells(tmp_path, plain + "tasks: [retrieval, retrival]\n")


MANY = list(range(1, 900))


@pytest.mark.parametrize(
    ("text", "where", "n"),
    [
        (
            f"retrievers: {{name: bm25, k1: {MANY}, b: {MANY}, rows: {MANY[:500]}}}",
            ": retrievers",
            "404,100,500",
        ),
        (
            f"retrievers: bm25\ndistractors: {{name: fetaqa, n: {MANY}, seed: {MANY}}}",
            ": distractors",
            "808,201",
        ),
    ],
)
def test_too_many_cells_are_counted_and_not_made(
    tmp_path: Path, text: str, where: str, n: str
) -> None:
    with pytest.raises(ConfigError) as error:
        _cells(tmp_path, f"corpora: mini\n{text}")
    said = f"s.yaml{where}: the product of the lists has {n} cells, and a sweep has at most 10,000"
    assert said in str(error.value)


def test_cells_are_told_apart_by_name(tmp_path: Path) -> None:
    corpora = "corpora: [{name: mini, limit: [20, 40]}, {name: mini, database: a}]\n"
    generated = "tasks: [qa]\nretrievers: [bm25]\ngenerators: [extractive]\ntables: [1, 3]\n"
    names = [str(cell) for cell in _cells(tmp_path, corpora + generated)]
    assert len({*names}) == len(names) == 6
    assert "mini test limit=20" in names[0]
    assert names[0].endswith("| 1 table")
