"""A plain HTTP client for the front, with nothing between a test and the bytes on the wire."""

import http.client
import json
import socket
from urllib.parse import urlencode


class Reply:
    """Status, headers and body of a reply."""

    def __init__(self, response):
        self.status = response.status
        self.headers = response.headers
        self.body = response.read()

    @property
    def text(self):
        return self.body.decode()

    @property
    def code(self):
        """The numeric error code; None for a success."""
        value = self.headers["X-ClickHouse-Exception-Code"]
        return value and int(value)

    @property
    def written(self):
        return int(json.loads(self.headers["X-ClickHouse-Summary"])["written_rows"])


class Client:
    """Requests to one port; `connection` may be kept for several."""

    def __init__(self, port):
        self.port = port

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def send(self, method="POST", path="/", body=b"", headers=None, connection=None, **params):
        connection = connection or self.connect()
        target = path + ("?" + urlencode(params) if params else "")
        body = body.encode() if isinstance(body, str) else body
        connection.request(method, target, body, headers or {}, encode_chunked=not isinstance(body, bytes))
        return Reply(connection.getresponse())

    def ok(self, body=b"", **more):
        """A request that must succeed; its text without the last line end."""
        reply = self.send(body=body, **more)
        assert reply.status == 200, reply.text
        return reply.text.rstrip("\n")

    def refused(self, body=b"", **more):
        """A request that must fail: status and code."""
        reply = self.send(body=body, **more)
        assert reply.status != 200, reply.text
        assert reply.text.startswith(f"Code: {reply.code}. DB::Exception: ")
        return reply.status, reply.code

    def create_table(self, name):
        """A table of n (below a million) and s, with a deduplication window."""
        self.ok(
            f"CREATE TABLE {name} (n UInt32, s String, CONSTRAINT small CHECK n < 1000000) ENGINE = MergeTree "
            "ORDER BY n SETTINGS non_replicated_deduplication_window = 100"
        )

    def count(self, name):
        """How many rows a table has."""
        return int(self.ok(f"SELECT count() FROM {name}"))

    def socket(self):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)
