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


def arrange(database):
    """Numbers the rows as they arrive, in a table where a range of them is found at once."""
    clickhouse.execute(
        f"CREATE TABLE {database}.arrival ENGINE = MergeTree ORDER BY arrived SETTINGS index_granularity = 1024 AS "
        f"SELECT *, toUInt64(rowNumberInAllBlocks()) AS arrived FROM (SELECT * FROM {database}.{SOURCE} {ARRIVAL}) "
        "SETTINGS max_threads = 1"
    )


def blocks(database, rows, of, order="ORDER BY arrived", section=None):
    """`of` bodies of so many rows; each of one Native block, or of sections of fewer rows."""
    return [
        b"".join(
            clickhouse.execute(
                f"SELECT * EXCEPT (arrived) FROM {database}.arrival WHERE arrived >= {start} "
                f"AND arrived < {start + (section or rows)} {order} "
                "SETTINGS max_block_size = 1000000, preferred_block_size_bytes = 0, max_threads = 1 FORMAT Native"
            )
            for start in range(number * rows, (number + 1) * rows, section or rows)
        )
        for number in range(of)
    ]


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
        work = lambda: [insert(self._database, name, body, **settings) for body in bodies]
        return self.of(work, rows * len(bodies), merges)

    def merge(self, name, rows):
        """What it costs to merge all that was inserted, once."""
        clickhouse.execute(f"SYSTEM START MERGES {self._database}.{name}")
        return self.of(lambda: clickhouse.execute(f"OPTIMIZE TABLE {self._database}.{name} FINAL"), rows)

    def of(self, work, rows, follows=True):
        """What some work costs, with the merges that follow it, if any do: waiting for them costs a little as well."""
        clickhouse.settle(self._database)
        before = cpu_seconds(self._server)
        work()
        if follows:
            clickhouse.settle(self._database)
        return (cpu_seconds(self._server) - before) / rows * 1e6

    def on_disk(self, name):
        """Bytes a row of the table's parts."""
        sql = (
            f"SELECT sum(bytes_on_disk) / sum(rows) AS n FROM system.parts "
            f"WHERE active AND database = '{self._database}' AND table = '{name}'"
        )
        return clickhouse.rows(sql)[0]["n"]
