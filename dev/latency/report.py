"""The tables of `make latency`."""

MAKER = "`make latency`"


def table(figures, sizes, conditions):
    """`figures` has the backlog, and by setting of `batch.age` what goes through at most and the latencies by share of that."""
    backlog, ages = figures["backlog"], figures["ages"]
    shares = list(next(iter(ages.values()))["at"])
    lines = [
        f"Kafka, ClickHouse, the generator and xtcp-ingest on the same cores: {conditions}. "
        f"{sizes['rows']:,} rows sent as fast as it goes for the sustained rate; then {sizes['seconds']:.0f} s at a share of what "
        f"is sustained at `batch.age = {figures['reference']}`, {sizes['warm']:.0f} s before them left out; 12 partitions, "
        "100 rows a message.",
        "",
        "| `batch.age` | rows/s sustained | " + " | ".join(f"p50, p99 at {share} %" for share in shares)
        + f" | parts/s at {shares[-1]} % |",
        "|---|---:|" + "---:|" * (len(shares) + 1),
    ]
    for age, found in ages.items():
        cells = [f"{_time(at['p50'])}, {_time(at['p99'])}" for at in found["at"].values()]
        parts = found["at"][shares[-1]]["parts"]
        lines.append(f"| {age} | {found['sustained']:,.0f} | " + " | ".join(cells) + f" | {parts:.1f} |")
    rates = ", ".join(f"{at['rate']:,.0f}" for at in ages[figures["reference"]]["at"].values())
    lines += [
        "",
        f"Rows a second that were really sent at those shares: {rates}.",
        "",
        f"A backlog of {backlog['bytes'] / 1e9:.1f} GB is caught up with at {backlog['rows_per_second']:,.0f} rows/s, start and "
        "end included.",
    ]
    return "\n".join(lines)


def _time(seconds):
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:.2f} s"
