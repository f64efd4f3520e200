"""`python3 -m chaos`: runs with fresh or given seeds, a verdict for each, and a summary."""

import fcntl
import os
import signal
import sys
import time

from stack import paths
from stack.say import line
from stack.trouble import Trouble

from . import evidence, faults, sabotaged, self_check
from .options import Options
from .plan import Plan
from .product import Product
from .run import run
from .services import Services, prepare
from .summary import Summary


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Settings of the person's own shell are not for the processes here.
    for name in [name for name in os.environ if name.startswith("XTCP_INGEST_")]:
        del os.environ[name]
    try:
        options = Options.read()
        product = Product(options.binary, options.delivery)
        faults.check()
        paths.MADE.mkdir(parents=True, exist_ok=True)
        with open(paths.MADE / "lock", "w", encoding="utf-8") as lock:
            _alone(lock)
            prepare()
            sys.exit(_all(options, product))
    except Trouble as trouble:
        line("error", str(trouble))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _alone(lock):
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        where = paths.shown(paths.MADE)
        raise Trouble(f"another harness works in {where}; XTCP_DEV_DIR names another folder") from None


def _all(options, product):
    begin, summary = time.monotonic(), Summary()
    services = Services(3 if options.scenario == "leader" else 1)
    try:
        services.start()
        if sys.argv[1:] == ["self-check"]:
            return self_check.run(services, options, product)
        if sys.argv[1:] == ["sabotaged"]:
            return sabotaged.run(services, options, product)
        for number in range(options.runs):
            # A run is not begun that would end too late.
            if time.monotonic() - begin + summary.longest_seconds > 60 * options.minutes:
                line("chaos", f"{options.minutes:g} minutes are over")
                break
            plan = Plan(options.first_seed + number, options.scenario)
            world, outcome = run(services, plan, product, options.delivery == "at_least_once")
            print(outcome.text(), end="", flush=True)
            if not outcome.passed:
                folder = evidence.keep(world, outcome)
                replay = f"make chaos SEED={plan.seed} SCENARIO={options.scenario} DELIVERY={options.delivery}"
                print(f"  kept in {paths.shown(folder)}; the same plan again: {replay}", flush=True)
            print(flush=True)
            world.forget()
            summary.add(outcome)
    finally:
        services.stop()
    print(summary.text(), flush=True)
    return 1 if summary.failed or not summary.runs else 0


main()
