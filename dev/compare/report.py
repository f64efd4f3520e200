"""The table of a comparison."""

import page as pages
from trial import clickhouse

from .alone import BEFORE, NEWEST

MAKER = "`make compare`"


def report(figures, rows, page):
    """Writes the table into `page` and gives it."""
    text = table(figures, rows, pages.conditions(clickhouse.data()))
    pages.put(page, MAKER, text)
    return text


def table(figures, rows, conditions):
    """Of each side, and of what is done on one core, the figures of one pass: the least ones of several would add up to less
    than any pass took."""
    one = min(map(_one_core, figures), key=lambda core: core["decode"] + core["prost"] + core["parser"] / rows * 1e6)
    each = lambda side, *keys: sum(side[key] for key in keys) / rows * 1e6  # noqa: E731
    alone = min((figure["alone"] for figure in figures), key=lambda side: each(side, "server"))
    ours = min((figure["ours"] for figure in figures), key=lambda side: each(side, "server", "process", "fetching"))
    peak = lambda way, key: f"{max(figure[way][key] for figure in figures) / (1 << 20):,.0f} MiB"  # noqa: E731
    bench = figures[0]["bench"]
    wire, packed = (bench[key] / bench["rows"] for key in ("bytes", "compressed_bytes"))
    parser = each(one, "parser")
    both, whole = each(ours, "server", "process"), each(alone, "server")
    lines = [
        f"{rows:,} records (60 % epoch {NEWEST}, 40 % epoch {BEFORE}), {ours['block']:,} rows a batch; of one core and of each "
        f"side the pass with the least CPU of {len(figures)}, of memory the most; {conditions}.",
        "",
        "| One core, the same bytes | µs a row | ratio |",
        "|---|---:|---:|",
        f"| decode, route, Native (`bench`) | {one['decode']:.2f} | 1 |",
        f"| prost decoding alone (ratio: median of the rounds of `bench`) | {one['prost']:.2f} | {one['ratio']:.1f} |",
        f"| ClickHouse parsing `ProtobufList` into a Null table | {parser:.2f} | {parser / one['decode']:.1f} |",
        "",
        cores([figure["bench"]["all_cores"] for figure in figures]),
        "",
        "| Whole way, CPU µs a row | ClickHouse alone | with xtcp-ingest |",
        "|---|---:|---:|",
        f"| ClickHouse, merges included | {whole:.2f} | {each(ours, 'server'):.2f} |",
        f"| xtcp-ingest without librdkafka's threads | – | {each(ours, 'process'):.2f} |",
        f"| sum | {whole:.2f} | {both:.2f} ({both / whole:.2f} of it) |",
        f"| librdkafka's threads | not measured | {each(ours, 'fetching'):.2f} |",
        f"| sum with them | – | {each(ours, 'server', 'process', 'fetching'):.2f} |",
        f"| bytes a row into ClickHouse | {wire:.0f} | {packed:.0f} |",
        f"| parts made | {alone['parts']} | {ours['parts']} |",
        f"| rows/s | {rows / alone['seconds']:,.0f} | {rows / ours['seconds']:,.0f} (start and end included) |",
        f"| peak memory of ClickHouse's process | {peak('alone', 'server_peak')} | {peak('ours', 'server_peak')} |",
        f"| peak memory of xtcp-ingest | – | {peak('ours', 'peak')} |",
    ]
    return "\n".join(lines)


def _one_core(figure):
    """What one core takes in one pass: microseconds a row, but for the parser, whose seconds are those of all rows."""
    stages = {stage["name"]: stage["ns_per_row"] / 1e3 for stage in figure["bench"]["stages"]}
    return {
        "decode": stages["decode_route_encode"],
        "prost": stages["prost_decode"],
        "ratio": figure["bench"]["ratio_to_prost"],
        "parser": figure["parser"],
    }


def cores(found):
    """One core beside all of them, of the pass in which they did most."""
    most = max(found, key=lambda all_cores: all_cores["rows_per_second"])
    return (f"From message to compressed block {most['rows_per_second_of_one']:,.0f} rows/s on one core, "
            f"{most['rows_per_second']:,.0f} on {most['threads']}: {most['ratio_to_one']:.2f} times as much.")
