"""The table of a comparison, and its place in the page."""

import os
import platform
import re
from datetime import date

from .alone import BEFORE, NEWEST

BEGIN = "<!-- made by `make compare` -->"
END = "<!-- end of what `make compare` made -->"


def report(figures, rows, block, page):
    """Writes the table into `page` and gives it."""
    table = _table(figures, rows, block)
    text = page.read_text()
    before, found, rest = text.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise SystemExit(f"error: {page} has no `{BEGIN}` and `{END}` to write between")
    page.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")
    return table


def _table(figures, rows, block):
    least = lambda way, key: min(figure[way][key] for figure in figures)  # noqa: E731
    each = lambda way, key: least(way, key) / rows * 1e6  # noqa: E731
    stages = [{stage["name"]: stage["ns_per_row"] / 1e3 for stage in figure["bench"]["stages"]} for figure in figures]
    decode, prost = (min(stage[name] for stage in stages) for name in ("decode_route_encode", "prost_decode"))
    packed = figures[0]["bench"]["compressed_bytes"] / figures[0]["bench"]["rows"]
    wire = figures[0]["bench"]["bytes"] / figures[0]["bench"]["rows"]
    parser, alone, server = each("parser", "server"), each("alone", "server"), each("ours", "server")
    process, fetching = each("ours", "process"), each("ours", "fetching")
    lines = [
        f"{rows:,} records (60 % epoch {NEWEST}, 40 % epoch {BEFORE}), {block:,} rows an insert, the least of {len(figures)} passes; "
        f"{_processor()}, {os.cpu_count()} cores, {date.today()}.",
        "",
        "| One core, the same bytes | µs a row | ratio |",
        "|---|---:|---:|",
        f"| decode, route, Native (`bench`) | {decode:.2f} | 1 |",
        f"| prost decoding alone | {prost:.2f} | {prost / decode:.1f} |",
        f"| ClickHouse parsing `ProtobufList` into a Null table | {parser:.2f} | {parser / decode:.1f} |",
        "",
        "| Whole way, CPU µs a row | ClickHouse alone | with xtcp-ingest |",
        "|---|---:|---:|",
        f"| ClickHouse, merges included | {alone:.2f} | {server:.2f} |",
        f"| xtcp-ingest without librdkafka's threads | – | {process:.2f} |",
        f"| sum | {alone:.2f} | {server + process:.2f} ({(server + process) / alone:.2f} of it) |",
        f"| librdkafka's threads | not measured | {fetching:.2f} |",
        f"| sum with them | – | {server + process + fetching:.2f} |",
        f"| bytes a row into ClickHouse | {wire:.0f} | {packed:.0f} |",
        f"| parts made | {figures[0]['alone']['parts']} | {figures[0]['ours']['parts']} |",
        f"| rows/s | {rows / least('alone', 'seconds'):,.0f} | {rows / least('ours', 'seconds'):,.0f} (start and end included) |",
        f"| peak memory of xtcp-ingest | – | {least('ours', 'peak') / (1 << 20):.0f} MiB |",
    ]
    return "\n".join(lines)


def _processor():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as told:
            names = re.findall(r"^model name\s*: (.*)$", told.read(), re.MULTILINE)
        return names[0] if names else platform.machine()
    except OSError:
        return platform.machine()
