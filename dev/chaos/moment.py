"""Catches the moment at which an insert reaches a stage."""

from . import modes
from .missed import Missed

_SECONDS = 6
_ACTION_SECONDS = 90


def at(world, stage, action, member=None):
    """Does something when an insert, of one member or any, reaches a stage; gives the insert's name."""
    moment = world.in_force.add(modes.Moment(stage, action, member and member.slot))
    try:
        if not moment.wait(1, _SECONDS):
            if moment.cancel():
                raise Missed(f"no insert{f' of {member}' if member else ''} was {stage}")
            # It has come, and the action takes its time.
            moment.wait(1, _ACTION_SECONDS)
        if moment.error:
            raise moment.error
        return str(moment.request)
    finally:
        world.in_force.remove(moment)
