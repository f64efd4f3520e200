"""What is in the tables: counts, and sums over every value of every column."""

from . import clickhouse


def placed(database, tables):
    """Rows of each table."""
    return {table: _number(f"SELECT count() AS n FROM {database}.{table}") for table in tables}


def diverted(database):
    """Pieces by reason."""
    sql = f"SELECT reason, count() AS n FROM {database}.xtcp_flat_records_errors GROUP BY reason"
    return {row["reason"]: row["n"] for row in clickhouse.rows(sql)}


def checksums(database, table):
    """The sum of each column as `generate --checksums` defines it."""
    sql = f"SELECT name, type FROM system.columns WHERE database = '{database}' AND table = '{table}'"
    columns = {row["name"]: row["type"] for row in clickhouse.rows(sql)}
    sums = ", ".join(
        f"toString(sum(reinterpretAsUInt64({_value(name, kind)}) * inet_diag_msg_socket_cookie)) AS {name}_sum"
        for name, kind in columns.items()
    )
    found = clickhouse.rows(f"SELECT {sums} FROM {database}.{table}")[0]
    return {name: found[f"{name}_sum"] for name in columns}


def _value(name, kind):
    if "String" in kind:
        return f"CRC32({name})"
    if kind.startswith("Enum"):
        return f"toInt64({name})"
    if kind.startswith("DateTime64"):
        return f"toUnixTimestamp64Nano({name})"
    return f"toInt64({name})" if kind.startswith("Int") else f"toUInt64({name})"


def _number(sql):
    return clickhouse.rows(sql)[0]["n"]
