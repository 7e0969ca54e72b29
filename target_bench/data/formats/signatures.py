"""The kind of a file by its first bytes, where its name says another one."""

import io
import zipfile

_FIRST_BYTES = {
    b"PAR1": ("a Parquet file", ".parquet"),
    b"\x1f\x8b": ("a gzipped file", ".gz after its suffix"),
}
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"


def advice(content: bytes, suffix: str) -> str:
    """Return the kind of a file and a remedy, where it is not of the kind of its suffix.

    Args:
        content: what is in the file.
        suffix: by which it was read.

    Returns:
        A sentence or two; empty if the content is of no known kind, or of the kind of its suffix.
    """
    if content.startswith(_OLD_OFFICE):
        return (
            "It is a workbook of Excel 97 (.xls), or one with a password. Open it in a spreadsheet "
            "program and save it as .xlsx without a password."
        )
    kind, right = _kind(content)
    return f"It is {kind}. Rename it to end in {right}." if kind and right != suffix else ""


def _kind(content: bytes) -> tuple[str, str]:
    for mark, found in _FIRST_BYTES.items():
        if content.startswith(mark):
            return found
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            names = set(parts.namelist())
        if "xl/workbook.xml" in names:
            return "a workbook of Excel", ".xlsx"
        return ("an OpenDocument workbook", ".ods") if "content.xml" in names else ("", "")
    if content.lstrip().lower().startswith((b"<!doctype html", b"<html", b"<table")):
        return "", ""
    return ("text", ".csv") if content.strip() and _is_text(content) else ("", "")


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False
