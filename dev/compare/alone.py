"""ClickHouse alone: a Null table that envelopes are parsed into, and one materialized view per epoch that fills its table.

It is what a Kafka engine table and its views do, without Kafka: the engine of the local stack has no Kafka engine, and what
fetching costs is not to be part of the comparison. One insert is one block of as many rows as xtcp-ingest sends.
"""

import re
from pathlib import Path

from trial import clickhouse

_REPOSITORY = Path(__file__).resolve().parents[2]
_DEFINITIONS = _REPOSITORY / "ddl" / "epochs"
# The newest epoch and the one before it, by number.
EPOCHS = {
    number: f"xtcp_flat_records_v{number}" for number in sorted(int(path.stem[1:]) for path in _DEFINITIONS.glob("v*.yaml"))[-2:]
}
BEFORE, NEWEST = EPOCHS


class Alone:
    """The objects in a database that has the tables of the product."""

    def __init__(self, database):
        self._database = database

    def create(self):
        """Creates the tables to parse into, with views and without, and the views."""
        columns = _columns(self._database, EPOCHS[NEWEST])
        wire = ", ".join(f"{name} {_wire_type(kind)}" for name, kind in columns.items())
        for table in ("landing", "parsed"):
            clickhouse.execute(f"CREATE TABLE {self._database}.{table} ({wire}, _error String) ENGINE = Null")
        for epoch, table in EPOCHS.items():
            clickhouse.execute(self._view(epoch, table, columns))
        clickhouse.execute(
            f"CREATE MATERIALIZED VIEW {self._database}.errors_mv TO {self._database}.xtcp_flat_records_errors AS "
            f"SELECT _error AS err FROM {self._database}.landing WHERE _error != ''"
        )

    def _view(self, epoch, table, columns):
        # A column that was renamed since is named as its table has it.
        held = _columns(self._database, table)
        before = _renames()
        chosen = ", ".join(
            f"{_converted(name, kind)} AS {name if name in held else before[name]}"
            for name, kind in columns.items()
            if name in held or before.get(name) in held
        )
        return (
            f"CREATE MATERIALIZED VIEW {self._database}.v{epoch}_mv TO {self._database}.{table} AS "
            f"SELECT {chosen} FROM {self._database}.landing WHERE _error = '' AND schema_version = {epoch}"
        )

    def insert(self, table, message):
        """Has the server parse one message."""
        settings = {
            "format_schema_source": "string",
            "format_schema": _schema(),
            "format_schema_message_name": "XtcpFlatRecord",
            "max_insert_block_size": "1000000",
            # As a table of ClickHouse alone has it by default: no hash of every value is made.
            "deduplicate_insert": "disable",
        }
        clickhouse.insert(f"INSERT INTO {self._database}.{table} FORMAT ProtobufList", message, settings)


def _columns(database, table):
    sql = f"SELECT name, type FROM system.columns WHERE database = '{database}' AND table = '{table}' ORDER BY position"
    return {row["name"]: row["type"] for row in clickhouse.rows(sql)}


def _wire_type(kind):
    """The type of a column as the record has it on the wire."""
    if kind.startswith("DateTime64"):
        return "Int64"
    return "UInt8" if kind.startswith("Enum") else kind


def _converted(name, kind):
    return f"fromUnixTimestamp64Nano({name}, 'UTC')" if kind.startswith("DateTime64") else name


def _renames():
    """By the newest name of a column: the one that it had before."""
    items = (_DEFINITIONS / f"v{NEWEST}.yaml").read_text().split("\n  - ")
    names = (re.search(r"\bname: (\w+).*?\bwas: (\w+)", item, re.DOTALL) for item in items)
    return dict(found.groups() for found in names if found)


def _schema():
    """The schema in as few letters as can be, since it travels in the address of each request."""
    text = (_REPOSITORY / "proto" / "xtcp_flat_record.proto").read_text()
    lines = (line.split("//")[0].strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("package "))
