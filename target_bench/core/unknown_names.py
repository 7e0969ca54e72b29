"""Messages about names that are not known: near misses, then those that are."""

from collections.abc import Iterable


def unknown_name(kind: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name: near misses, then the list."""
    import difflib

    known = list(known)
    near = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    if name.endswith(".py"):
        hint = f" To name a class in a file write {name}:Class."
    listing = ", ".join(known) or "none"
    return f"unknown {kind} {name!r}.{hint} Known: {listing}."
