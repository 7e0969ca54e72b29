"""The file of a sweep."""

from pathlib import Path

import pytest

from target_bench.core.errors import ConfigError
from target_bench.harness.sweeps.sweep_file import SweepFile

TEXT = """
corpora:
  - mini
  - {name: ottqa,
     splits: [dev]}
k: [1, 5]
"""


def _read(folder: Path, text: str) -> SweepFile:
    path = folder / "s.yaml"
    path.write_text(text, encoding="utf-8")
    return SweepFile.read(path)


NESTED = "\n".join(["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "s.yaml: the file is empty"),
        ("# nothing\n", "s.yaml: the file is empty"),
        ("k: [1\nlimit: 3\n", "line 2, column 6"),
        ("k: 1\nlimit: 2\nk: 3\n", "k is set twice"),
        ("a: {b: 1, b: 2}\n", "b is set twice"),
        ("[1, 2]: 3\n", "not valid YAML"),
        ("a: {off: 1}\n", "the key False is no text; YAML reads on, off, yes and no as"),
        ("a: !!python/object:os.system x\n", "not valid YAML"),
        ("a: \x00\n", "not valid YAML"),
        ("a: &a [*a]\n", "an alias (*name) is not read"),
        (NESTED, "an alias (*name) is not read"),
        ("# " + 1_000_000 * "x", "has 1,000,002 bytes; 1,000,000 are the most"),
    ],
)
def test_invalid_files(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError, match=r"s\.yaml") as error:
        _read(tmp_path, text)
    assert told in str(error.value)
