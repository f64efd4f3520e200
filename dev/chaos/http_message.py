"""HTTP/1.1 messages on a socket: heads, and bodies piece by piece as they come."""

_PIECE = 4 << 10
_HEAD_LIMIT = 1 << 20


class Broken(Exception):
    """The other side closed in the middle of a message."""


class Stream:
    """Reads messages from one socket."""

    def __init__(self, connection):
        self.connection = connection
        self._buffer = b""

    def head(self):
        """A request's or a reply's head with its blank line; None when the connection ends before one."""
        while b"\r\n\r\n" not in self._buffer:
            more = self.connection.recv(_PIECE)
            if not more:
                if self._buffer:
                    raise Broken
                return None
            self._buffer += more
            if len(self._buffer) > _HEAD_LIMIT:
                raise Broken
        head, _, self._buffer = self._buffer.partition(b"\r\n\r\n")
        return head + b"\r\n\r\n"

    def body(self, head):
        """The pieces of the body that belongs to a head, as they are on the wire."""
        length = content_length(head)
        if header(head, b"transfer-encoding").lower() == b"chunked":
            yield from self._chunks()
        elif length:
            yield from self._exactly(length)

    def _chunks(self):
        while True:
            line = self._line()
            yield line
            size = int(line.split(b";")[0], 16)
            if size == 0:
                while True:
                    line = self._line()
                    yield line
                    if line == b"\r\n":
                        return
            yield from self._exactly(size + 2)

    def _exactly(self, size):
        while size:
            if not self._buffer:
                self._buffer = self._more()
            piece, self._buffer = self._buffer[:size], self._buffer[size:]
            size -= len(piece)
            yield piece

    def _line(self):
        while b"\r\n" not in self._buffer:
            self._buffer += self._more()
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line + b"\r\n"

    def _more(self):
        more = self.connection.recv(_PIECE)
        if not more:
            raise Broken
        return more


def header(head, name):
    """The value of a header; empty when it isn't there. The name is lower case."""
    for line in head.split(b"\r\n")[1:]:
        found, _, value = line.partition(b":")
        if found.strip().lower() == name:
            return value.strip()
    return b""


def content_length(head):
    """The length that a head announces; None when it announces none."""
    value = header(head, b"content-length")
    return int(value) if value else None


def status(head):
    """The status of a reply."""
    return int(head.split(b" ", 2)[1])


def exception_code(head):
    """ClickHouse's code in a reply; 0 for none."""
    return int(header(head, b"x-clickhouse-exception-code") or 0)


def refusal(code, symbol, http_status=500):
    """A reply as ClickHouse gives it for an error."""
    text = f"Code: {code}. DB::Exception: The harness says so. ({symbol}) (version 26.9.2.1)\n".encode()
    lines = [
        f"HTTP/1.1 {http_status} Internal Server Error",
        "Connection: Keep-Alive",
        "Content-Type: text/plain; charset=UTF-8",
        f"X-ClickHouse-Exception-Code: {code}",
        f"Content-Length: {len(text)}",
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + text
