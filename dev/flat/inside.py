"""Inside one process, on one core: `benches/flat.rs`."""

import json
import os
import subprocess

from trial.trouble import Trouble

from . import limits

MAKER = "`make flat`: on one core"
_LIMITS = {"epochs": limits.EPOCHS, "unknown fields": limits.UNKNOWN_FIELDS, "diverted": limits.DIVERTED}
# Shown, and no more: no daemon sends such envelopes.
_SHOWN = "an envelope has all epochs"


def measure():
    """Builds and runs the bench."""
    cargo = os.environ.get("CARGO") or "cargo"
    done = subprocess.run([cargo, "bench", "--locked", "--bench", "flat"], stdout=subprocess.PIPE)
    if done.returncode:
        raise Trouble(f"`cargo bench --bench flat` ended with {done.returncode}")
    return json.loads(done.stdout)


def table(found, verdict, conditions):
    """What `benches/flat.rs` found."""
    lines = [
        f"Message value to compressed block on one core, {found['records']:,} records a case, all cases in turn, the median of "
        f"{found['rounds']} rounds; {conditions}.",
        "",
        "| case | ns | of a | ratio | to | may be |",
        "|---|---:|---|---:|---|---:|",
    ]
    for case in found["cases"]:
        unit = "record" if case["units"] == found["records"] else "message"
        head = f"| {case['group']}: {case['name']} | {case['ns']:,.0f} | {unit} |"
        if case["name"] == case["base"]:
            lines.append(f"{head} 1 | | |")
            continue
        if _SHOWN in case["name"]:
            lines.append(f"{head} {case['ratio']:.2f} | {case['base']} | – |")
            continue
        limit = _LIMITS[case["group"]]
        ratio = verdict.check(f"{case['group']}: {case['name']}", case["ratio"], limit)
        lines.append(f"{head} {ratio} | {case['base']} | {limit:g} |")
    return "\n".join(lines)
