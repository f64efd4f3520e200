"""A topic in which nearly every record or message can't be placed, for each fault that the generator knows."""

import os

from trial.product import say

from . import limits
from .trial import run

MAKER = "`make flat`: floods"
PIECES = int(os.environ.get("PIECES") or "200000")
# Those of one record: an envelope holds 99 of them and a good one.
RECORD = {
    "truncated_record": "e2",
    "wrong_wire_type": "e2",
    "long_varint": "e2",
    "field_zero": "e2",
    "open_group": "e2",
    "future_epoch": "e2",
    "unlabelled_enum": "e2",
    "far_time": "legacy_seconds",
}
# Those of a frame or a whole message, with how many good records each such message holds, and those of the message of good
# records that it is compared with.
MESSAGE = {
    "record_past_frame": (2, 3),
    "frame_past_message": (1, 3),
    "trailing_garbage": (1, 1),
    "zero_length_frame": (1, 3),
    "foreign_envelope_field": (1, 3),
    "bare_envelope": (0, 3),
    "confluent_header": (0, 3),
    "null_message": (0, 1),
    "no_bytes": (0, 1),
}
# The largest flood, to see that memory doesn't grow with it.
LONG = ("future_epoch", 4)


def measure(binary):
    """By name the cost; the good ones are named after their records a message."""
    found = {}
    for of in (1, 3, 100):
        say(f"good messages of {of} records")
        rows = PIECES if of == 100 else PIECES * of
        found[of] = run(binary, *fleet("e2"), "--rows", str(rows), "--envelope", str(of))
    for fault in [*RECORD, *MESSAGE]:
        say(f"a flood of {fault}")
        found[fault] = run(binary, *flood(fault, PIECES))
    fault, times = LONG
    say(f"{times} times the flood of {fault}")
    found["long"] = run(binary, *flood(fault, PIECES * times))
    return found


def fleet(layout):
    """What all fleets have in common."""
    return ("--mix", f"{layout}=1", "--mixed-every", "0", "--envelope-bytes", "12000000")


def flood(fault, pieces):
    """The generator's arguments for so many pieces."""
    if fault in RECORD:
        rows = max(pieces // 99, 1)
        return (*fleet(RECORD[fault]), "--rows", str(rows), "--envelope", "1", "--faults", f"{fault}={pieces}")
    good, _ = MESSAGE[fault]
    # A topic has to have a row.
    return (*fleet("e2"), "--rows", str(max(good * pieces, 1)), "--envelope", "1", "--faults", f"{fault}={pieces}")


def table(found, verdict, conditions):
    """Ratios to good messages of the same kind: CPU of the process, and the time it took with ClickHouse on the same cores."""
    lines = [
        f"{PIECES:,} diverted pieces through Kafka and `run`, all else as by default; CPU of all of its threads, start and end "
        f"taken off; {conditions}.",
        "",
        "| flood of | CPU µs | of a | to good | time to good | may be | peak MiB |",
        "|---|---:|---|---:|---:|---:|---:|",
    ]
    for of in (1, 3, 100):
        cost = found[of]
        count, unit = _units(of, cost)
        peak = verdict.memory(f"good messages of {of}", cost.peak)
        lines.append(f"| good messages of {of} | {cost.cpu / count * 1e6:.2f} | {unit} | 1 | 1 | | {peak} |")
    for fault in [*RECORD, *MESSAGE]:
        lines.append(_line(fault, fault, found, verdict))
    fault, times = LONG
    lines.append(_line(f"{times} × {fault}", "long", found, verdict))
    return "\n".join(lines)


def _line(title, name, found, verdict):
    base = MESSAGE[name][1] if name in MESSAGE else 100
    cost, good = found[name], found[base]
    count, unit = _units(base, cost)
    good_count, _ = _units(base, good)
    cpu = verdict.check(f"CPU of a flood of {title}", (cost.cpu / count) / (good.cpu / good_count), limits.DIVERTED)
    time = verdict.check(f"time of a flood of {title}", (cost.seconds / count) / (good.seconds / good_count), limits.DIVERTED)
    peak = verdict.memory(f"a flood of {title}", cost.peak)
    return f"| {title} | {cost.cpu / count * 1e6:.2f} | {unit} | {cpu} | {time} | {limits.DIVERTED:g} | {peak} |"


def _units(records_a_message, cost):
    if records_a_message == 100:
        return cost.rows + cost.pieces, "record"
    return cost.messages, "message"
