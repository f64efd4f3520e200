"""`python3 -m trial demo|soak BINARY`, with the addresses of the services in the environment."""

import signal
import sys

from trial.demo import demo
from trial.soak import soak
from trial.trouble import Trouble

TRIALS = {"demo": demo, "soak": soak}


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in TRIALS:
        sys.exit(f"usage: python3 -m trial {'|'.join(TRIALS)} BINARY")
    # As Ctrl-C: what was begun is cleaned up.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        TRIALS[sys.argv[1]](sys.argv[2])
    except Trouble as trouble:
        sys.exit(f"error: {trouble}")
    except KeyboardInterrupt:
        sys.exit(130)


main()
