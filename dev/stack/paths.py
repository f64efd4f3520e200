"""Where things are: the sources under dev/, everything that is made under .dev/."""

import os
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent
REPOSITORY = SOURCES.parent
# XTCP_DEV_DIR puts a second stack elsewhere, with ports of its own.
MADE = Path(os.environ.get("XTCP_DEV_DIR") or REPOSITORY / ".dev").resolve()

LOGS = MADE / "logs"
RUNNING = MADE / "run"
ENV = MADE / "env"
VENV = MADE / "venv"
JARS = MADE / "kafka-libs"


def log(name):
    """The log of a service or of an installation."""
    return LOGS / f"{name}.log"


def shown(path):
    """A path as a person reads it: relative to the repository where it lies inside."""
    try:
        return str(Path(path).relative_to(REPOSITORY))
    except ValueError:
        return str(path)
