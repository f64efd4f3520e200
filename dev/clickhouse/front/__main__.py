"""`python -m front`: opens the engine on a data path and serves it until SIGTERM or SIGINT."""

import argparse
import os
import signal
import sys
import threading
import time

from .access import Accounts
from .engine import Engine
from .server import Server
from .spool import Spool
from .statement import Runner

_STOP_SECONDS = 20
# A process that was killed may hold its port for a moment yet.
_LISTEN_SECONDS = 10


def main():
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(prog="front", description=__doc__)
    parser.add_argument("--port", type=int, required=True, help="loopback port")
    parser.add_argument("--data", required=True, help="folder of the engine's data")
    parser.add_argument("--log", required=True, help="file for the engine's own log")
    parser.add_argument("--name", required=True, help="display name")
    parser.add_argument("--spool", required=True, help="folder for data of INSERTs, emptied at start")
    parser.add_argument("--config", default=os.path.join(here, "config.xml"), help="the engine's configuration")
    parser.add_argument("--accounts", default=os.path.join(here, "accounts.json"), help="users and their roles")
    parser.add_argument("--parallel", type=int, default=8, help="statements at a time; more wait")
    arguments = parser.parse_args()

    server = _listen(arguments.port, arguments.name)
    accounts = Accounts(arguments.accounts)
    os.makedirs(arguments.data, exist_ok=True)
    # The engine leaves files of its own where it runs.
    data, config, log, spool = map(os.path.abspath, (arguments.data, arguments.config, arguments.log, arguments.spool))
    os.chdir(data)
    try:
        engine = Engine(data, config, log, arguments.parallel)
    except RuntimeError as error:
        sys.exit(f"the engine does not open {data}: {error}")
    # Only now: another front on the same data, which the engine just refused to be, may be using it.
    spool = Spool(spool)
    if not engine.check(spool):
        sys.exit("refused to start: this engine reports a failed INSERT as done, and would lose data")

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=server.serve, args=(accounts, engine, Runner(engine, spool)), daemon=True).start()
    print(f"serving {engine.version} on 127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    stop.wait()
    server.shutdown()
    idle = server.wait_idle(_STOP_SECONDS)
    if idle:
        engine.close()
    spool.remove()
    print("stopped" if idle else "stopped with requests in work", file=sys.stderr, flush=True)
    # Threads of idle connections and of the engine are not waited for.
    os._exit(0)


def _listen(port, name):
    end = time.monotonic() + _LISTEN_SECONDS
    while True:
        try:
            return Server(("127.0.0.1", port), name)
        except OSError as error:
            if time.monotonic() > end:
                sys.exit(f"cannot listen on 127.0.0.1:{port}: {error.strerror}")
            time.sleep(0.1)


main()
