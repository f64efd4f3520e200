"""What `make chaos` is told, by variables of the environment."""

import os
import random
from dataclasses import dataclass
from pathlib import Path

from stack import paths
from stack.trouble import Trouble

from .plan import SCENARIOS

DELIVERIES = ("exactly_once", "at_least_once")


@dataclass(frozen=True)
class Options:
    """Validated."""

    first_seed: int
    runs: int
    minutes: float
    scenario: str
    delivery: str
    binary: str

    @classmethod
    def read(cls, environment=None):
        """From the environment; what is absent or empty has its default."""
        given = environment if environment is not None else os.environ

        def value(name, default):
            return given.get(name) or default

        return cls(
            first_seed=_number("SEED", value("SEED", str(random.SystemRandom().randrange(1, 10**9))), int),
            runs=_number("RUNS", value("RUNS", "1"), int),
            minutes=_number("MINUTES", value("MINUTES", "1e9"), float),
            scenario=_one_of("SCENARIO", value("SCENARIO", "mixed"), SCENARIOS),
            delivery=_one_of("DELIVERY", value("DELIVERY", DELIVERIES[0]), DELIVERIES),
            binary=str(Path(value("BINARY", paths.REPOSITORY / "target" / "release" / "xtcp-ingest")).resolve()),
        )


def _number(name, text, kind):
    try:
        number = kind(text)
    except ValueError:
        number = 0
    if number <= 0:
        raise Trouble(f"{name}={text} is no positive number")
    return number


def _one_of(name, text, allowed):
    if text not in allowed:
        raise Trouble(f"{name}={text} is not known; there are {', '.join(allowed)}")
    return text
