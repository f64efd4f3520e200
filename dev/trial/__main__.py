"""`python3 -m trial demo|soak BINARY`, with the addresses of the services in the environment."""

import sys

from trial.command import carry_out
from trial.demo import demo
from trial.soak import soak

TRIALS = {"demo": demo, "soak": soak}


if len(sys.argv) != 3 or sys.argv[1] not in TRIALS:
    sys.exit(f"usage: python3 -m trial {'|'.join(TRIALS)} BINARY")
carry_out(lambda: TRIALS[sys.argv[1]](sys.argv[2]))
