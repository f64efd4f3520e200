"""Every kind of fault by its name."""

from . import faults_network, faults_process, faults_services, plan

_MODULES = (faults_process, faults_network, faults_services)

# Those that take long and leave others room: the track goes on beside them.
BESIDE = {"freeze_ingest", "late_insert", "slow_answer"}


def by_name(kind):
    """The function of a kind: gets the world and dice, gives what it hit, raises `Missed` when that is nothing.

    One whose effect is only seen at the end of the run gives None.
    """
    for module in _MODULES:
        if hasattr(module, kind):
            return getattr(module, kind)
    raise KeyError(kind)


def check():
    """Every kind that a plan may draw is there."""
    for kind in plan.KINDS:
        by_name(kind)
