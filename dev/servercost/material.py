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


def blocks(database, rows, of, order="ORDER BY arrived", section=None, output="Native"):
    """`of` bodies of so many rows; each of one Native block, or of sections of fewer rows."""
    return [
        b"".join(
            clickhouse.execute(
                f"SELECT * EXCEPT (arrived) FROM {database}.arrival WHERE arrived >= {start} "
                f"AND arrived < {start + (section or rows)} {order} "
                f"SETTINGS max_block_size = 1000000, preferred_block_size_bytes = 0, max_threads = 1 FORMAT {output}"
            )
            for start in range(number * rows, (number + 1) * rows, section or rows)
        )
        for number in range(of)
    ]


def table(database, name, change=lambda ddl: ddl):
    """Creates the newest epoch's table anew under another name, its definition changed. Nothing is merged unless asked for, and
    parts that were merged stay."""
    ddl = clickhouse.rows(
        f"SELECT create_table_query AS q FROM system.tables WHERE database = '{database}' AND name = '{SOURCE}'"
    )[0]["q"]
    kept = setting("max_bytes_to_merge_at_max_space_in_pool = 1, old_parts_lifetime = 86400")
    clickhouse.execute(change(kept(ddl.replace(SOURCE, name))))


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
    """CPU time of the server, in microseconds a row.

    Every measurement has a table of its own, and none is removed before all are done: where files were removed, ext4 without a
    journal passes over their inodes for minutes, one by one, for each file that is created, and a part has a file or two for
    each column. The same insert costs three times as much after a few TRUNCATE.
    """

    def __init__(self, server, database):
        self._server, self._database = server, database
        self._tables = 0

    def inserts(self, bodies, rows, change=lambda ddl: ddl, **settings):
        """What the inserts of so many rows each cost, and the table that they went into."""
        self._tables += 1
        name = f"measured_{self._tables}"
        table(self._database, name, change)
        work = lambda: [insert(self._database, name, body, **settings) for body in bodies]  # noqa: E731
        return self._of(work, rows * len(bodies)), name

    def merge(self, name, rows):
        """What it costs to merge all that was inserted, once."""
        return self._of(lambda: clickhouse.execute(f"OPTIMIZE TABLE {self._database}.{name} FINAL"), rows)

    def sorting(self, rows, of):
        """What it costs to sort so many blocks of so many rows by the table's key, on one thread of the server: to read them so
        without what it costs to read them as they arrived."""
        read = lambda order: self._of(lambda: blocks(self._database, rows, of, order, output="Null"), rows * of)  # noqa: E731
        return read(key(self._database)) - read("")

    def on_disk(self, name):
        """Bytes a row of the table's parts."""
        sql = (
            f"SELECT sum(bytes_on_disk) / sum(rows) AS n FROM system.parts "
            f"WHERE active AND database = '{self._database}' AND table = '{name}'"
        )
        return clickhouse.rows(sql)[0]["n"]

    def _of(self, work, rows):
        before = cpu_seconds(self._server)
        work()
        return (cpu_seconds(self._server) - before) / rows * 1e6
