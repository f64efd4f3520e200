"""`python3 -m stack COMMAND`: the local Kafka and ClickHouse."""

import fcntl
import sys
from contextlib import contextmanager

from stack import paths
from stack.clickhouse import ClickHouse
from stack.down import clean, down
from stack.install import install
from stack.kafka import Kafka
from stack.say import line
from stack.trouble import Trouble
from stack.up import up

COMMANDS = {"up": up, "down": down, "clean": clean, "install": install}


def main():
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.exit(f"usage: python3 -m stack {'|'.join(COMMANDS)}")
    try:
        with _alone():
            COMMANDS[sys.argv[1]]([Kafka(), ClickHouse()])
    except Trouble as trouble:
        line("error", str(trouble))
        sys.exit(1)
    except KeyboardInterrupt:
        line("\nstopped", "by the keyboard; `make down` stops what was started")
        sys.exit(130)


@contextmanager
def _alone():
    """One command at a time for each .dev folder; a second one waits."""
    paths.MADE.mkdir(parents=True, exist_ok=True)
    with open(paths.MADE / "lock", "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            line("lock", f"waiting for another command on {paths.shown(paths.MADE)}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


main()
