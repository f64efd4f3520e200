"""The product's commands, each on a topic and a database of this trial alone."""

import json
import os
import subprocess
import sys
import time

from stack import kafka_wire

from . import clickhouse
from .trouble import Trouble


class Product:
    """Where the binary is and what it is given; what it made is removed at the end."""

    def __init__(self, binary, name):
        self.name = f"xtcp_{name}_{int(time.time()):x}"
        self._binary = binary
        self._environment = {
            **os.environ,
            "XTCP_INGEST_KAFKA_TOPIC": self.name,
            "XTCP_INGEST_KAFKA_GROUP": self.name,
            "XTCP_INGEST_CLICKHOUSE_DATABASE": self.name,
            "XTCP_INGEST_HTTP_LISTEN": "127.0.0.1:0",
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        clickhouse.execute(f"DROP DATABASE IF EXISTS {self.name} SYNC")
        host, _, port = os.environ["XTCP_INGEST_KAFKA_BROKERS"].split(",")[0].rpartition(":")
        if not kafka_wire.delete_topic(self.name, int(port), host.strip("[]")):
            say(f"topic {self.name} is left behind: the broker at {host}:{port} does not remove it")

    def define(self, folder):
        """Has other definitions used than those in the binary."""
        self._environment["XTCP_INGEST_SCHEMAS_DIR"] = str(folder)

    def reach(self, url):
        """Has ClickHouse reached at another address from now on."""
        self._environment["XTCP_INGEST_CLICKHOUSE_URL"] = url

    def create(self):
        """Has the objects and the topic created: a run on a topic that is empty."""
        self.run()

    def generate(self, *arguments):
        """Sends a fleet and gives what it says of it."""
        done = self._call(["generate", "--json", *arguments], stdout=subprocess.PIPE)
        return json.loads(done.stdout)

    def run(self, watch=None):
        """Ingests until caught up and gives the seconds that took; `watch` is called often with the process's id."""
        start = time.monotonic()
        command = [self._binary, "run", "--until-caught-up"]
        with subprocess.Popen(command, env=self._environment) as child:
            try:
                while child.poll() is None:
                    if watch:
                        watch(child.pid)
                    time.sleep(0.02)
            finally:
                if child.poll() is None:
                    child.terminate()
        _must_succeed(command, child.returncode)
        return time.monotonic() - start

    def start(self, *arguments, **settings):
        """Has the topic consumed until that process is ended, with further arguments, and settings by their names in the
        environment."""
        return subprocess.Popen([self._binary, "run", *arguments], env={**self._environment, **settings})

    def _call(self, arguments, **options):
        command = [self._binary, *arguments]
        done = subprocess.run(command, env=self._environment, **options)
        _must_succeed(command, done.returncode)
        return done


def _must_succeed(command, code):
    if code:
        raise Trouble(f"`xtcp-ingest {command[1]}` ended with {code}")


def say(text):
    """One line for the person."""
    print(text, file=sys.stderr, flush=True)
