"""What a retriever promises about itself: one function per promise, ``check_`` and its name.

It depends on its settings and on the tables it was given, and on nothing else. Functions as in
``retriever_answers``.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest import SkipTest

from target_bench.core import index_store
from target_bench.core.errors import ANY_ERROR, ConfigError
from target_bench.core.schema import Retrieval
from target_bench.testing import samples
from target_bench.testing.calls import (
    embed,
    embedded,
    expect_same,
    indexed,
    overrides,
    ranked,
    ranked_at_first,
)
from target_bench.testing.checks import CheckError, Maker, calling
from target_bench.testing.guarded_corpus import Guarded, telling
from target_bench.testing.identities import expect_identity, remade
from target_bench.testing.samples import Sample

_MEMORY = 256 * 2**20


def check_determinism(make: Maker) -> None:
    """Check that two fresh ones rank alike."""
    sample = samples.ordinary()
    one = ranked_at_first(make)
    _expect_same(
        make, sample, one, ranked(embedded(make, sample), sample),
        ("from one", "from another one made the same way"),
        "Seed what is random with a setting, and sort sets before you walk through them.",
    )  # fmt: skip


def check_independence(make: Maker) -> None:
    """Check that a ranking does not depend on what was asked before, or how often."""
    sample = samples.ordinary()
    first = ranked_at_first(make)
    with indexed(make) as retriever:
        ranked(retriever, sample, ("zebra", *sample.queries[:2]), k=1)
        backwards = ranked(retriever, sample, sample.queries[::-1])[::-1]
    _expect_same(
        make, sample, backwards, first, ("when asked again in another order", "the first time"),
        "A query is answered from its text and the tables alone: keep nothing of earlier queries.",
    )  # fmt: skip


def check_next_corpus(make: Maker) -> None:
    """Check that ``embed_corpus`` with another corpus replaces the first."""
    first, second = samples.ordinary(), samples.other()
    retriever = embedded(make, first)
    ranked(retriever, first)
    hint = "Begin embed_corpus with an empty index: one retriever may run on several corpora."
    embed(retriever, second.corpus, f"{second.name}, after another corpus", hint)
    with calling("asking after a second embed_corpus", hint):
        found = ranked(retriever, second)
    labels = ("after a second embed_corpus", "from a fresh one")
    _expect_same(make, second, found, ranked(embedded(make, second), second), labels, hint)


def check_instances(make: Maker) -> None:
    """Check that two of them with different corpora do not meet."""
    sample, elsewhere = samples.ordinary(), samples.other()
    retriever = embedded(make, sample)
    before = ranked(retriever, sample)
    embedded(make, elsewhere)
    hint = "Keep the index on self, not on the class, in the module or in a shared folder."
    with calling("asking again after another one had indexed another corpus", hint):
        after = ranked(retriever, sample)
    labels = ("after another one indexed another corpus", "before")
    _expect_same(make, sample, after, before, labels, hint)


def check_no_label_leak(make: Maker) -> None:
    """Check that it uses nothing of a corpus but what ``Corpus`` promises, and reads no labels."""
    sample = samples.ordinary()
    guarded = Guarded(sample.corpus)
    retriever = make()
    hint = "Other corpora have only what target_bench.Corpus declares."
    with calling("embed_corpus on a corpus that shows tables and nothing else", hint):
        retriever.embed_corpus(guarded)
    found = ranked(retriever, sample)
    asked = telling(guarded.asked)
    if asked:
        raise CheckError(
            f"it looked for corpus.{', corpus.'.join(asked)}. A retriever is shown tables and "
            "nothing else: no queries, no gold labels, no name of the data."
        )
    labels = ("from a corpus that shows tables and nothing else", "from a corpus in memory")
    _expect_same(make, sample, found, ranked_at_first(make), labels, hint)


def check_opaque_ids(make: Maker) -> None:
    """Check that rankings do not change when tables get other ids."""
    plain, renamed = samples.with_ids(telling=False), samples.with_ids(telling=True)
    expected = ranked_at_first(make)
    found = ranked(embedded(make, renamed), renamed)
    places = renamed.corpus.positions
    as_plain = [
        Retrieval(r.query_id, tuple(plain.corpus.ids[places[t]] for t in r.tables), r.scores)
        for r in found
    ]
    _expect_same(
        make, plain, as_plain, expected,
        ("when the ids hold words of queries", "when they are numbers"),
        "Ids can tell what data this is, and labels with it. Leave them out of what you index and "
        "of how you break ties; if you index them on purpose, skip this check and say why: "
        "skip={'opaque_ids': 'indexes ids'}.",
    )  # fmt: skip


def check_save_load(make: Maker) -> None:
    """Check that a saved index, loaded by a fresh one, ranks as before."""
    with indexed(make) as one:
        own = [name for name in ("save", "load") if overrides(one, name)]
    if not own:
        raise SkipTest("it has no save and load, so its index is built again in each run")
    if len(own) == 1:
        raise CheckError(f"it has {own[0]} alone; save and load go together")
    sample = samples.ordinary()
    retriever = embedded(make, sample)
    expected = ranked(retriever, sample)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        index = Path(folder) / "index"
        _expect_hook("save", lambda: index_store.save_index(retriever, sample.corpus, index))
        embedded(make, samples.other())  # what is not in the folder is overwritten by now
        fresh, again = make(), samples.ordinary()
        _expect_hook("load", lambda: index_store.load_index(fresh, again.corpus, index))
        labels = ("from a loaded index", "before it was saved")
        hint = (
            "Write all that retrieve needs into the folder that save is given, and nothing into "
            "another place: the folder is renamed afterwards."
        )
        with calling("asking after load", hint):
            found = ranked(fresh, again)
        _expect_same(make, sample, found, expected, labels, hint)


def _expect_hook(name: str, call: Callable[[], None]) -> None:
    try:
        call()
    except ConfigError as error:  # it does not promise to
        raise SkipTest(str(error)) from error
    except ANY_ERROR as error:
        raise CheckError(f"{name}: {error}") from error


def check_memory(make: Maker) -> None:
    """Check that a limit of memory changes no ranking."""
    with indexed(make) as one:
        if not overrides(one, "limit_memory"):
            raise SkipTest(
                "it has no limit_memory, so a run with a budget warns that it keeps none"
            )
    retriever = make()
    try:
        retriever.limit_memory(_MEMORY)
    except (NotImplementedError, ConfigError) as reason:
        why = str(reason) or "not with these settings"
        raise SkipTest(f"limit_memory of 256 MB: {why}") from reason
    sample = samples.ordinary()
    embed(retriever, sample.corpus, sample.name)
    labels = ("within 256 MB", "without a limit")
    hint = "limit_memory may change how fast the work goes, never what is found."
    _expect_same(make, sample, ranked(retriever, sample), ranked_at_first(make), labels, hint)


def check_notes(make: Maker) -> None:
    """Check that ``notes`` gives a list of texts."""
    sample = samples.ordinary()
    with indexed(make) as retriever:
        ranked(retriever, sample)
        if not callable(getattr(retriever, "notes", None)):
            raise SkipTest("it has no method notes")
        with calling("notes()"):
            notes = retriever.notes()
    if isinstance(notes, str) or not all(isinstance(note, str) for note in notes):
        raise CheckError(f"notes() returned {notes!r:.200}; return a list of texts")


def check_identity(make: Maker) -> None:
    """Check that class, settings and code are known, and its work does not change them."""
    sample = samples.ordinary()

    def work(retriever: Any) -> None:
        embed(retriever, sample.corpus, sample.name)
        ranked(retriever, sample)

    expect_identity(make, work)


def check_settings(make: Maker) -> None:
    """Check that its settings, as JSON, make one that ranks alike."""
    sample = samples.ordinary()
    again = remade(make())
    embed(again, sample.corpus, sample.name)
    labels = ("from one that is made from its settings", "from itself")
    hint = "Show in config() all that changes a ranking; by default it shows the constructor's."
    _expect_same(make, sample, ranked(again, sample), ranked_at_first(make), labels, hint)


def _expect_same(
    make: Maker,
    sample: Sample,
    found: Sequence[Retrieval],
    expected: Sequence[Retrieval],
    labels: tuple[str, str],
    hint: str,
) -> None:
    expect_same(sample, sample.queries, found, expected, labels, make.tolerance, hint)
