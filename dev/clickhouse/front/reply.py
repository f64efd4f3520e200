"""How results and errors look on the wire."""

import json

from . import framing

_TYPES = {
    "TabSeparated": "text/tab-separated-values; charset=UTF-8",
    "TSV": "text/tab-separated-values; charset=UTF-8",
    "CSV": "text/csv; charset=UTF-8; header=absent",
    "JSON": "application/json; charset=UTF-8",
    "JSONCompact": "application/json; charset=UTF-8",
    "JSONEachRow": "application/x-ndjson; charset=UTF-8",
    "Native": "application/octet-stream",
    "RowBinary": "application/octet-stream",
    "RowBinaryWithNamesAndTypes": "application/octet-stream",
}


def summary(result=None):
    """The value of `X-ClickHouse-Summary`: numbers as strings, as the server writes them."""
    numbers = {
        "read_rows": result.rows_read if result else 0,
        "read_bytes": result.bytes_read if result else 0,
        "written_rows": result.rows_written if result else 0,
        "written_bytes": result.bytes_written if result else 0,
        "total_rows_to_read": 0,
        "result_rows": result.rows_written if result else 0,
        "result_bytes": len(result.data) if result else 0,
        "elapsed_ns": int(result.elapsed * 1e9) if result else 0,
    }
    return json.dumps({name: str(number) for name, number in numbers.items()}, separators=(",", ":"))


def content_type(output):
    """The media type of a default format; a FORMAT clause in the statement does not change it here."""
    return _TYPES.get(output, "text/plain; charset=UTF-8")


def content(result, compressed):
    """The parts of a reply's body, under ClickHouse's framing when the client asked for that."""
    if not len(result.data):
        return []
    return list(framing.compress(result.data)) if compressed else [result.data]
