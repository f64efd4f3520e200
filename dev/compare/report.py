"""The table of a comparison."""

import page as pages

from .alone import BEFORE, NEWEST

MAKER = "`make compare`"


def report(figures, parser, rows, page):
    """Writes the table into `page` and gives it."""
    table = _table(figures, parser, rows)
    pages.put(page, MAKER, table)
    return table


def _table(figures, parser, rows):
    least = lambda way, key: min(figure[way][key] for figure in figures)  # noqa: E731
    each = lambda way, key: least(way, key) / rows * 1e6  # noqa: E731
    stages = [{stage["name"]: stage["ns_per_row"] / 1e3 for stage in figure["bench"]["stages"]} for figure in figures]
    decode, prost = (min(stage[name] for stage in stages) for name in ("decode_route_encode", "prost_decode"))
    packed = figures[0]["bench"]["compressed_bytes"] / figures[0]["bench"]["rows"]
    wire = figures[0]["bench"]["bytes"] / figures[0]["bench"]["rows"]
    parser, alone, server = parser["server"] / rows * 1e6, each("alone", "server"), each("ours", "server")
    block = figures[0]["block"]
    process, fetching = each("ours", "process"), each("ours", "fetching")
    lines = [
        f"{rows:,} records (60 % epoch {NEWEST}, 40 % epoch {BEFORE}), {block:,} rows a batch, the least of {len(figures)} passes; "
        f"{pages.conditions()}.",
        "",
        "| One core, the same bytes | µs a row | ratio |",
        "|---|---:|---:|",
        f"| decode, route, Native (`bench`) | {decode:.2f} | 1 |",
        f"| prost decoding alone | {prost:.2f} | {prost / decode:.1f} |",
        f"| ClickHouse parsing `ProtobufList` into a Null table | {parser:.2f} | {parser / decode:.1f} |",
        "",
        cores([figure["bench"]["all_cores"] for figure in figures]),
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


def cores(found):
    """One core beside all of them, of the pass in which they did most."""
    most = max(found, key=lambda all_cores: all_cores["rows_per_second"])
    return (f"From message to compressed block {most['rows_per_second_of_one']:,.0f} rows/s on one core, "
            f"{most['rows_per_second']:,.0f} on {most['threads']}: {most['ratio_to_one']:.2f} times as much.")
