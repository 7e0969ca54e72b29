"""Databases that the tests of this folder write, and what may not change about them."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb

PEOPLE = '''
CREATE TABLE People (id INTEGER, name TEXT, age INTEGER, score REAL);
INSERT INTO People VALUES
    (1, 'Ana', 30, 1.5), (2, 'Bo', NULL, 2.0), (3, 'Ana', 52, NULL), (4, 'O''Hara', 30, 1.5);
CREATE TABLE "order list" ("select" INTEGER, "a ""b""" TEXT);
INSERT INTO "order list" VALUES (7, 'x');
'''

CONCERTS = """
CREATE TABLE singer(singer_id INTEGER PRIMARY KEY, name TEXT, age INT, country TEXT, fee REAL);
INSERT INTO singer VALUES (1, 'Ann', 52, 'France', 10.5), (2, 'Bo', 32, 'France', 3),
  (3, 'Cy', 29, 'Peru', NULL), (4, 'Di', 41, NULL, 7.25);
CREATE TABLE "the concert"(concert_id INT, "stage name" TEXT, singer_id TEXT, held TEXT);
INSERT INTO "the concert" VALUES (1, 'Main', '1', '2014-02-28'), (2, 'Main', '2', '2015-01-01'),
  (3, 'Side', '2', 'unknown');
CREATE VIEW french AS SELECT name, age FROM singer WHERE country = 'France';
"""


def sqlite_file(path: Path, script: str = PEOPLE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript(script)
    return path


def duckdb_file(path: Path, script: str = PEOPLE) -> Path:
    with duckdb.connect(path) as database:
        database.execute(script)
    return path


def state(folder: Path) -> dict[str, str]:
    """The content of every file of a folder."""
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.iterdir()
        if path.is_file()
    }
