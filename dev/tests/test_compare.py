"""What `make compare` tells of its passes, and how a process is read."""

import os
import subprocess
import time

from compare import processes
from compare.report import table


def measured(decode, ratio, parser, alone, ours):
    stages = [{"name": "decode_route_encode", "ns_per_row": decode}, {"name": "prost_decode", "ns_per_row": 4000.0}]
    cores = {"threads": 2, "rows_per_second_of_one": 1.0, "rows_per_second": 2.0, "ratio_to_one": 2.0}
    bench = {"stages": stages, "ratio_to_prost": ratio, "all_cores": cores, "rows": 10, "bytes": 9000, "compressed_bytes": 1500}
    server, process, fetching, peak = ours
    return {
        "bench": bench,
        "parser": parser,
        "alone": {"server": alone, "seconds": 2 * alone, "parts": int(alone), "server_peak": int(alone) << 20},
        "ours": {"server": server, "process": process, "fetching": fetching, "seconds": 10.0, "parts": 4, "block": int(server),
                 "server_peak": peak << 20, "peak": peak << 21},
    }


def rows_of(*figures):
    lines = table(figures, 1_000_000, "here").splitlines()
    cells = [[cell.strip() for cell in line.split("|")] for line in lines if line.startswith("|")]
    return lines[0], {name: figures for _, name, *figures, _ in cells}


def test_all_figures_of_a_side_are_of_one_pass():
    # The first has the least of the process, the second the least sum.
    first, rows = rows_of(measured(500, 4.0, 6.0, 12.0, (9.0, 1.0, 0.5, 300)), measured(400, 3.0, 7.0, 14.0, (7.0, 1.5, 0.7, 200)))
    assert "7 rows a batch" in first and "the pass with the least CPU of 2" in first
    assert rows["ClickHouse, merges included"] == ["12.00", "7.00"]
    assert rows["xtcp-ingest without librdkafka's threads"] == ["–", "1.50"]
    assert rows["sum"] == ["12.00", "8.50 (0.71 of it)"]
    assert rows["sum with them"] == ["–", "9.20"]
    assert rows["parts made"] == ["12", "4"]
    assert rows["rows/s"][0] == "41,667"


def test_what_librdkafka_takes_counts_when_a_pass_is_chosen():
    _, rows = rows_of(measured(500, 4.0, 6.0, 12.0, (8.0, 1.0, 2.0, 1)), measured(500, 4.0, 6.0, 12.0, (8.5, 1.0, 0.5, 1)))
    assert rows["sum with them"] == ["–", "10.00"]


def test_memory_is_the_most_of_all_passes():
    _, rows = rows_of(measured(500, 4.0, 6.0, 12.0, (9.0, 1.0, 0.5, 300)), measured(400, 3.0, 7.0, 1400.0, (7.0, 1.5, 0.7, 200)))
    assert rows["peak memory of ClickHouse's process"] == ["1,400 MiB", "300 MiB"]
    assert rows["peak memory of xtcp-ingest"] == ["–", "600 MiB"]


def test_ratios_on_one_core_are_within_a_pass():
    # The second decodes faster, the first takes less for all three.
    _, rows = rows_of(measured(500, 4.2, 6.0, 12.0, (9.0, 1.0, 0.5, 1)), measured(400, 3.0, 7.0, 12.0, (9.0, 1.0, 0.5, 1)))
    assert rows["decode, route, Native (`bench`)"] == ["0.50", "1"]
    assert rows["prost decoding alone (ratio: median of the rounds of `bench`)"] == ["4.00", "4.2"]
    assert rows["ClickHouse parsing `ProtobufList` into a Null table"] == ["6.00", "12.0"]


def test_cpu_time_is_that_of_the_process_asked_for():
    with subprocess.Popen(["sleep", "60"]) as idle:
        before = [processes.cpu_seconds(pid) for pid in (os.getpid(), idle.pid)]
        begin = time.process_time()
        while time.process_time() - begin < 0.1:
            pass
        own, other = (processes.cpu_seconds(pid) - had for pid, had in zip((os.getpid(), idle.pid), before))
        idle.kill()
    assert own >= 0.1 and other < 0.05


def test_a_peak_is_counted_anew():
    large = bytearray(b"x") * (200 << 20)
    before = processes.peak_bytes(os.getpid())
    del large
    processes.forget_peak(os.getpid())
    assert processes.peak_bytes(os.getpid()) < before - (100 << 20)
