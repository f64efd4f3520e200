"""Rows as a fleet sends them, as Native blocks of any size and order, and the table that takes them."""

import re
import uuid

from compare.alone import EPOCHS, NEWEST
from compare.processes import cpu_seconds
from trial import clickhouse

SOURCE = EPOCHS[NEWEST]
# Sockets of one poll come one after the other; which host polls next is chance.
ARRIVAL = "ORDER BY cityHash64(hostname, timestamp_ns), record_counter"


def key(database):
    """The order of the table's own key."""
    return "ORDER BY " + clickhouse.rows(
        f"SELECT sorting_key AS k FROM system.tables WHERE database = '{database}' AND name = '{SOURCE}'"
    )[0]["k"]


def blocks(database, rows, of, order=ARRIVAL, section=None):
    """`of` bodies of so many rows; each of one Native block, or of sections of fewer rows."""
    bodies = []
    for number in range(of):
        body = b""
        for start in range(0, rows, section or rows):
            body += clickhouse.execute(
                f"SELECT * FROM (SELECT * FROM {database}.{SOURCE} {ARRIVAL} LIMIT {rows} OFFSET {number * rows}) {order} "
                f"LIMIT {section or rows} OFFSET {start} SETTINGS max_block_size = 1000000, max_threads = 1 FORMAT Native"
            )
        bodies.append(body)
    return bodies


def table(database, name, change=lambda ddl: ddl):
    """Creates the newest epoch's table anew under another name, its definition changed."""
    clickhouse.execute(f"DROP TABLE IF EXISTS {database}.{name} SYNC")
    ddl = clickhouse.rows(
        f"SELECT create_table_query AS q FROM system.tables WHERE database = '{database}' AND name = '{SOURCE}'"
    )[0]["q"]
    clickhouse.execute(change(ddl.replace(SOURCE, name)))


def setting(text):
    """A change of the definition: one more setting."""
    return lambda ddl: ddl.replace("index_granularity = 8192", f"index_granularity = 8192, {text}")


def replaced(pattern, by):
    """A change of the definition, by a regular expression."""
    return lambda ddl: re.sub(pattern, by, ddl, flags=re.S)


def insert(database, name, body, **settings):
    """One insert as xtcp-ingest sends it, but for its compression."""
    arguments = {
        "insert_deduplication_token": str(uuid.uuid4()),
        "max_insert_block_size": "1000000000",
        "min_insert_block_size_rows": "1000000000",
        "min_insert_block_size_bytes": "0",
        **settings,
    }
    clickhouse.insert(f"INSERT INTO {database}.{name} FORMAT Native", body, arguments)


class Meter:
    """CPU time of the server, in microseconds a row."""

    def __init__(self, server, database):
        self._server, self._database = server, database

    def inserts(self, name, bodies, rows, merges, **settings):
        """What the inserts cost, and what they cost with the merges that they lead to, if those are let."""
        clickhouse.execute(f"TRUNCATE TABLE {self._database}.{name} SYNC")
        clickhouse.execute(f"SYSTEM {'START' if merges else 'STOP'} MERGES {self._database}.{name}")
        return self.of(lambda: [insert(self._database, name, body, **settings) for body in bodies], rows * len(bodies))

    def merge(self, name, rows):
        """What it costs to merge all that was inserted, once."""
        clickhouse.execute(f"SYSTEM START MERGES {self._database}.{name}")
        return self.of(lambda: clickhouse.execute(f"OPTIMIZE TABLE {self._database}.{name} FINAL"), rows)

    def of(self, work, rows):
        """What some work costs, with the merges that follow it."""
        before = cpu_seconds(self._server)
        work()
        clickhouse.settle(self._database)
        return (cpu_seconds(self._server) - before) / rows * 1e6

    def on_disk(self, name):
        """Bytes a row of the table's parts."""
        sql = (
            f"SELECT sum(bytes_on_disk) / sum(rows) AS n FROM system.parts "
            f"WHERE active AND database = '{self._database}' AND table = '{name}'"
        )
        return clickhouse.rows(sql)[0]["n"]
