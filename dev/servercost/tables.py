"""The three tables of the page: rows of an insert, what is in its body, and the table's definition."""

import time

import lz4.block
import zstandard
from front import framing

from .material import blocks, insert, key, replaced, setting, table

# As xtcp-ingest frames and seals.
FRAME = 256 << 10
SECTION = 4096


def sizes(meter, database, total, passes):
    """What the rows of an insert do to its cost and to that of the merges."""
    table(database, "sizes")
    lines = ["| rows an insert | inserts, µs a row | with merges, µs a row |", "|---:|---:|---:|"]
    for rows in (1024, 4096, 16384, 65536, 262144):
        bodies = blocks(database, rows, max(1, total // rows))
        alone = min(meter.inserts("sizes", bodies, rows, merges=False) for _ in range(passes))
        merged = min(meter.inserts("sizes", bodies, rows, merges=True) for _ in range(passes))
        lines.append(f"| {rows:,} | {alone:.2f} | {merged:.2f} |")
    return lines


def bodies(meter, database, total, passes):
    """What the order of the rows and the form of the body do: 65,536 rows an insert, no merges."""
    rows = 65536
    count = total // rows
    table(database, "bodies")
    plain = blocks(database, rows, count)
    ways = [
        ("arrival", "one block", "LZ4", plain),
        ("arrival", f"sections of {SECTION:,}", "LZ4", blocks(database, rows, count, section=SECTION)),
        ("the table's key", "one block", "LZ4", blocks(database, rows, count, order=key(database))),
        ("arrival", "one block", "ZSTD(1)", plain),
        ("arrival", "one block", "none", plain),
    ]
    lines = [
        "| order of rows | body | frames | bytes a row | compressing them, µs a row | server, µs a row |",
        "|---|---|---|---:|---:|---:|",
    ]
    for order, form, method, raw in ways:
        spent, framed = min((_framed(raw, method) for _ in range(passes)), key=lambda pair: pair[0])
        cost = min(meter.inserts("bodies", framed, rows, merges=False, decompress=1) for _ in range(passes))
        size = sum(map(len, framed)) / (rows * count)
        lines.append(f"| {order} | {form} | {method} | {size:.0f} | {spent / (rows * count) * 1e6:.2f} | {cost:.2f} |")
    return lines


def definitions(meter, database, total, passes):
    """What the definition of the table does: 65,536 rows an insert, and one merge of all."""
    rows = 65536
    count = total // rows
    raw = blocks(database, rows, count)
    variants = [
        ("as declared", lambda ddl: ddl),
        ("into no table (`Null`): what parsing costs", replaced(r"ENGINE = MergeTree.*", "ENGINE = Null")),
        ("parts below 100 MB in one file (`min_bytes_for_wide_part`)", setting("min_bytes_for_wide_part = 100000000")),
        ("parts always in a file per column", setting("min_bytes_for_wide_part = 0")),
        ("`String` instead of `LowCardinality(String)`", replaced(r"LowCardinality\(String\)", "String")),
        ("`LZ4` instead of `ZSTD(1)`", replaced(r"ZSTD\(1\)", "LZ4")),
        ("`ZSTD(1)` instead of `LZ4`", replaced(r"CODEC\(LZ4\)", "CODEC(ZSTD(1))")),
        ("no delta of counters and times", replaced(r"DoubleDelta, ", "")),
        ("no sparse columns", setting("ratio_of_defaults_for_sparse_serialization = 1.0")),
        ("no key", replaced(r"ORDER BY \(.*?\)", "ORDER BY tuple()")),
        ("no TTL", replaced(r"TTL .*?SETTINGS", "SETTINGS")),
    ]
    lines = ["| definition | inserts, µs a row | one merge of all, µs a row | bytes a row on disk |", "|---|---:|---:|---:|"]
    for name, change in variants:
        table(database, "defined", change)
        if "Null" in name:
            work = lambda: [insert(database, "defined", body) for body in raw]
            cost = min(meter.of(work, rows * count, follows=False) for _ in range(passes))
            lines.append(f"| {name} | {cost:.2f} | – | – |")
            continue
        cost, merge = [], []
        for _ in range(passes):
            cost.append(meter.inserts("defined", raw, rows, merges=False))
            merge.append(meter.merge("defined", rows * count))
        lines.append(f"| {name} | {min(cost):.2f} | {min(merge):.2f} | {meter.on_disk('defined'):.0f} |")
    return lines


def _framed(raw, method):
    """CPU seconds of compressing, and the bodies in ClickHouse's framing."""
    pack = {
        "LZ4": lambda data: (framing.LZ4, lz4.block.compress(data, store_size=False)),
        "ZSTD(1)": lambda data: (framing.ZSTD, zstandard.compress(data, 1)),
        "none": lambda data: (framing.NONE, data),
    }[method]
    spent, framed = 0.0, []
    for body in raw:
        frames = []
        for start in range(0, len(body), FRAME):
            begin = time.process_time()
            kind, packed = pack(body[start : start + FRAME])
            spent += time.process_time() - begin
            frames.append(framing.frame(kind, packed, min(FRAME, len(body) - start)))
        framed.append(b"".join(frames))
    return spent, framed
