"""From a file to its cells, and what a file may not say."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.harness.sweeps.cell import SweepCell
from target_bench.harness.sweeps.grid import read_cells
from target_bench.harness.yaml_file import YamlFile


def _cells(folder: Path, text: str) -> list[SweepCell]:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return read_cells(YamlFile.read(path))


NESTED = "\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected entries such as corpora: [mini]"),
        ("k: [1\nlimit: 3\n", "line 2, column 6"),
        ("a: {off: 1}\n", "the key False is not text; YAML reads on, off, yes and no as"),
        ("a: !!python/object:os.system x\n", "not valid YAML"),
        (NESTED, "an alias (*name) is not read"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=r"s\.yaml") as error:
        _cells(tmp_path, text)
    assert message in str(error.value)


PLAIN = "corpora: mini\nretrievers: bm25\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"{PLAIN}retreivers: [lsa]", "retreivers: unknown key 'retreivers'. Did you mean retr"),
        (f"{PLAIN}top_k: [5, 0]", "top_k=0: a cutoff is a whole number from 1"),
        (f"{PLAIN}tables: []", "tables: the list is empty"),
        (
            f"{PLAIN}generators: {{name: x, gpus: .inf}}",
            "generators.gpus: expected a number from 0",
        ),
        (f"{PLAIN}tasks: {{name: retrieval, gpus: 2}}", "tasks.gpus: name it for a"),
        (
            f"{PLAIN}corpora: [{{name: mini, spilts: dev}}]",
            "not valid YAML: line 3, column 1: ",
        ),
        (f"{PLAIN}distractors:\n  - name: ottqa\n    m: 3", "distractors[0].m: unknown key"),
        (f"{PLAIN}distractors:\n  - [{{n: 3}}]", "distractors[0]: expected a name or {name: ..."),
        (f"{PLAIN}generators:\n  - {{label: x}}", "generators[0]: expected a name or {name: ..."),
        (f"{PLAIN}generators: [a=gold, a=empty]", "generators: 'a=gold' and 'a=empty'"),
        (f"{PLAIN}limit: x\nlatency: y", "limit='x': expected a whole number from 1\n"),
        (f"{PLAIN}columns: query=q", "columns='query=q': for a data set of the hub"),
        (f"{PLAIN}tasks: [retrieval, retrival]", "tasks: unknown task 'retrival'"),
        ("retrievers: x\ncorpora: {name: mini, spilts: d}", "corpora.spilts: unknown key 'spilts'"),
        ("retrievers: x\ncorpora: ", "corpora: the list is empty"),
    ],
)
def test_what_cannot_be(tmp_path: Path, text: str, message: str) -> None:
    """Every entry that is wrong is named."""
    with pytest.raises(ConfigError) as error:
        _cells(tmp_path, text)
    assert f"s.yaml: {message}" in str(error.value)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        (
            "name: a/b\nretrievers: [x, oracle]\nlimit: 0\ntopk: 5\ngenerators: [y=opnai, gold]\n"
            "corpora: [{name: mini, foo: 1}, nosuch]",
            ["topk", "name", "limit", "corpora[0].foo", "corpora", "retrievers", "generators"],
        ),
        (f"{PLAIN}generators: x\ntasks: [nosuch, qa]", ["tasks", "generators"]),
    ],
)
def test_all_that_is_wrong_is_told_at_once(tmp_path: Path, text: str, wrong: list[str]) -> None:
    with pytest.raises(ConfigError) as error:
        _cells(tmp_path, text)
    told = [line.partition(": ")[2] for line in str(error.value).splitlines()]
    assert [line.split(":")[0].split("=")[0] for line in told] == wrong


def _retrievers(folder: Path, text: str) -> list[str | None]:
    return [cell.retriever for cell in _cells(folder, f"corpora: mini\nretrievers:\n{text}")]


def test_lists_multiply(tmp_path: Path) -> None:
    """A value that is itself a list stands in a list."""
    entry = "{name: bm25, k1: [1, 2], fields: [[title, header], [header]]}"
    assert _retrievers(tmp_path, f"  - {entry}\n  - lsa\n") == [
        "bm25:k1=1,fields=[title, header]",
        "bm25:k1=1,fields=[header]",
        "bm25:k1=2,fields=[title, header]",
        "bm25:k1=2,fields=[header]",
        "lsa",
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{name: bm25, k1: []}", "retrievers[0].k1: the list is empty"),
        ("{name: 'bm25:k1=1', k1: 2}", "k1 is set twice"),
    ],
)
def test_settings_that_cannot_be(tmp_path: Path, entry: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        _retrievers(tmp_path, f"  - {entry}")
    assert "s.yaml: retrievers[0]" in str(error.value)
    assert message in str(error.value)


def test_distractors(tmp_path: Path) -> None:
    """``n`` 0 is none; parts of one mixture multiply."""
    mixed = _cells(
        tmp_path,
        "corpora: mini\nretrievers: bm25\ndistractors:\n  - none\n"
        "  - {name: ottqa, split: train, n: [0, 10, 20]}\n"
        "  - [{name: ottqa, n: 5, seed: [1, 2]}, ./own]\n"
        "  - {name: ottqa, near_copies: [out, kept]}\n",
    )
    assert [cell.config.distractors for cell in mixed] == [
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
    assert [(c.task_name, c.generator) for c in _cells(tmp_path, PLAIN)] == [("retrieval", None)]
    answered = _cells(tmp_path, PLAIN + "generators: [gold, empty]\ntables: [1, 10]\n")
    assert len(answered) == 3 * 2 * 2 + 2 * 2  # two tasks do not read how many tables
    names = {"question_answering", "fact_verification", "text_to_sql", "text_to_table"}
    names |= {"table_to_text"}
    assert {cell.task_name for cell in answered} == names
    both = _cells(tmp_path, PLAIN + "tasks: [Table Retrieval, qa]\ngenerators: [gold, empty]\n")
    assert [(c.task_name, c.generator) for c in both] == [
        ("retrieval", None),
        ("question_answering", "gold"),
        ("question_answering", "empty"),
    ]


def test_too_many_cells_are_counted_and_not_made(tmp_path: Path) -> None:
    many = list(range(1, 900))
    for text, where, n in (
        (f"retrievers: {{name: bm25, k1: {many}, b: {many}}}", "retrievers", "808,201"),
        (
            f"retrievers: bm25\ndistractors: {{name: fetaqa, n: {many}, seed: {many}}}",
            "distractors",
            "808,201",
        ),
    ):
        message = f"s.yaml: {where}: the product of the lists has {n} cells"
        with pytest.raises(ConfigError, match=message):
            _cells(tmp_path, f"corpora: mini\n{text}")


def test_cells_are_told_apart_by_name(tmp_path: Path) -> None:
    corpora = "corpora: [{name: mini, limit: [20, 40]}, {name: mini, splits: validation}]\n"
    generated = "tasks: [qa]\nretrievers: [bm25]\ngenerators: [extractive]\ntables: [1, 3]\n"
    names = [str(cell) for cell in _cells(tmp_path, corpora + generated)]
    assert len({*names}) == len(names) == 6
    assert "mini test limit=20" in names[0]
    assert "mini validation |" in names[-1]
    assert names[0].endswith("| 1 table")
