"""Statements and questions to ClickHouse, past the proxies."""

import http.client
import json
import time
from urllib.parse import urlencode

_PATIENCE_SECONDS = 30


class ClickHouseError(Exception):
    """A statement that the server refused."""


class ClickHouseClient:
    """Answers of one server; one that is away is waited for."""

    def __init__(self, port):
        self._port = port

    def execute(self, sql):
        """A statement without a result, or with one that does not matter."""
        self._send(sql, {})

    def rows(self, sql):
        """The rows of a query, each a dictionary; whole numbers are numbers."""
        settings = {"default_format": "JSONEachRow", "output_format_json_quote_64bit_integers": "0"}
        return [json.loads(line) for line in self._send(sql, settings).splitlines() if line]

    def row(self, sql):
        """The row of a query that has one."""
        (row,) = self.rows(sql)
        return row

    def _send(self, sql, settings):
        end = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return self._once(sql, settings)
            except (OSError, http.client.HTTPException):
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)

    def _once(self, sql, settings):
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        try:
            connection.request("POST", "/?" + urlencode(settings), sql.encode())
            reply = connection.getresponse()
            text = reply.read().decode(errors="replace")
            if reply.status != 200:
                raise ClickHouseError(f"{sql[:200]}: {text.strip()[:500]}")
            return text
        finally:
            connection.close()
