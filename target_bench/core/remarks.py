"""Notes that count peculiarities of data, and name where they are."""

from dataclasses import dataclass, field

_NAMED = 20
"""How many a note names at most."""


@dataclass(frozen=True, slots=True)
class Remarks:
    """Peculiarities, each of which becomes one note.

    Attributes:
        notes: where the notes go.
    """

    notes: list[str]
    _known: dict[str, tuple[int, list[str], str]] = field(default_factory=dict, init=False)

    def add(self, what: str, place: str, name: str = "") -> None:
        """Count a peculiarity.

        Args:
            what: the peculiarity; with names, in words that fit any number.
            place: where it is; the note has the first.
            name: what has it; the note has the first 20.
        """
        if what not in self._known:
            self._known[what] = len(self.notes), [], place
            self.notes.append("")
        number, names, first = self._known[what]
        names.append(name)
        self.notes[number] = _note(what, names, first)


def _note(what: str, names: list[str], first: str) -> str:
    n = len(names)
    if not names[0]:
        return f"{n:,} {what} (the first: {first})"
    more = f" and {n - _NAMED:,} more" if n > _NAMED else ""
    return f"{what}: {n:,} ({', '.join(names[:_NAMED])}{more}; the first: {first})"
