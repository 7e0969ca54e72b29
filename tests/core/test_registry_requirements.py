"""An environment in which another package changed the version of a required one."""

from importlib import import_module, metadata
from pathlib import Path
from typing import Any

import pytest

from target_bench.core import registry


@pytest.fixture
def old_numpy(tmp_path: Path) -> Path:
    """A folder that, first on the path, makes numpy 1.26.4 the installed one."""
    folder = tmp_path / "site" / "numpy-1.26.4.dist-info"
    folder.mkdir(parents=True)
    text = "Metadata-Version: 2.1\nName: numpy\nVersion: 1.26.4\n"
    (folder / "METADATA").write_text(text, encoding="utf-8")
    return folder.parent


@pytest.fixture
def declared() -> None:
    if not any(d.name == registry.DISTRIBUTION for d in metadata.distributions()):
        pytest.skip("target-bench runs from its source folder, which declares nothing")


@pytest.mark.usefixtures("declared")
def test_an_error_in_a_command_that_makes_no_benchmark(
    old_numpy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command_line = import_module("target_bench.cli.command_line")
    code = "def failing(*_, **__): raise ImportError('pyarrow requires NumPy 2.0, found 1.26.4')"
    own: dict[str, Any] = {}
    exec(compile(code, str(command_line.__file__), "exec"), own)  # so that it is no user's code
    failing = own["failing"]
    with pytest.raises(SystemExit) as ended:
        command_line.main(failing)
    assert ended.value.code == 1
    assert "Internal error: ImportError" in capsys.readouterr().err
    monkeypatch.syspath_prepend(old_numpy)
    with pytest.raises(SystemExit) as ended:
        command_line.main(failing)
    assert ended.value.code == 2
    assert "numpy 1.26.4 is installed" in capsys.readouterr().err


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = ["scipy>=1.14", "no-such-package>=2", "torch>=99; extra == 'dense'"]
    monkeypatch.setattr(metadata, "requires", lambda _: needed)
    assert registry.unmet_requirements() == [
        "target-bench needs no-such-package>=2, which is not installed."
    ]


def test_nothing_is_declared_where_target_bench_is_not_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", absent)
    assert registry.unmet_requirements() == []
