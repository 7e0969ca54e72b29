from typing import Any


def markdown_table_str(table_array: list[list[Any]], num_rows: int | None = None) -> str:
    rows = table_array if num_rows is None else table_array[: 1 + num_rows]
    return "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows)
