"""``describe corpus --against RUN``: what changed in the tables since."""

import json
from pathlib import Path

from tests.cli.inside import Inside


def test_on_the_command_line(inside: Inside) -> None:
    shop = Path("shop")
    shop.mkdir()
    for i in range(3):
        (shop / f"t{i}.csv").write_text(f"name,place\nword{i},city{i}\n")
    (shop / "queries.csv").write_text("query_id,query,table_id\nq,word0,t0\n")
    inside.good("run", "./shop", "--retriever", "bm25", "--top-k", "1")
    (run,) = Path("runs").iterdir()
    command = ("describe", "corpus", "./shop", "--against", run.name[-12:])
    assert "The tables are those of the run" in inside.good(*command)
    (shop / "t0.csv").rename(shop / "renamed.csv")
    (shop / "t1.csv").write_text("name,place\nword1,town1\n")
    said = inside.good(*command)
    assert "renamed: 1: t0 → renamed" in said
    assert "changed: 1: t1 (cells)" in said
    document = json.loads(inside.good(*command, "--json"))
    assert (document["renamed"], document["gone"]) == ({"t0": "renamed"}, [])
    assert "not of mini" in inside.bad(2, "describe", "corpus", "mini", *command[3:])
    assert "--against is for a corpus" in inside.bad(2, "describe", "task", "qa", *command[3:])
