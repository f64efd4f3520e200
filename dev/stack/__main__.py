"""`python3 -m stack COMMAND`: the local Kafka and ClickHouse."""

import sys

from stack.alone import alone
from stack.around import Ending, around
from stack.clickhouse import ClickHouse
from stack.down import clean, down
from stack.install import install
from stack.kafka import Kafka
from stack.say import line
from stack.trouble import Trouble
from stack.up import up

COMMANDS = {"up": up, "down": down, "clean": clean, "install": install}


def main():
    services = [Kafka(), ClickHouse()]
    command, *rest = sys.argv[1:] or [""]
    if command == "around" and rest:
        sys.exit(around(services, rest))
    if command not in COMMANDS or rest:
        sys.exit(f"usage: python3 -m stack {'|'.join(COMMANDS)}|around COMMAND…")
    with alone():
        COMMANDS[command](services)


try:
    main()
except Trouble as trouble:
    line("error", str(trouble))
    sys.exit(1)
except Ending as ending:
    sys.exit(128 + ending.number)
except KeyboardInterrupt:
    line("\nstopped", "by the keyboard; `make down` stops what was started")
    sys.exit(130)
