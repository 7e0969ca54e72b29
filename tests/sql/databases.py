"""Small SQLite databases that the tests of this folder make."""

import sqlite3
from contextlib import closing
from pathlib import Path

CONCERTS = """
CREATE TABLE singer(singer_id INTEGER PRIMARY KEY, name TEXT, age INT, country TEXT, fee REAL);
INSERT INTO singer VALUES (1, 'Ann', 52, 'France', 10.5), (2, 'Bo', 32, 'France', 3),
  (3, 'Cy', 29, 'Peru', NULL), (4, 'Di', 41, NULL, 7.25);
CREATE TABLE "the concert"(concert_id INT, "stage name" TEXT, singer_id TEXT, held TEXT);
INSERT INTO "the concert" VALUES (1, 'Main', '1', '2014-02-28'), (2, 'Main', '2', '2015-01-01'),
  (3, 'Side', '2', 'unknown');
CREATE VIEW french AS SELECT name, age FROM singer WHERE country = 'France';
"""


def database(path: Path, script: str = CONCERTS) -> Path:
    """A SQLite file made by a script."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script)
    return path
