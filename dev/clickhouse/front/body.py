"""The body of a request as something to read from: by length or in chunks, and whatever encoding lies on it.

Every body has `read(size)`: some bytes, at most about `size`, and b"" at the end. A client that goes away early
raises `Disconnected`, so what it sent so far is never taken for the whole.
"""

import zlib

import lz4.frame
import zstandard

from .errors import Disconnected, refuse

PIECE = 1 << 20


def all_of(source, limit, too_large):
    """Everything, or `too_large` raised when that is more than `limit` bytes."""
    parts, size = [], 0
    while True:
        part = source.read(PIECE)
        if not part:
            return b"".join(parts)
        parts.append(part)
        size += len(part)
        if size > limit:
            raise too_large


class Empty:
    """No body."""

    complete = True

    def read(self, _size):
        return b""


class Sized:
    """A body of a known length."""

    def __init__(self, stream, length):
        self._stream = stream
        self._left = length

    @property
    def complete(self):
        """Whether everything was read, so that the next request can follow on this connection."""
        return self._left == 0

    def read(self, size):
        if not self._left:
            return b""
        data = self._stream.read(min(size, self._left))
        if not data:
            raise Disconnected
        self._left -= len(data)
        return data


class Chunked:
    """A body in chunks; the last one has no bytes."""

    def __init__(self, stream):
        self._stream = stream
        self._left = 0
        self.complete = False

    def read(self, size):
        if self.complete:
            return b""
        if not self._left and not self._next_chunk():
            return b""
        data = self._stream.read(min(size, self._left))
        if not data:
            raise Disconnected
        self._left -= len(data)
        if not self._left:
            self._line()
        return data

    def _next_chunk(self):
        size = self._line().split(b";")[0].strip()
        try:
            self._left = int(size, 16)
        except ValueError:
            raise Disconnected from None
        if self._left:
            return True
        while self._line():
            pass  # trailers say nothing that is needed
        self.complete = True
        return False

    def _line(self):
        line = self._stream.readline(4096)
        if not line.endswith(b"\n"):
            raise Disconnected
        return line.strip()


class Decoded:
    """A body under gzip, deflate, lz4 or zstd, by the decompressor's streaming interface."""

    def __init__(self, body, decoder, errors):
        self._body = body
        self._decoder = decoder
        self._errors = errors

    def read(self, size):
        while True:
            packed = self._body.read(size)
            if not packed:
                if not self._decoder.eof:
                    raise refuse(33, "CANNOT_READ_ALL_DATA", "The compressed body ends early")
                return b""
            try:
                data = self._decoder.decompress(packed)
            except self._errors as error:
                raise refuse(271, "CANNOT_DECOMPRESS", f"Cannot decompress the body: {error}") from None
            if data:
                return data


def of_request(stream, headers):
    """The raw body of a request."""
    if "chunked" in headers.get("Transfer-Encoding", "").lower():
        return Chunked(stream)
    length = headers.get("Content-Length", "0")
    if not length.isdigit():
        raise refuse(381, "HTTP_LENGTH_REQUIRED", f"Content-Length '{length}' is no number")
    return Sized(stream, int(length)) if int(length) else Empty()


def decoded(body, encoding):
    """The body without its Content-Encoding."""
    encoding = (encoding or "").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding in ("gzip", "deflate"):
        return Decoded(body, zlib.decompressobj(zlib.MAX_WBITS | 32), zlib.error)
    if encoding == "lz4":
        return Decoded(body, lz4.frame.LZ4FrameDecompressor(), RuntimeError)
    if encoding == "zstd":
        return Decoded(body, zstandard.ZstdDecompressor().decompressobj(), zstandard.ZstdError)
    raise refuse(89, "UNKNOWN_COMPRESSION_METHOD", f"Unknown compression method '{encoding}' of the body")
