"""Contributed plug-ins: what each file must have, and that its name is known however installed."""

import ast
import hashlib
import importlib.util
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import target_bench
from target_bench import plugin_tools
from target_bench.core import identity, registry
from target_bench.core.files import digest
from tests.builders import ROOT
from tests.corpora.test_all import is_declared

KINDS: dict[str, registry.Kind] = {
    "retrievers": "retriever",
    "generators": "generator",
    "corpora": "corpus",
}
FILES = [path for folder in KINDS for path in sorted((ROOT / folder).glob("*.py"))]
each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)

SEARCH = '''"""Finds the first tables."""
from target_bench import Retriever


class First(Retriever):
    """Ranks tables in the order of the corpus."""

    def embed_corpus(self, corpus):
        self.ids = corpus.ids

    def retrieve(self, query, top_k):
        return self.ids[:top_k]
'''


@each_file
def test_a_file_has_licence_and_test(path: Path) -> None:
    """A declared corpus has the test of all of them."""
    assert path.read_text(encoding="utf-8").startswith("# SPDX-License-Identifier: ")
    is_tested = (ROOT / "tests" / "contrib" / f"test_{path.stem}.py").is_file()
    name = path.stem.replace("_", "-")
    assert is_tested or (path.parent.name == "corpora" and is_declared(name))


@each_file
def test_a_file_uses_public_names_alone(path: Path) -> None:
    public = {
        "target_bench": dir(target_bench),
        "target_bench.plugin_tools": plugin_tools.__all__,
    }
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            if str(node.module).split(".")[0] == "target_bench":
                assert {alias.name for alias in node.names} <= set(public[str(node.module)])
        elif isinstance(node, ast.Import):
            assert not any(a.name.split(".")[0] == "target_bench" for a in node.names)


@each_file
def test_a_file_is_found_by_its_name_and_identified_by_its_content(path: Path) -> None:
    kind, name = KINDS[path.parent.name], path.stem.replace("_", "-")
    assert name not in registry.BUILT_IN[kind]
    plugin = registry.resolve(kind, name)
    assert registry.contributed_file(kind, name) == f"{path.parent.name}/{path.name}"
    assert not registry.is_package_code(plugin)
    own = [base for base in plugin.__mro__[1:] if registry.is_package_code(base)]
    parts = {digest(path), *(f"{b.__qualname__} {getattr(b, 'VERSION', '')}" for b in own)}
    whole = "\n".join(sorted(parts | {"object "}))
    assert identity.code_hash(plugin) in {_sha256(whole), _sha256("\n".join(sorted(parts)))}


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the wheel and the source distribution, built from this checkout."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("building needs hatchling: pip install hatchling")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(scope="module")
def site(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of the wheel, a contributed file more, and two broken ones."""
    folder = tmp_path_factory.mktemp("site")
    zipfile.ZipFile(next(dist.glob("*.whl"))).extractall(folder)
    retrievers = folder / "target_bench" / "contrib" / "retrievers"
    (retrievers / "in_order.py").write_text(SEARCH, encoding="utf-8")
    (retrievers / "broken.py").write_text("import target_bench\n\n1 / 0\n", encoding="utf-8")
    two = SEARCH + "\n\nclass Second(First):\n    pass\n"
    (retrievers / "two_classes.py").write_text(two, encoding="utf-8")
    return folder


def _command(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "target_bench", *arguments],
        cwd=site.parent,
        env=os.environ | {"PYTHONPATH": str(site), "COLUMNS": "200", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_a_wheel_and_a_source_distribution_have_every_file(dist: Path) -> None:
    in_wheel = zipfile.ZipFile(next(dist.glob("*.whl"))).namelist()
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        in_source = {name.partition("/")[2] for name in archive.getnames()}
    for path in FILES:
        file = f"{path.parent.name}/{path.name}"
        assert f"target_bench/contrib/{file}" in in_wheel
        assert file in in_source
    assert "target_bench/contrib/retrievers/sets_weights.json" in in_wheel
    assert not [name for name in in_wheel if name.split("/")[0] in KINDS]


def test_an_editable_install_names_the_checkout_and_copies_nothing(tmp_path: Path) -> None:
    build = pytest.importorskip("hatchling.build")
    code = "import hatchling.build, sys; print(hatchling.build.build_editable(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, check=True)
    assert build
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        files = [name for name in wheel.namelist() if ".dist-info/" not in name]
        assert [wheel.read(name).decode().strip() for name in files] == [str(ROOT)]


def test_a_file_that_is_dropped_in_is_run_by_its_name(site: Path) -> None:
    done = _command(site, "run", "mini", "--retriever", "in-order", "--limit", "3", "--json")
    assert done.returncode == 0, done.stderr
    assert "in-order" in done.stdout


def test_a_broken_file_breaks_no_other_and_is_told_by_file_and_line(site: Path) -> None:
    listed = _command(site, "list", "retrievers")
    assert listed.returncode == 0, listed.stderr
    assert "Ranks tables in the order of the corpus." in listed.stdout
    assert "ZeroDivisionError" in listed.stdout
    named = _command(site, "run", "mini", "--retriever", "broken")
    assert named.returncode == 2
    assert "ZeroDivisionError" in named.stderr
    assert 'broken.py", line 3' in named.stderr
    two = _command(site, "run", "mini", "--retriever", "two-classes")
    assert "defines the public classes First, Second" in two.stderr
