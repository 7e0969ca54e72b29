"""``target-bench list``: what there is, and what it needs."""

import inspect
import json
import sys

import pytest

from target_bench.core import registry
from target_bench.core.errors import MissingExtraError
from tests.cli.inside import Inside

KINDS: list[tuple[str, registry.Kind]] = [
    ("retrievers", "retriever"),
    ("generators", "generator"),
    ("encoders", "encoder"),
    ("indexes", "index"),
]
OPTIONAL = {"bm25", "exact"}
"""Plug-ins of which one setting needs an extra."""


@pytest.mark.parametrize(("what", "kind"), KINDS)
def test_every_plugin_says_what_it_needs(inside: Inside, what: str, kind: registry.Kind) -> None:
    needs = {row[kind]: row["needs"] for row in json.loads(inside.good("list", what, "--json"))}
    for name in registry.names(kind):
        plugin = registry.resolve(kind, name)
        source = inspect.getsource(sys.modules[plugin.__module__])
        if MissingExtraError.__name__ in source and name not in OPTIONAL:
            assert "extra" in needs[name] or "package" in needs[name], name
        settings = inspect.signature(plugin).parameters
        if "encoder" in settings and str(settings["encoder"].default).startswith("minilm"):
            assert "MiniLM (download)" in needs[name], name
        asks = getattr(plugin, "paid", False) or "generator" in settings
        assert ("may cost money" in needs[name]) == asks, name
    assert needs.keys() >= set(registry.names(kind))


def test_descriptions(inside: Inside) -> None:
    facts = json.loads(inside.good("describe", "corpus", "mini", "--json"))
    assert facts["tables"] == 139
    assert '"setting": "fields"' in inside.good("describe", "retriever", "bm25", "--json")
    said = inside.bad(2, "describe", "bm25")
    assert "As in: target-bench describe retriever bm25" in said
