"""The three tables of the page: rows of an insert, what is in its body, and the table's definition."""

import time

import lz4.block
import zstandard
from front import framing

from .material import blocks, key, replaced, setting
from .rounds import Rounds

# As xtcp-ingest frames and seals.
FRAME = 256 << 10
SECTION = 4096
# Rows an insert where it is something else that differs, and how many such inserts.
INSERT = 65536
INSERTS = 4
# The largest is what xtcp-ingest sends at most by default.
SIZES = (1024, 4096, 16384, 65536, 131072)
# As many for each size, so that all of them are merged alike.
PARTS = 8
# How the bodies are compressed, and by what.
PACK = {
    "LZ4": lambda data: (framing.LZ4, lz4.block.compress(data, store_size=False)),
    "ZSTD(1)": lambda data: (framing.ZSTD, zstandard.compress(data, 1)),
    "none": lambda data: (framing.NONE, data),
}


def sizes(meter, database, total, passes):
    """What the rows of an insert do to its cost and to that of the merges."""

    def case(rows, bodies):
        cost, name = meter.inserts(bodies, rows)
        return {"inserts": cost, "total": cost + meter.merge(name, rows * PARTS)}

    # The largest first: it is the base.
    chosen = [rows for rows in reversed(SIZES) if rows * PARTS <= total]
    raw = {rows: blocks(database, rows, PARTS) for rows in chosen}
    found = Rounds({rows: lambda rows=rows: case(rows, raw[rows]) for rows in chosen}, passes)
    lines = [
        f"{PARTS} inserts of each size, and one merge of the {PARTS} parts that they make:",
        "",
        "| rows an insert | inserts, µs a row | ratio | with the merge, µs a row | ratio |",
        "|---:|---:|---:|---:|---:|",
    ]
    lines += [f"| {rows:,} | {_both(found, rows, 'inserts')} | {_both(found, rows, 'total')} |" for rows in chosen]
    return lines


def bodies(meter, database, total, passes):
    """What the order of the rows and the form of the body do, without merges."""
    count = _inserts(total)
    rows = INSERT * count
    plain = blocks(database, INSERT, count)
    ordered = blocks(database, INSERT, count, order=key(database))
    ways = {
        ("arrival", "one block", "LZ4"): plain,
        ("arrival", f"sections of {SECTION:,}", "LZ4"): blocks(database, INSERT, count, section=SECTION),
        ("the table's key", "one block", "LZ4"): ordered,
        ("arrival", "one block", "ZSTD(1)"): plain,
        ("arrival", "one block", "none"): plain,
    }

    def case(raw, method):
        sorting = {"sorting": meter.sorting(INSERT, count)} if raw is ordered else {}
        spent, framed = _framed(raw, PACK[method])
        packing = spent / rows * 1e6
        server, _ = meter.inserts(framed, INSERT, decompress=1)
        total = sum(sorting.values()) + packing + server
        return {**sorting, "packing": packing, "server": server, "total": total, "bytes": sum(map(len, framed)) / rows}

    found = Rounds({way: lambda way=way, raw=raw: case(raw, way[2]) for way, raw in ways.items()}, passes)
    lines = [
        f"{count} inserts of {INSERT:,} rows, no merges. Frames are compressed by liblz4 and libzstd, called from Python, not by "
        "xtcp-ingest's own code; rows are sorted by one thread of the server, in place of the sender.",
        "",
        "| order of rows | body | frames | bytes a row | sorting, µs a row | compressing, µs a row | server, µs a row | total "
        "| ratio |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for way in ways:
        lines.append(
            f"| {' | '.join(way)} | {found.figure(way, 'bytes'):.0f} | {_figure(found, way, 'sorting')} | "
            f"{_figure(found, way, 'packing')} | {_figure(found, way, 'server')} | {_both(found, way, 'total')} |"
        )
    return lines


def definitions(meter, database, total, passes):
    """What the definition of the table does."""
    count = _inserts(total)
    raw = blocks(database, INSERT, count)
    variants = {
        "as declared": lambda ddl: ddl,
        "into no table (`Null`): what parsing costs": replaced(r"ENGINE = MergeTree.*", "ENGINE = Null"),
        "parts below 100 MB in one file (`min_bytes_for_wide_part`)": setting("min_bytes_for_wide_part = 100000000"),
        "parts always in a file per column": setting("min_bytes_for_wide_part = 0"),
        "`String` instead of `LowCardinality(String)`": replaced(r"LowCardinality\(String\)", "String"),
        "`LZ4` instead of `ZSTD(1)`": replaced(r"ZSTD\(1\)", "LZ4"),
        "`ZSTD(1)` instead of `LZ4`": replaced(r"CODEC\(LZ4\)", "CODEC(ZSTD(1))"),
        "no delta of counters and times": replaced(r"DoubleDelta, ", ""),
        "no sparse columns": setting("ratio_of_defaults_for_sparse_serialization = 1.0"),
        "no key": replaced(r"ORDER BY \(.*?\)", "ORDER BY tuple()"),
        "no TTL": replaced(r"TTL .*?SETTINGS", "SETTINGS"),
    }

    def case(name, change):
        cost, where = meter.inserts(raw, INSERT, change)
        if "Null" in name:
            return {"inserts": cost}
        return {"inserts": cost, "merge": meter.merge(where, INSERT * count), "bytes": meter.on_disk(where)}

    found = Rounds({name: lambda name=name, change=change: case(name, change) for name, change in variants.items()}, passes)
    lines = [
        f"{count} inserts of {INSERT:,} rows, and one merge of all:",
        "",
        "| definition | inserts, µs a row | ratio | one merge of all, µs a row | ratio | bytes a row on disk |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in variants:
        lines.append(
            f"| {name} | {_both(found, name, 'inserts')} | {_both(found, name, 'merge')} | {_figure(found, name, 'bytes', 0)} |"
        )
    return lines


def _inserts(total):
    return min(INSERTS, total // INSERT)


def _figure(found, case, what, digits=2):
    figure = found.figure(case, what)
    return "–" if figure is None else f"{figure:.{digits}f}"


def _both(found, case, what):
    ratio = found.ratio(case, what)
    return f"{_figure(found, case, what)} | {'–' if ratio is None else f'{ratio:.2f}'}"


def _framed(raw, pack):
    """CPU seconds of compressing, and the bodies in ClickHouse's framing."""
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
