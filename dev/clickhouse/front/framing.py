"""ClickHouse's compressed framing: blocks of checksum, method, two sizes and data.

The checksum is CityHash128 over everything behind it. The compressed size counts the nine bytes of the header.
"""

import struct

import lz4.block
import zstandard
from clickhouse_cityhash.cityhash import CityHash128

from .errors import refuse

NONE, LZ4, ZSTD = 0x02, 0x82, 0x90
_HEADER = struct.Struct("<BII")
_CHECKSUM = struct.Struct("<QQ")
_LIMIT = 1 << 30
_BLOCK = 1 << 20


class Decompressed:
    """A body in that framing, read as what it holds. `read` gives one block at a time, whatever size is asked."""

    def __init__(self, body):
        self._body = body

    def read(self, _size=-1):
        while True:
            checksum = read_exactly(self._body, _CHECKSUM.size, end_allowed=True)
            if not checksum:
                return b""
            header = read_exactly(self._body, _HEADER.size)
            method, compressed, plain = _HEADER.unpack(header)
            if not _HEADER.size <= compressed <= _LIMIT or plain > _LIMIT:
                raise refuse(
                    271, "CANNOT_DECOMPRESS", f"Block sizes {compressed} and {plain} are out of range: not compressed?"
                )
            data = read_exactly(self._body, compressed - _HEADER.size)
            if _checksum(header + data) != checksum:
                raise refuse(40, "CHECKSUM_DOESNT_MATCH", f"Checksum doesn't match: a block of {compressed} bytes")
            block = _plain(method, data, plain)
            if block:
                return block


def compress(data):
    """Blocks of LZ4 for a reply."""
    view = memoryview(data)
    for start in range(0, len(view), _BLOCK):
        part = view[start : start + _BLOCK]
        yield frame(LZ4, lz4.block.compress(part, store_size=False), len(part))


def frame(method, packed, size):
    """One block, from its packed content and the size that has unpacked."""
    framed = _HEADER.pack(method, len(packed) + _HEADER.size, size) + packed
    return _checksum(framed) + framed


def read_exactly(body, size, end_allowed=False):
    """Exactly `size` bytes of a body, or b"" at its end where that is allowed."""
    data = body.read(size)
    if len(data) == size or (not data and end_allowed):
        return data
    parts, have = [data], len(data)
    while have < size:
        more = body.read(size - have)
        if not more:
            raise refuse(33, "CANNOT_READ_ALL_DATA", f"Cannot read all data: {size} bytes of a block, {have} came")
        parts.append(more)
        have += len(more)
    return b"".join(parts)


def _checksum(framed):
    number = CityHash128(framed)
    return _CHECKSUM.pack(number >> 64, number & 0xFFFFFFFFFFFFFFFF)


def _plain(method, data, size):
    try:
        if method == LZ4:
            block = lz4.block.decompress(data, uncompressed_size=size)
        elif method == ZSTD:
            block = zstandard.ZstdDecompressor().decompress(data, max_output_size=size)
        elif method == NONE:
            block = data
        else:
            raise refuse(89, "UNKNOWN_COMPRESSION_METHOD", f"Unknown compression method 0x{method:02x}")
    except (lz4.block.LZ4BlockError, zstandard.ZstdError) as error:
        raise refuse(271, "CANNOT_DECOMPRESS", f"Cannot decompress a block: {error}") from None
    if len(block) != size:
        raise refuse(271, "CANNOT_DECOMPRESS", f"A block gave {len(block)} bytes where its header says {size}")
    return block
