"""Faults of the ingest processes: killed, ended, frozen, joined by others."""

import re
import threading
import time

from . import modes
from .missed import Missed
from .moment import at

_STAGES = [modes.BEGUN, modes.BODY, modes.SENT, modes.ANSWERED, modes.TOLD]
# Beyond the session of the members.
_FREEZE_SECONDS = (2.6, 4.5)
_ASSIGNED = re.compile(r"assigned.*\[\d")


def kill_ingest(world, dice):
    """kill -9 at a stage of an insert."""
    stage, pause = dice.choice(_STAGES), dice.choice([0, 0, 0.3, 1.5])
    with world.lease(dice) as member:
        request = at(world, stage, lambda _: member.kill(), member)
        time.sleep(pause)
        member.start()
    return f"{member} killed, {request} {stage}; started again after {pause} s"


def late_insert(world, dice):
    """kill -9 of a process whose insert is still on the way and lands after others have taken over."""
    hold = dice.uniform(1.5, 4)
    landed = threading.Event()

    def action(request):
        member.kill()
        member.start()
        before = world.traffic.landed()
        world.traffic.wait(lambda: world.traffic.landed() > before + 3, hold)
        time.sleep(hold / 2)
        world.front.up.wait(hold)
        threading.Thread(target=lambda: _await(lambda: request.landed, 5) and landed.set(), daemon=True).start()

    with world.lease(dice) as member:
        request = at(world, modes.BUFFERED, action, member)
        if not landed.wait(5):
            raise Missed(f"the late {request} did not land")
    return f"{member} killed; {request} was on the way and landed late"


def term_ingest(world, dice):
    """SIGTERM at a stage of an insert."""
    stage, pause = dice.choice(_STAGES), dice.choice([0, 0, 1])
    with world.lease(dice) as member:
        request = at(world, stage, lambda _: member.ask_to_end(), member)
        world.see_end(member)
        time.sleep(pause)
        member.start()
    return f"{member} ended by SIGTERM, {request} {stage}; started again after {pause} s"


def freeze_ingest(world, dice):
    """SIGSTOP for longer than the session, at a stage of an insert, which may be held with it."""
    stage, seconds, held = dice.choice(_STAGES), dice.uniform(*_FREEZE_SECONDS), dice.random() < 0.6
    others = []

    def sleep():
        before = world.traffic.landed(but_of=member.slot)
        time.sleep(seconds)
        others.append(world.traffic.landed(but_of=member.slot) - before)
        member.thaw()

    def action(_):
        member.freeze()
        if held:
            sleep()

    with world.lease(dice) as member:
        request = at(world, stage, action, member)
        if not held:
            sleep()
        # Time to notice, and for what is left of its inserts.
        time.sleep(0.5)
    with_it = "held with it" if held else "going on alone"
    return (
        f"{member} frozen for {seconds:.1f} s, {request} {stage}, {with_it}; "
        f"others landed {others[0]} inserts meanwhile"
    )


def rebalance_storm(world, dice):
    """A member joins and leaves every second."""
    rounds, joined = dice.randint(3, 5), 0
    with world.guest() as guest:
        for _ in range(rounds):
            guest.start()
            joined += _await(lambda: _ASSIGNED.search(guest.log_since_start()), 4)
            time.sleep(dice.uniform(0.1, 0.9))
            if dice.random() < 0.7:
                guest.kill()
            else:
                guest.ask_to_end()
                world.see_end(guest)
    if joined < 2:
        raise Missed(f"the guest got partitions {joined} times")
    return f"a guest joined and left {rounds} times, {joined} times with partitions"


def partition_added(world, _dice):
    """One more partition; it has struck when something of it is committed at the end."""
    number = world.kafka.add_partition(world.topic) - 1
    world.added.append(number)
    world.timeline.event("partition_added", f"partition {number}")


def _await(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
