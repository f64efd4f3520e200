"""Faults between the ingest and ClickHouse, by the proxies."""

import time

from . import modes
from .missed import Missed

_SECONDS = 6


def refused(world, dice):
    """Connections break as soon as something comes, for a while."""
    seconds = dice.uniform(0.3, 2.5)
    mode = world.in_force.add(modes.Refuse())
    try:
        time.sleep(seconds)
        mode.wait(1, _SECONDS)
    finally:
        world.in_force.remove(mode)
    return _hit(mode, f"{mode.strikes} inserts refused in {seconds:.1f} s")


def slow_body(world, dice):
    """Bodies trickle."""
    seconds = dice.uniform(0.3, 1.5)
    mode = _for_a_while(world, modes.SlowBody(seconds), dice.randint(2, 5))
    return _hit(mode, f"{mode.strikes} bodies took {seconds:.1f} s each")


def slow_answer(world, dice):
    """Answers come late, perhaps later than the member waits."""
    seconds, times = dice.choice([0.5, 1.5, world.plan.insert_timeout_seconds + 1.5]), dice.randint(1, 3)
    mode = _for_a_while(world, modes.SlowAnswer(seconds, times), times)
    time.sleep(seconds)
    beyond = " (more than the member waits)" if seconds > world.plan.insert_timeout_seconds else ""
    return _hit(mode, f"{mode.strikes} answers came {seconds:.1f} s late{beyond}")


def cut_body(world, dice):
    """Connections are cut in the middle of a body."""
    share, times = dice.uniform(0.05, 0.95), dice.randint(1, 4)
    mode = _for_a_while(world, modes.CutBody(share, times), times)
    return _hit(mode, f"{mode.strikes} bodies cut at {share:.0%}")


def lost_answer(world, dice):
    """Inserts land and their answers are lost."""
    times = dice.randint(1, 5)
    mode = _for_a_while(world, modes.LoseAnswer(times), times)
    return _hit(mode, f"{mode.strikes} answers lost after the insert landed")


def read_only(world, dice):
    """The server says that it is read-only."""
    code, symbol = dice.choice([(164, "READONLY"), (242, "TABLE_IS_READ_ONLY")])
    return _refusals(world, dice, code, symbol)


def memory_limit(world, dice):
    """The server says that it is out of memory."""
    return _refusals(world, dice, 241, "MEMORY_LIMIT_EXCEEDED")


def error_after_landing(world, dice):
    """An insert lands and the answer is an error."""
    code, symbol = dice.choice([(159, "TIMEOUT_EXCEEDED"), (319, "UNKNOWN_STATUS_OF_INSERT"), (210, "NETWORK_ERROR")])
    times = dice.randint(1, 4)
    mode = _for_a_while(world, modes.RefusalAfterLanding(code, symbol, times), times)
    return _hit(mode, f"{mode.strikes} inserts landed and were answered with code {code}")


def _refusals(world, dice, code, symbol):
    times = dice.randint(2, 8)
    mode = _for_a_while(world, modes.Refusal(code, symbol, times), times)
    return _hit(mode, f"{mode.strikes} inserts answered with code {code}")


def _for_a_while(world, mode, strikes):
    world.in_force.add(mode)
    try:
        mode.wait(strikes, _SECONDS)
    finally:
        world.in_force.remove(mode)
    return mode


def _hit(mode, text):
    if not mode.strikes:
        raise Missed("no insert came")
    return text
