"""YAML with its line numbers."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.harness.sweeps.yaml_lines import Document, Place

TEXT = """
corpora:
  - mini
  - {name: ottqa,
     splits: [dev]}
k: [1, 5]
"""


def _read(folder: Path, text: str) -> Document:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return Document.read(path)


@pytest.mark.parametrize(
    ("place", "line", "name"),
    [
        (("corpora",), 2, "corpora"),
        (("corpora", 0), 3, "corpora[0]"),
        (("corpora", 1, "splits"), 5, "corpora[1].splits"),
        (("corpora", 1, "CorpusEntry", "splits", 0), 5, "corpora[1].splits[0]"),
        (("k", 1), 6, "k[1]"),
        (("k", 7), 6, "k"),
        (("unknown",), 2, ""),
    ],
)
def test_places(tmp_path: Path, place: Place, line: int, name: str) -> None:
    """Steps that the file does not have, such as the names of types, are passed over."""
    told = _read(tmp_path, TEXT).at(place)
    assert told == f"{tmp_path}/s.yaml:{line}" + (f": {name}" if name else "")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "s.yaml: the file is empty"),
        ("# nothing\n", "s.yaml: the file is empty"),
        ("k: [1\nlimit: 3\n", "s.yaml:2: not valid YAML"),
        ("k: 1\nlimit: 2\nk: 3\n", "s.yaml:3: k is set in line 1"),
        ("a: {b: 1, b: 2}\n", "s.yaml:1: b is set in line 1"),
        ("[1, 2]: 3\n", "s.yaml:1: a key should be a word"),
        ("a: {off: 1}\n", "s.yaml:1: YAML reads the key off as true or false; write 'off'"),
        ("a: !!python/object:os.system x\n", "s.yaml:1: not valid YAML"),
        ("a: \x00\n", "cannot be read"),
        ("a: &a [*a]\n", "s.yaml:1: an alias (*name) stands within what it names"),
        ("# " + 1_000_000 * "x", "has 1,000,002 bytes; 1,000,000 are the most"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=r"s\.yaml") as error:
        _read(tmp_path, text)
    assert told in str(error.value)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot be read: .*No such file"):
        Document.read(tmp_path / "none.yaml")


@pytest.mark.parametrize(
    "entry", ["[*a{0}, *a{0}, *a{0}, *a{0}]", "{{<<: [*a{0}, *a{0}], k{0}: 1}}"]
)
def test_nested_aliases_are_not_written_out(tmp_path: Path, entry: str) -> None:
    """Forty lines that stand for more entries than a machine can hold."""
    lines = [f"a{n}: &a{n} {entry.format(n - 1)}" for n in range(1, 40)]
    with pytest.raises(ConfigError, match="entries with its aliases") as error:
        _read(tmp_path, "\n".join(["a0: &a0 {k: 1}", *lines]))
    assert "100,000 are the most" in str(error.value)


def test_aliases_as_people_use_them(tmp_path: Path) -> None:
    found = _read(tmp_path, "a: &a {k: 1}\nb: [*a, *a]\nc: {<<: *a, m: 2}\n")
    assert found.content["b"] == [{"k": 1}, {"k": 1}]
    assert found.content["c"] == {"k": 1, "m": 2}
