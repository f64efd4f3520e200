"""Blocks of ClickHouse's Native format, for the two types that the tests use."""

import struct


def block(**columns):
    """One block: `name=[numbers]` becomes UInt32, `name=["texts"]` String."""
    rows = len(next(iter(columns.values())))
    data = _number(len(columns)) + _number(rows)
    for name, values in columns.items():
        texts = isinstance(values[0], (str, bytes))
        data += _text(name) + _text("String" if texts else "UInt32")
        data += b"".join(map(_text, values)) if texts else struct.pack(f"<{rows}I", *values)
    return data


def _number(value):
    data = b""
    while value >= 0x80:
        data += bytes([value & 0x7F | 0x80])
        value >>= 7
    return data + bytes([value])


def _text(value):
    value = value.encode() if isinstance(value, str) else value
    return _number(len(value)) + value
