"""What makes tables of measurements: their place in the page, quantiles, Kafka's log, and what counts as flat."""

import re
import struct
from pathlib import Path
from types import SimpleNamespace

import page as pages
import pytest
from compare.report import cores
from flat import backlog, floods, inside, limits, partitions
from latency import kafka_log, report, spread
from trial.definitions import with_partitions
from trial.trouble import Trouble

PAGE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"
PARTS = (inside, floods, partitions, backlog)


def test_a_table_goes_between_the_lines_of_its_maker(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- made by `x` -->\nold\n<!-- end of what `x` made -->\nb\n")
    pages.put(page, "`x`", "| new |")
    assert page.read_text() == "a\n<!-- made by `x` -->\n| new |\n<!-- end of what `x` made -->\nb\n"


def test_a_page_without_the_lines_is_left_alone(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- end of what `x` made -->\n<!-- made by `x` -->\n")
    with pytest.raises(SystemExit, match="to write between"):
        pages.put(page, "`x`", "new")
    assert "new" not in page.read_text()


@pytest.mark.parametrize("maker", [report.MAKER, *(part.MAKER for part in PARTS)])
def test_the_page_has_a_place_for_each_table(maker, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(PAGE.read_text())
    pages.put(page, maker, "| 4711 |")
    assert "| 4711 |" in page.read_text()


def test_half_of_the_rows_wait_no_longer_than_the_median():
    waits = [(3.0, 10), (1.0, 50), (2.0, 39), (9.0, 1)]
    assert spread.quantile(waits, 0.5) == 1.0
    assert spread.quantile(waits, 0.51) == 2.0
    assert spread.quantile(waits, 0.99) == 3.0
    assert spread.quantile(waits, 1) == 9.0


def test_a_row_waits_from_its_message_until_its_part():
    # Two partitions; message 3 is the second one of partition 1.
    sent, visible = [[10.0, 12.0], [11.0, 13.0]], {7: 15.0, 8: 20.0}
    batches = [(7, 0, 100), (8, 2, 60), (8, 3, 40), (7, 1, 100)]
    assert spread.waits(sent, visible, batches, 2) == [(8.0, 60), (7.0, 40)]


def batch(first, count, ms):
    head = struct.pack(">qiibIhiqq", first, 49 + 5, 0, 2, 0, 4, count - 1, ms, ms + 3)
    return head + bytes(61 - len(head)) + b"value"


def test_each_offset_has_the_first_timestamp_of_its_batch(tmp_path):
    for partition in range(2):
        (tmp_path / f"t-{partition}").mkdir()
    (tmp_path / "t-0" / "00.log").write_bytes(batch(0, 2, 1500) + batch(2, 1, 2500) + bytes(100))
    (tmp_path / "t-0" / "03.log").write_bytes(batch(3, 1, 3500))
    (tmp_path / "t-1" / "00.log").write_bytes(b"")
    assert kafka_log.timestamps(tmp_path, "t", 2) == [[1.5, 1.5, 2.5, 3.5], []]


def test_a_gap_in_the_log_is_no_timestamp_of_another_message(tmp_path):
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "00.log").write_bytes(batch(0, 2, 1500) + batch(3, 1, 2500))
    with pytest.raises(Trouble, match="offset 2 is not in"):
        kafka_log.timestamps(tmp_path, "t", 1)


def test_what_is_over_its_limit_is_marked_and_said():
    verdict = limits.Verdict()
    assert verdict.check("a", 1.1, 1.1) == "1.10" and not verdict.lines
    assert verdict.check("b", 3.2, 3) == "**3.20**"
    assert verdict.memory("c", 100 << 20) == "100" and verdict.memory("d", 600 << 20) == "**600**"
    assert verdict.lines == ["b: 3.20, at most 3 is flat", "d: 600 MiB, at most 512 are allowed"]


def cost(**changed):
    return SimpleNamespace(**{"messages": 100, "bytes": 1e9, "rows": 100, "pieces": 0, "seconds": 1.0, "peak": 1 << 27, "cpu": 1.0,
                              **changed})


def test_a_flood_is_compared_with_good_messages_of_its_kind():
    names = [*floods.RECORD, *floods.MESSAGE]
    found = {of: cost(messages=100 // of) for of in (1, 3, 100)} | {name: cost(rows=1, pieces=99) for name in names}
    found["long"] = cost(rows=1, pieces=399, cpu=20.0, peak=1 << 28)
    found["null_message"] = cost(messages=50, rows=1, pieces=50, cpu=0.25, seconds=2.0)
    verdict = limits.Verdict()
    lines = floods.table(found, verdict, "here").splitlines()
    line = lambda name: next(line for line in lines if line.startswith(f"| {name} |"))  # noqa: E731
    assert line("null_message").startswith("| null_message | 5000.00 | message | 0.50 | **4.00** | 3 |")
    assert line("4 × future_epoch").startswith("| 4 × future_epoch | 50000.00 | record | **5.00** | 0.25 | 3 | 256 |")
    assert verdict.lines[-1].startswith("CPU of a flood of 4 × future_epoch")


@pytest.mark.parametrize("fault", [*floods.RECORD, *floods.MESSAGE])
def test_a_flood_is_nearly_nothing_else(fault):
    arguments = floods.flood(fault, 9900)
    rows = int(arguments[arguments.index("--rows") + 1])
    assert arguments[-1] == f"{fault}=9900" and 1 <= rows <= 2 * 9900
    if fault in floods.RECORD:
        assert rows == 100


def test_every_fault_of_the_generator_is_a_flood():
    source = (Path(__file__).resolve().parents[2] / "src" / "fleet" / "fault.rs").read_text()
    names = re.findall(r'of\(F::\w+, "(\w+)"', source)
    assert sorted(names) == sorted([*floods.RECORD, *floods.MESSAGE])


def test_ratios_to_the_first_of_the_row():
    verdict = limits.Verdict()
    found = dict(zip(partitions.COUNTS, (cost(), cost(cpu=1.2), cost(cpu=1.5), cost(cpu=2.0, peak=1 << 30))))
    last = partitions.table(found, verdict, "here").splitlines()[-1]
    assert last == "| 200 | 20000.00 | **2.00** | 1.5 | 100 | **1024** |"
    found = dict(zip(backlog.GIGABYTES, (cost(), cost(peak=1 << 28))))
    last = backlog.table(found, verdict, "here").splitlines()[-1]
    assert last == "| 1.0 GB | 100 | 256 | **2.00** | 1.25 | 100 |"


def test_cases_on_one_core_have_the_limit_of_their_group():
    case = {"group": "epochs", "name": "1", "base": "1", "units": 10, "ns": 1000.0, "ratio": 1.0}
    slow = {**case, "name": "50", "ns": 1200.0, "ratio": 1.2}
    mixed = {**slow, "name": "50, an envelope has all epochs"}
    verdict = limits.Verdict()
    lines = inside.table({"records": 10, "rounds": 3, "cases": [case, mixed, slow]}, verdict, "here").splitlines()
    assert lines[-2] == "| epochs: 50, an envelope has all epochs | 1,200 | record | 1.20 | 1 | – |"
    assert lines[-1] == "| epochs: 50 | 1,200 | record | **1.20** | 1 | 1.1 |"
    assert verdict.lines == ["epochs: 50: 1.20, at most 1.1 is flat"]


def test_the_tables_of_latency_have_a_row_for_each_age():
    at = {share: {"rate": share * 10.0, "p50": 0.7, "p99": 1.25, "parts": 12.0} for share in (10, 50, 90)}
    ages = {age: {"sustained": 1000.0, "at": at} for age in ("1s", "5s")}
    figures = {"backlog": {"bytes": 2e9, "rows_per_second": 5000.0}, "ages": ages, "reference": "1s"}
    lines = report.table(figures, {"rows": 10, "seconds": 5.0, "warm": 1.0}, "here").splitlines()
    assert "| 5s | 1,000 | 700 ms, 1.25 s | 700 ms, 1.25 s | 700 ms, 1.25 s | 12.0 |" in lines
    assert "Rows a second that were really sent at those shares: 100, 500, 900." in lines


def test_a_trial_has_as_many_partitions_as_it_asks_for(tmp_path):
    copy = with_partitions(37, tmp_path / "ddl")
    assert "  partitions: 37\n" in (copy / "topics" / "landing.yaml").read_text()


def test_all_cores_are_shown_beside_one():
    one, two = ({"threads": 2, "rows_per_second_of_one": n, "rows_per_second": 1.9 * n, "ratio_to_one": 1.9} for n in (1000.0, 2000.0))
    assert cores([one, two]) == "From message to compressed block 2,000 rows/s on one core, 3,800 on 2: 1.90 times as much."
