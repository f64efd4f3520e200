"""Everything that a run is about: services, members behind their proxies, and what the faults do to them."""

import subprocess
import threading
import time
from contextlib import contextmanager

from stack import paths
from stack.trouble import Trouble

from .clickhouse_client import ClickHouseClient
from .member import Member
from .missed import Missed
from .proxy import Modes, Proxy
from .traffic import Traffic

SESSION_MS = 2000
SHUTDOWN_SECONDS = 8
_LEASE_SECONDS = 30
_WATCH_SECONDS = 0.2
_IDLE_SECONDS = 2
_GUEST = 9
_RECORDS = "xtcp_flat_records_"
_ERRORS = "xtcp_flat_records_errors"
_FINDINGS = 20
_TABLES_SECONDS = 60


class World:
    """Of one run: a fresh topic, group and database."""

    def __init__(self, services, plan, product, timeline):
        self.brokers, self.front, self.kafka = services.brokers, services.front, services.kafka
        self.clickhouse = ClickHouseClient(self.front.port)
        self.plan = plan
        self.timeline = timeline
        self.topic = self.group = self.database = f"chaos_{plan.seed}"
        self.reference = f"{self.database}_reference"
        self.in_force = Modes()
        self.traffic = Traffic()
        self.findings = []
        # Partitions that came in the run; whether they were consumed is seen at its end.
        self.added = []
        self._product = product
        self._proxies = []
        self.members = [self._member(slot) for slot in range(1, plan.members + 1)]
        self._guest = self._member(_GUEST)
        self._watching = threading.Event()

    def begin(self):
        """A topic, and the members at work on it."""
        for name in (self.database, self.reference):
            self.clickhouse.execute(f"DROP DATABASE IF EXISTS {name} SYNC")
        replication = len(self.brokers)
        self.kafka.create_topic(self.topic, self.plan.partitions, replication)
        self._make_tables()
        for member in self.members:
            member.start()
        if self.plan.refuse_every:
            self.refuse_rows()
        threading.Thread(target=self._watch, daemon=True).start()

    def refuse_rows(self):
        """Makes the tables refuse some rows, those of the reference too."""
        for table in self.tables():
            name = table.partition(".")[2]
            if not name.startswith(_RECORDS):
                continue
            if name != _ERRORS:
                check = f"inet_diag_msg_socket_cookie % {self.plan.refuse_every} != 0"
                self.clickhouse.execute(f"ALTER TABLE {table} ADD CONSTRAINT refused CHECK {check}")
            self.clickhouse.execute(f"CREATE DATABASE IF NOT EXISTS {self.reference}")
            self.clickhouse.execute(f"CREATE TABLE {self.reference}.{name} AS {table}")

    def end(self):
        """Stops what runs and closes what listens."""
        self._watching.set()
        self.in_force.clear()
        for member in [*self.members, self._guest]:
            member.close()
        for proxy in self._proxies:
            proxy.close()

    def forget(self):
        """Drops what the run has made in the services."""
        for name in (self.database, self.reference):
            self.clickhouse.execute(f"DROP DATABASE IF EXISTS {name} SYNC")
        self.kafka.delete_topic(self.topic)

    def wait_for_brokers(self):
        """While they are away no insert comes that a fault could hit."""
        end = time.monotonic() + _LEASE_SECONDS
        while not self.brokers.work and time.monotonic() < end:
            time.sleep(0.1)

    def finding(self, text):
        """Something that must not be."""
        self.findings.append(text)
        self.timeline.event("FINDING", text, "!")

    @contextmanager
    def lease(self, dice):
        """A member that no other fault has, rather one that has work."""
        end = time.monotonic() + _LEASE_SECONDS
        order = dice.sample(self.members, len(self.members))
        while time.monotonic() < end:
            for member in sorted(order, key=lambda member: self.traffic.idle_seconds(member.slot) > _IDLE_SECONDS):
                if member.busy.acquire(blocking=False):
                    try:
                        yield member
                    finally:
                        member.thaw()
                        if not member.is_alive:
                            member.start()
                        member.busy.release()
                    return
            time.sleep(0.05)
        raise Missed("no member was free")

    @contextmanager
    def guest(self):
        """A member that comes and goes."""
        with self._guest.busy:
            try:
                yield self._guest
            finally:
                if self._guest.is_alive:
                    self._guest.kill()

    def see_end(self, member):
        """Waits for a member that was asked to end; it has to do so in time and with success."""
        code = member.wait_end(SHUTDOWN_SECONDS + 12)
        if code is None:
            self.finding(f"{member} did not end within {SHUTDOWN_SECONDS + 12} s of SIGTERM")
        elif code != 0:
            self.finding(f"{member} ended with {code} after SIGTERM")

    def tables(self):
        """The tables of the run's database, the database in front."""
        sql = f"SELECT name FROM system.tables WHERE database = '{self.database}' AND engine LIKE '%MergeTree'"
        return [f"{self.database}.{row['name']}" for row in self.clickhouse.rows(sql)]

    @property
    def peaks_mib(self):
        """The highest resident memory of each member."""
        return {str(member): member.peak_mib for member in [*self.members, self._guest] if member.peak_mib}

    def logs(self):
        """The members' logs."""
        files = [paths.log(member.name) for member in [*self.members, self._guest]]
        return [file for file in files if file.exists()]

    def _make_tables(self):
        command = [str(part) for part in self._product.apply_command(self)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_TABLES_SECONDS)
        if done.returncode:
            raise Trouble(f"the tables could not be made: {done.stderr.strip()[-300:]}")

    def _member(self, slot):
        for file in [paths.log(f"ingest-{slot}")]:
            file.unlink(missing_ok=True)
        proxy = Proxy(slot, self.front.port, self.in_force, self.traffic)
        self._proxies.append(proxy)
        command = self._product.member_command
        return Member(slot, lambda slot, port: command(self, slot, port), proxy, self._ended)

    def _ended(self, member, code):
        last = "".join(member.log_since_start().splitlines(keepends=True)[-1:]).strip()
        self.finding(f"{member} ended by itself with {code}: {last[:300]}")
        # As a supervisor would; a fault that has the member at the moment does it itself.
        if len(self.findings) < _FINDINGS and member.busy.acquire(blocking=False):
            try:
                member.start()
            finally:
                member.busy.release()

    def _watch(self):
        while not self._watching.wait(_WATCH_SECONDS):
            for member in [*self.members, self._guest]:
                member.watch()
