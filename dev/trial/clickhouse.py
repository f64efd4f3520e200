"""Questions to ClickHouse over HTTP."""

import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request

from .trouble import Trouble

# A proxy in the environment is not for this.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def execute(sql):
    """Runs one statement and gives what it answers."""
    return _send(sql, sql.encode(), "", 300)


def insert(statement, body, settings):
    """Sends the data of an INSERT, under settings of its own."""
    _send(statement, body, "?" + urllib.parse.urlencode({"query": statement, **settings}), 600)


def _send(sql, body, arguments, seconds):
    url = os.environ["XTCP_INGEST_CLICKHOUSE_URL"]
    headers = {
        "X-ClickHouse-User": os.environ.get("XTCP_INGEST_CLICKHOUSE_USER", "default"),
        "X-ClickHouse-Key": os.environ.get("XTCP_INGEST_CLICKHOUSE_PASSWORD", ""),
    }
    try:
        with _OPENER.open(urllib.request.Request(url + arguments, body, headers), timeout=seconds) as reply:
            return reply.read()
    except urllib.error.HTTPError as error:
        raise Trouble(f"ClickHouse refuses `{sql[:80]}…`: {error.read().decode(errors='replace')[:300]}") from None
    except OSError as error:
        raise Trouble(f"ClickHouse does not answer at {url}: {error}") from None


def rows(sql):
    """The rows of a query, each an object; integers of 64 bits are exact."""
    answer = execute(f"{sql} FORMAT JSONEachRow SETTINGS output_format_json_quote_64bit_integers = 0")
    return [json.loads(line) for line in answer.splitlines()]


def data():
    """Where its data is."""
    return rows("SELECT path FROM system.disks WHERE name = 'default'")[0]["path"]


def settle(database):
    """Waits until no part is being merged: merging is part of what inserts cost."""
    quiet = 0
    while quiet < 4:
        time.sleep(0.5)
        merging = rows(f"SELECT count() AS n FROM system.merges WHERE database = '{database}'")[0]["n"]
        quiet = 0 if merging else quiet + 1
