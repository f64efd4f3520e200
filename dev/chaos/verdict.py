"""Judges a run: what is in its tables against a quiet ingest of the same topic, and that against what was sent."""

from dataclasses import dataclass, field

_NUMBER = "inet_diag_msg_socket_cookie"
_ERRORS = "xtcp_flat_records_errors"
_REFUSED = "refused_by_server"
_OFFENDERS = 100_000
_PEAK_MIB = 512

# A column of the error table that is the server's own.
_OF_SERVER = "observed_at"


@dataclass
class Verdict:
    """What was found; it passed when `findings` is empty."""

    findings: list = field(default_factory=list)
    # Keys that are not as they must be: table, key, what is wrong, copies here and in the reference.
    offenders: list = field(default_factory=list)
    rows: int = 0
    diverted: int = 0
    doubled: int = 0
    digest: dict = field(default_factory=dict)

    @property
    def passed(self):
        return not self.findings


def judge(clickhouse, database, reference, sent, allow_doubled):
    """Compares two databases: every record and every diverted piece once, with the same values in all columns.

    `sent` has `rows` by table and `diverted` by reason, as the generator counted them.
    """
    verdict = Verdict()
    wanted = tables(clickhouse, reference)
    if missing := wanted - tables(clickhouse, database):
        verdict.findings.append(f"tables are missing: {', '.join(sorted(missing))}")
        return verdict
    for table in sorted(wanted):
        _compare(clickhouse, verdict, table, database, reference, allow_doubled)
    _reference_is_whole(clickhouse, verdict, reference, wanted, sent)
    return verdict


def judge_offsets(verdict, committed, ends):
    """The committed offset of each partition is its end."""
    for partition, end in sorted(ends.items()):
        offset = committed.get(partition, (0, ""))[0]
        if offset != end:
            verdict.findings.append(f"partition {partition} is committed up to {offset}, its end is {end}")


def judge_memory(verdict, peaks_mib):
    """No process has taken more than it may."""
    for member, peak in peaks_mib.items():
        if peak > _PEAK_MIB:
            verdict.findings.append(f"{member} took {peak:.0f} MiB, allowed are {_PEAK_MIB}")


def tables(clickhouse, database):
    """The tables of records and of what was diverted."""
    sql = f"SELECT name FROM system.tables WHERE database = '{database}' AND engine LIKE '%MergeTree'"
    return {row["name"] for row in clickhouse.rows(sql) if row["name"].startswith("xtcp_flat_records_")}


def _key(table):
    """What tells the rows of a table apart."""
    if table == _ERRORS:
        return "toString((partition, offset, byte_offset, record, toString(reason)))"
    return f"toString({_NUMBER})"


def _values(table):
    if table != _ERRORS:
        return "cityHash64(*)"
    # Of a row that the server refused, err is the server's text, which names the database and the row in the block.
    return f"cityHash64(* EXCEPT ({_OF_SERVER}, err), if(reason = '{_REFUSED}', '', err))"


def _compare(clickhouse, verdict, table, database, reference, allow_doubled):
    side = (
        f"(SELECT {_key(table)} AS key, count() AS copies, arraySort(groupUniqArray({_values(table)})) AS hashes "
        "FROM {}." + table + " GROUP BY key)"
    )
    sql = (
        "SELECT key, here.copies AS copies, there.copies AS wanted, here.hashes = there.hashes AS same "
        f"FROM {side.format(database)} AS here FULL JOIN {side.format(reference)} AS there USING key "
        f"WHERE NOT (copies = wanted AND same) ORDER BY key LIMIT {_OFFENDERS}"
    )
    counts = {}
    for row in clickhouse.rows(sql):
        what = _what(row)
        counts.setdefault(what, []).append(row["key"])
        verdict.offenders.append({"table": table, "what": what, **row})
        if what == "doubled":
            verdict.doubled += row["copies"] - row["wanted"]
    for what, keys in counts.items():
        if not (what == "doubled" and allow_doubled):
            shown = ", ".join(keys[:5]) + (", …" if len(keys) > 5 else "")
            verdict.findings.append(f"{table}: {len(keys)} {what}: {shown}")
    here, there = (_digest(clickhouse, table, name) for name in (database, reference))
    verdict.digest[table] = here
    # The same once more without any grouping, in case the comparison above is what is wrong.
    if here != there and not counts:
        verdict.findings.append(f"{table}: {here} here, {there} in the reference")
    if table == _ERRORS:
        verdict.diverted += here["rows"]
    else:
        verdict.rows += here["rows"]


def _what(row):
    if row["copies"] == 0:
        return "lost"
    if row["wanted"] == 0:
        return "never sent"
    if not row["same"]:
        return "altered"
    return "doubled" if row["copies"] > row["wanted"] else "too few"


def _digest(clickhouse, table, database):
    values = _values(table)
    return clickhouse.row(
        f"SELECT count() AS rows, sum({values}) AS sum, groupBitXor({values}) AS xor FROM {database}.{table}"
    )


def _reference_is_whole(clickhouse, verdict, reference, wanted, sent):
    """The quiet ingest has what the generator says it sent, each number once.

    Where the tables refuse rows, those are missing and stand among what was diverted instead.
    """
    sql = f"SELECT toString(reason) AS reason, count() AS pieces FROM {reference}.{_ERRORS} GROUP BY reason"
    diverted = {row["reason"]: row["pieces"] for row in clickhouse.rows(sql)}
    refused = diverted.pop(_REFUSED, 0)
    if diverted != dict(sent.diverted):
        verdict.findings.append(f"diverted in the reference: {diverted}, must be: {dict(sent.diverted)}")
    found = {}
    for table in sorted(wanted - {_ERRORS}):
        sql = f"SELECT count() AS rows, uniqExact({_NUMBER}) AS numbers FROM {reference}.{table}"
        found[table] = (row := clickhouse.row(sql))["rows"]
        if row["rows"] != row["numbers"]:
            verdict.findings.append(f"{table}: {row['rows']} rows with {row['numbers']} numbers in the reference")
    if refused == 0 and any(found[table] != sent.rows.get(table, 0) for table in found):
        verdict.findings.append(f"rows in the reference: {found}, must be: {dict(sent.rows)}")
    if sum(found.values()) + refused != sum(sent.rows.values()):
        text = f"{sum(found.values())} rows in the reference and {refused} refused"
        verdict.findings.append(f"{text}, {sum(sent.rows.values())} were sent")
