"""The kind of a file by its first bytes, where its name says another one."""

import io
import zipfile

_FIRST_BYTES = {
    b"PAR1": ("a Parquet file", ".parquet"),
    b"\x1f\x8b": ("a gzipped file", ".gz after its suffix"),
}
_OLD_OFFICE = b"\xd0\xcf\x11\xe0"
_ZIP = b"PK\x03\x04"


def is_zip(content: bytes) -> bool:
    """Return whether it begins as a zip archive does, whole or damaged; no text begins so."""
    return content.startswith(_ZIP)


def advice(content: bytes, suffix: str) -> str:
    """Return the kind of a file and a remedy, where it is not of the kind of its suffix.

    Args:
        content: what is in the file.
        suffix: by which it was read.

    Returns:
        A sentence or two; empty if the content is of no known kind, or of the kind of its suffix.
    """
    if content.startswith(_OLD_OFFICE):
        told = (
            "It is a workbook of Excel 97 (.xls), or one with a password. Rename it to end in "
            ".xls, or save it without a password."
        )
        return told if suffix != ".xls" else ""
    kind, right = _kind(content)
    if kind and not right:
        return f"It is {kind}. Get the file anew, or save it again."
    wanted = ".xlsx" if suffix == ".xlsm" else suffix
    return f"It is {kind}. Rename it to end in {right}." if kind and right != wanted else ""


def _kind(content: bytes) -> tuple[str, str]:
    """Return what a file is and the suffix of such files, both empty where it is not known."""
    for mark, found in _FIRST_BYTES.items():
        if content.startswith(mark):
            return found
    if is_zip(content):
        return _kind_of_zip(content)
    if content.lstrip().lower().startswith((b"<!doctype html", b"<html", b"<table")):
        return "", ""
    return ("text", ".csv") if content.strip() and _is_text(content) else ("", "")


def _kind_of_zip(content: bytes) -> tuple[str, str]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as parts:
            names = set(parts.namelist())
    except Exception:  # zipfile raises many types for archives that are damaged
        return "a damaged zip archive, as workbooks are", ""
    if "xl/workbook.xml" in names:
        return "a workbook of Excel", ".xlsx"
    if "content.xml" in names:
        return "an OpenDocument workbook", ".ods"
    return "a zip archive that holds no workbook", ""


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False
