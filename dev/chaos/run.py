"""One run: a plan carried out, everything mended, and the verdict."""

import subprocess
import time
from collections import Counter
from dataclasses import dataclass, field

from stack import paths

from . import verdict
from .generator import Generator
from .timeline import Timeline
from .tracks import Tracks
from .world import World

WANTED = 10
_FAULTS_SECONDS = 240
_FIRST_INSERT_SECONDS = 45
_CATCH_UP_SECONDS = 90
_REFERENCE_SECONDS = 120


@dataclass
class Outcome:
    """What came of a run."""

    plan: object
    verdict: object
    strikes: Counter
    sent: object = None
    peaks_mib: dict = field(default_factory=dict)
    committed: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)
    seconds: float = 0
    missing: int = 0

    @property
    def passed(self):
        return self.verdict.passed

    def text(self):
        """The verdict as a person reads it."""
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(self.strikes.items()))
        judged = self.verdict
        lines = [
            f"  strikes   {sum(self.strikes.values())}: {kinds}",
            f"  placed    {judged.rows} rows, {judged.diverted} diverted pieces, {judged.doubled} doubled",
            f"  torn      {self.missing} blocks that a killed server knew and didn't have, sent again",
            "  memory    " + ", ".join(f"{who} {peak:.0f} MiB" for who, peak in self.peaks_mib.items()),
        ]
        for table, digest in judged.digest.items():
            lines.append(f"  {table:<26}{digest['rows']:>8} rows  {digest['sum']:016x} {digest['xor']:016x}")
        lines += [f"  ! {finding}" for finding in judged.findings]
        word = "PASSED" if self.passed else "FAILED"
        lines.append(f"{word} seed {self.plan.seed} in {self.seconds:.0f} s")
        return "\n".join(lines) + "\n"


def run(services, plan, product, allow_doubled, wanted=WANTED):
    """Gives the world, whose databases are still there, and the outcome."""
    timeline = Timeline()
    world = World(services, plan, product, timeline)
    generator = Generator(product.binary, services.brokers.addresses, world.topic, plan)
    timeline.event("run", f"seed {plan.seed}: {plan}")
    committed = ends = {}
    try:
        world.begin()
        generator.start()
        if not world.traffic.wait(lambda: world.traffic.landed() > 0 or generator.failure, _FIRST_INSERT_SECONDS):
            world.finding(f"no insert landed within {_FIRST_INSERT_SECONDS} s")
        Tracks(world, plan, wanted, _FAULTS_SECONDS, lambda: generator.failure).run()
        world.in_force.clear()
        timeline.event("mended", "all faults are lifted")
        generator.stop()
        if generator.failure:
            world.finding(generator.failure)
        rows = sum(generator.rows.values())
        broken = sum(generator.diverted.values())
        timeline.event("generator", f"{generator.chunks} chunks, {rows} rows, {broken} broken pieces")
        committed, ends = _catch_up(world)
        _see_added(world, committed)
        for member in world.members:
            member.ask_to_end()
        for member in world.members:
            world.see_end(member)
        world.traffic.wait(lambda: world.traffic.under_way() == 0, 5)
        _ingest_reference(world, product)
    finally:
        generator.stop_at_once()
        world.end()
    judged = verdict.judge(world.clickhouse, world.database, world.reference, generator, allow_doubled)
    verdict.judge_offsets(judged, committed, ends)
    verdict.judge_memory(judged, world.peaks_mib)
    judged.findings[:0] = [*world.findings, *_panics(world)]
    strikes = timeline.strikes
    if sum(strikes.values()) < wanted:
        judged.findings.append(f"only {sum(strikes.values())} faults struck, {wanted} are wanted")
    outcome = Outcome(plan, judged, strikes, generator, world.peaks_mib, committed, ends, timeline.seconds, _missing(world))
    return world, outcome


def _catch_up(world):
    """Waits until everything is committed; gives committed offsets and ends."""
    ends = world.kafka.ends(world.topic)
    end = time.monotonic() + _CATCH_UP_SECONDS
    while True:
        committed = world.kafka.committed(world.group, world.topic)
        left = sum(end - committed.get(partition, (0, ""))[0] for partition, end in ends.items())
        if left == 0:
            world.timeline.event("caught up", "everything is committed")
            return committed, ends
        if time.monotonic() > end:
            world.finding(f"{left} messages were not committed within {_CATCH_UP_SECONDS} s of the last fault")
            return committed, ends
        time.sleep(0.1)


def _see_added(world, committed):
    """A partition that was added has struck when something of it was consumed."""
    for number in world.added:
        if committed.get(number, (0, ""))[0] > 0:
            world.timeline.strike("partition_added", f"partition {number} was consumed")
        else:
            world.timeline.missed("partition_added", f"nothing was sent to partition {number}")


def _ingest_reference(world, product):
    begin = time.monotonic()
    command = [str(part) for part in product.reference_command(world)]
    with open(paths.log("reference"), "wb") as log:
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=_REFERENCE_SECONDS, cwd=paths.MADE
            )
        except subprocess.TimeoutExpired:
            world.finding(f"the quiet ingest did not end within {_REFERENCE_SECONDS} s")
            return
    if done.returncode:
        world.finding(f"the quiet ingest ended with {done.returncode}: {paths.shown(paths.log('reference'))}")
    world.timeline.event("reference", f"the topic ingested in quiet in {time.monotonic() - begin:.1f} s")


def _missing(world):
    """How often a member found a block missing that the server knew."""
    return sum(log.read_text(errors="replace").count("doesn't have its rows") for log in world.logs())


def _panics(world):
    """A thread that panicked may leave the process alive."""
    for log in world.logs():
        lines = [line for line in log.read_text(errors="replace").splitlines() if "panicked at" in line]
        if lines:
            yield f"{log.name}: {len(lines)} panics, the first: {lines[0][:300]}"
