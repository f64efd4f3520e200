"""The product's command lines."""

import subprocess

from stack.trouble import Trouble

from .world import SESSION_MS, SHUTDOWN_SECONDS


class Product:
    """One binary, and the way of delivery that it is run with."""

    def __init__(self, binary, delivery):
        self.binary = binary
        self._delivery = []
        said = subprocess.run([binary, "run", "--help"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if said.returncode:
            raise Trouble(f"`{binary} run --help` failed: {said.stderr.strip()[:300]}")
        if "--delivery" in said.stdout:
            self._delivery = ["--delivery", delivery]
        elif delivery != "at_least_once":
            raise Trouble(f"{binary} has no setting for the delivery, so it can't be run as {delivery}")

    def apply_command(self, world):
        """Makes the tables. A member that is killed while it does so would leave its lease behind for minutes."""
        command = [self.binary, "schema", "apply", "--bootstrap-topics", "false", "--platform", "single"]
        command += ["--clickhouse-url", f"http://127.0.0.1:{world.front.port}", "--clickhouse-database", world.database]
        return [*command, "--retention-days", 0, "--errors-retention-days", 0]

    def member_command(self, world, slot, port):
        """`run` of one member, through its proxy."""
        plan = world.plan
        command = self._run(world, world.group, world.database, port)
        command += ["--bootstrap-tables", "false"]
        command += ["--batch-rows", plan.batch_rows, "--batch-age", f"{plan.batch_age_ms}ms"]
        command += ["--clickhouse-insert-timeout", f"{plan.insert_timeout_seconds}s"]
        command += ["--shutdown-timeout", f"{SHUTDOWN_SECONDS}s"]
        properties = {"topic.metadata.refresh.interval.ms": 400}
        if plan.protocol == "consumer":
            properties["group.protocol"] = "consumer"
        else:
            properties |= {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": 400}
        if plan.protocol == "classic static":
            properties["group.instance.id"] = f"member-{slot}"
        for name, value in properties.items():
            command += ["--kafka-property", f"{name}={value}"]
        return command

    def reference_command(self, world):
        """`run` in quiet, into the reference database, without a fault anywhere."""
        group = f"{world.group}-reference"
        return [*self._run(world, group, world.reference, world.front.port), "--until-caught-up"]

    def _run(self, world, group, database, port):
        command = [self.binary, "run", *self._delivery, "--kafka-brokers", world.brokers.addresses]
        command += ["--kafka-topic", world.topic, "--kafka-group", group, "--bootstrap-topics", "false"]
        command += ["--clickhouse-url", f"http://127.0.0.1:{port}", "--clickhouse-database", database]
        command += ["--http-listen", "127.0.0.1:0", "--retention-days", 0, "--errors-retention-days", 0]
        # The engine here has no Keeper.
        command += ["--platform", "single"]
        return command
