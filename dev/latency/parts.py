"""Which part brought which rows, and when it could be read. Rows keep the number of their part through all merges."""

from trial import clickhouse


def keep_numbers(table):
    """Has each row of a table that is still empty keep the number of the part that brings it."""
    clickhouse.execute(f"ALTER TABLE {table} MODIFY SETTING enable_block_number_column = 1")


def new_parts(database, table):
    """Of each part that an insert made: its number, its rows, and when it was there, by the server's clock, in microseconds."""
    clickhouse.execute("SYSTEM FLUSH LOGS")
    return clickhouse.rows(
        "SELECT toUInt64(splitByChar('_', part_name)[2]) AS block, rows, "
        "toUnixTimestamp64Micro(event_time_microseconds) AS at "
        f"FROM system.part_log WHERE database = '{database}' AND table = '{table}' "
        "AND event_type = 'NewPart' AND error = 0"
    )


def visible(database, table):
    """By block number: when its part was there, in seconds."""
    return {row["block"]: row["at"] / 1e6 for row in new_parts(database, table)}


def brought(table, envelope):
    """`(block number, message, rows)`; messages have so many rows each, whose cookies count up from 1."""
    sql = f"SELECT _block_number AS block, intDiv(inet_diag_msg_socket_cookie - 1, {envelope}) AS message, count() AS n " \
          f"FROM {table} GROUP BY block, message"
    return [(row["block"], row["message"], row["n"]) for row in clickhouse.rows(sql)]
