"""The words of synthetic questions: some ways to say each kind, drawn at random."""

from collections.abc import Sequence
from random import Random

from target_bench.harness.questions.numbers import number_in
from target_bench.harness.questions.solving import Ask

_CELLS: dict[str, Sequence[str]] = {
    "director": ("who directed {v}", "who was {v} directed by"),
    "writer": ("who wrote {v}",),
    "author": ("who wrote {v}",),
    "winner": ("who won {v}", "who was the winner of {v}"),
    "champion": ("who won {v}",),
    "role": ("what role was played in {v}", "which character was it in {v}"),
    "year": ("in which year was {v}", "when was {v}", "what year did {v} take place"),
    "date": ("when was {v}", "on which date was {v}", "when did {v} take place"),
    "venue": ("where was {v} held", "where did {v} take place"),
    "location": ("where is {v}", "where was {v}"),
    "place": ("where was {v}",),
    "city": ("which city is {v} in", "where is {v}"),
    "population": ("how many people live in {v}",),
    "price": ("how much does {v} cost", "what does {v} cost"),
    "result": ("how did {v} end", "what was the outcome of {v}"),
    "score": ("what was the final score of {v}",),
    "album": ("which album was {v} on",),
    "label": ("which label released {v}",),
    "network": ("which channel broadcast {v}",),
    "party": ("which party did {v} belong to",),
    "country": ("which country is {v} from", "where does {v} come from"),
    "nationality": ("which country is {v} from",),
    "nation": ("which country did {v} represent",),
    "team": ("who did {v} play for", "which side did {v} play for"),
    "club": ("who did {v} play for",),
    "opponent": ("who was the opponent in {v}", "who was played against in {v}"),
    "position": ("where did {v} finish", "what was {v} ranked"),
    "rank": ("where did {v} finish",),
    "age": ("how old was {v}",),
    "length": ("how long was {v}",),
    "height": ("how tall is {v}",),
    "title": ("what was the name of {v}",),
    "artist": ("who performed {v}", "who sang {v}"),
    "award": ("which prize was given for {v}",),
    "votes": ("how many people voted for {v}",),
    "attendance": ("how many people attended {v}", "how big was the crowd at {v}"),
    "capacity": ("how many people fit into {v}",),
    "wins": ("how many times did {v} win",),
    "points": ("how many points were scored by {v}", "how many points did {v} get"),
    "goals": ("how many goals were scored by {v}",),
}
"""Last word of the name of a column -> how people ask for its cell."""

_OTHER_WORDS: dict[str, Sequence[str]] = {
    "year": ("time", "season"),
    "date": ("day", "time"),
    "film": ("movie", "picture"),
    "title": ("work", "production", "one"),
    "album": ("record", "release"),
    "song": ("track", "tune"),
    "single": ("track", "song"),
    "artist": ("musician", "performer"),
    "role": ("part", "character"),
    "award": ("prize", "honour"),
    "category": ("kind of prize", "class"),
    "result": ("outcome", "ending"),
    "score": ("outcome", "final tally"),
    "team": ("squad", "side"),
    "club": ("side", "squad"),
    "opponent": ("rival", "other side"),
    "opposition": ("rival", "other side"),
    "player": ("athlete", "sportsman"),
    "name": ("person", "one"),
    "winner": ("champion", "victor"),
    "points": ("tally", "marks"),
    "rank": ("standing", "placing"),
    "position": ("standing", "placing"),
    "competition": ("contest", "meeting"),
    "tournament": ("competition", "contest"),
    "event": ("contest", "occasion"),
    "venue": ("place", "site"),
    "location": ("place", "spot"),
    "country": ("nation", "land"),
    "nation": ("country", "land"),
    "city": ("town", "place"),
    "candidate": ("politician", "contender"),
    "party": ("political group", "side"),
    "population": ("number of inhabitants", "people"),
    "area": ("size", "extent"),
    "network": ("channel", "broadcaster"),
    "director": ("filmmaker",),
    "author": ("writer",),
    "notes": ("remarks", "details"),
    "length": ("duration", "extent"),
    "price": ("cost", "amount charged"),
    "attendance": ("crowd", "number of spectators"),
    "driver": ("racer",),
    "school": ("place of learning",),
}
"""Last word of the name of a column -> other words for it."""

_ANY_CELL = (
    "what is the {a} of {v}",
    "what was the {a} for {v}",
    "which {a} does {v} have",
    "what {a} did {v} have",
    "which {a} is listed for {v}",
)
_TWO = ("what are the {a} and {b} of {v}", "which {a} and which {b} does {v} have")
_WHICH = (
    "which {a} has {v}",
    "which {a} is listed with {v}",
    "what is the {a} with {v}",
    "what {a} goes with {v}",
)
_BOTH = " and "
_COUNT = (
    "how many times does {v} appear",
    "how many have {v}",
    "what is the number of {a} entries with {v}",
    "how often is {v} listed",
)
_NEXT = (
    "which {a} comes after {v}",
    "what {a} is listed after {v}",
    "which {a} is next after {v}",
    "what is the {a} below {v}",
)
_HIGHEST = (
    "which {a} has the highest {b}",
    "which {a} has the most {b}",
    "what {a} had the greatest {b}",
    "what is the top {a} by {b}",
)
_LOWEST = (
    "which {a} has the lowest {b}",
    "which {a} has the least {b}",
    "what {a} had the smallest {b}",
)
_TOTAL = ("what is the total {a}", "how many {a} are there altogether", "what is the sum of {a}")
_MEAN = ("what is the average {a}", "what is the mean {a}")
_COMPARISON = (
    "which has more {a}, {v} or {w}",
    "who has the higher {a}, {v} or {w}",
    "is the {a} greater for {v} or for {w}",
)
_COLUMNS = (
    "what are all the {a} entries",
    "list every {a}",
    "which {a} entries are there",
)
_OF_KIND = {
    "next": _NEXT,
    "count": _COUNT,
    "highest": _HIGHEST,
    "lowest": _LOWEST,
    "total": _TOTAL,
    "mean": _MEAN,
    "comparison": _COMPARISON,
    "columns": _COLUMNS,
}
_TOPICS = ("{q} for {t}", "{q} in {t}", "for {t}, {q}", "in {t}, {q}")


def phrase(ask: Ask, rng: Random, keyed: bool) -> str:
    """Return a question as text.

    Args:
        ask: what it asks.
        rng: draws the words.
        keyed: whether its value names a row, as *Heat* does in a list of films; else it is a
            property of the row, as *1995*.
    """
    named = ask.columns[ask.asked :]
    given = named if ask.kind == "lookup" and named else [""] * len(ask.values)
    joined = _BOTH.join(map(_given, given, ask.values))
    names = {"a": _named(ask.columns[0], rng), "b": _named(ask.columns[-1], rng), "v": joined}
    if ask.kind == "comparison":
        names |= {"v": ask.values[0], "w": ask.values[1]}
    text = rng.choice(_ways(ask, rng, keyed)).format(**names)
    if ask.topic:
        text = rng.choice(_TOPICS).format(q=text, t=ask.topic)
    return f"{text[:1].upper()}{text[1:]}?"


def _named(column: str, rng: Random) -> str:
    """Return a column in its own words or in others."""
    others = _OTHER_WORDS.get(column.lower().split()[-1])
    return rng.choice(others) if others and rng.random() < _IN_OTHER_WORDS else column


_IN_OTHER_WORDS = 0.6


def _given(column: str, value: str) -> str:
    """Return a value; one that says little alone, as ``63``, with its column."""
    if not column or (number_in(value) is None and len(value) > _SHORT):
        return value
    return f"{column} {value}"


_SHORT = 3


def _ways(ask: Ask, rng: Random, keyed: bool) -> Sequence[str]:
    if ask.kind != "lookup":
        return _OF_KIND[ask.kind]
    if ask.asked > 1:
        return _TWO
    if not keyed:
        return _WHICH
    known = _CELLS.get(ask.columns[0].lower().split()[-1])
    return known if known and rng.random() < _AS_PEOPLE_SAY else _ANY_CELL


_AS_PEOPLE_SAY = 0.8
