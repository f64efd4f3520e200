"""`up` and `down` as a person meets them."""

import fcntl
import re
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from client import Client
from stack import kafka_wire, ports, tools
from stack.process import Process
from stack.trouble import Trouble
from stacks import ADDRESSES, Stack


@pytest.fixture
def stack(tmp_path):
    stack = Stack(tmp_path)
    yield stack
    stack.run("down")


@pytest.fixture
def listener():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def port_of(address):
    return int(re.search(r":(\d+)$", address).group(1))


def comes_free(port):
    """Whether nothing listens on the port, at the latest when the system has cleared up after the process."""
    until = time.monotonic() + 5
    while not ports.is_free(port) and time.monotonic() < until:
        time.sleep(0.1)
    return ports.is_free(port)


def test_up_twice_down_twice_and_up_again(stack):
    with ExitStack() as held:
        for port in (19092, 18123):
            if ports.is_free(port):
                held.enter_context(socket.create_server(("127.0.0.1", port)))
        said = stack.ok("up")
    assert re.search(r"^ports: +19092 is in use, taking \d+ \(XTCP_DEV_KAFKA_PORT sets another\)$", said, re.MULTILINE)
    assert re.search(r"^ports: +18123 is in use, taking \d+ ", said, re.MULTILINE)

    first = stack.env()
    assert set(first) == {*ADDRESSES, "XTCP_INGEST_PLATFORM"}
    kafka, clickhouse = port_of(first[ADDRESSES[0]]), port_of(first[ADDRESSES[1]])
    cluster = kafka_wire.cluster_id(kafka)
    assert cluster
    Client(clickhouse).create_table("kept")
    pids = re.findall(r"\(pid (\d+)\)", said)

    again = stack.ok("up")
    assert re.findall(r"running already \(pid (\d+)\)", again) == pids
    assert stack.env() == first

    assert re.findall(r"stopped \(pid (\d+)\)", stack.ok("down")) == pids
    assert comes_free(kafka) and comes_free(clickhouse)
    assert not (stack.folder / "env").exists()
    assert stack.ok("down").count("not running") == 2

    chosen = {"XTCP_DEV_KAFKA_PORT": str(kafka), "XTCP_DEV_CLICKHOUSE_PORT": str(clickhouse)}
    stack.ok("up", **chosen)
    assert stack.env() == first
    assert kafka_wire.cluster_id(kafka) == cluster
    assert Client(clickhouse).count("kept") == 0


def test_a_killed_service_is_started_again(stack, listener):
    given = {ADDRESSES[0]: f"127.0.0.1:{listener}"}
    pid = re.search(r"\(pid (\d+)\)", stack.ok("up", **given)).group(1)
    subprocess.run(["kill", "-9", pid], check=True)
    said = stack.ok("up", **given)
    assert "running already" not in said and f"(pid {pid})" not in said


@pytest.mark.parametrize(
    "variable", ["XTCP_DEV_KAFKA_PORT", "XTCP_DEV_KAFKA_CONTROLLER_PORT", "XTCP_DEV_CLICKHOUSE_PORT"]
)
def test_a_busy_port_that_was_asked_for(tmp_path, listener, variable):
    # Nothing was downloaded yet, and nothing is before the ports are known to be free.
    stack = Stack(tmp_path, downloaded=False)
    error = stack.failed("up", **{variable: str(listener)})
    assert error == f"port {listener} is in use: set {variable} to a free port, or stop what uses it"
    assert "downloading" not in stack.run("up", **{variable: str(listener)})[1]
    assert "is no port" in stack.failed("up", **{variable: "many"})


def test_addresses_from_outside_are_used(stack, listener, front):
    given = dict(zip(ADDRESSES, (f"127.0.0.1:1,127.0.0.1:{listener}", f"http://127.0.0.1:{front.port}/")))
    said = stack.ok("up", **given)
    assert said.count("nothing is started") == 2
    assert stack.env() == given
    assert not (stack.folder / "run").exists()
    assert stack.ok("down").count("not running") == 2
    assert front.ok("SELECT 1") == "1"


def test_addresses_from_outside_that_do_not_answer(stack, front, listener):
    clickhouse = f"http://127.0.0.1:{front.port}"
    error = stack.failed("up", **dict(zip(ADDRESSES, ("127.0.0.1:1", clickhouse))))
    assert "nothing answers at XTCP_INGEST_KAFKA_BROKERS=127.0.0.1:1" in error
    error = stack.failed("up", **dict(zip(ADDRESSES, (f"127.0.0.1:{listener}", "http://127.0.0.1:1"))))
    assert "nothing answers at XTCP_INGEST_CLICKHOUSE_URL=http://127.0.0.1:1" in error


def test_a_service_that_ends_while_starting(stack, listener):
    (stack.folder / "clickhouse").write_text("no folder")
    error = stack.failed("up", **{ADDRESSES[0]: f"127.0.0.1:{listener}"})
    assert error.startswith("clickhouse ended while starting: ") and "logs/clickhouse.log" in error
    assert stack.ok("down").count("not running") == 2


def test_missing_tools(tmp_path):
    stack = Stack(tmp_path / "dev", downloaded=False)
    tools_folder = tmp_path / "bin"
    tools_folder.mkdir()
    alone = {"PATH": str(tools_folder), "JAVA_HOME": ""}
    assert stack.failed("up", **alone).startswith("no java found: install a JDK, 17 or newer")
    script(tools_folder / "java", "echo 'openjdk version \"1.8.0_402\"' >&2")
    assert "is version 8, too old: install a JDK, 17 or newer" in stack.failed("up", **alone)
    script(tools_folder / "java", "exit 1")
    assert "tells no version: install a JDK" in stack.failed("up", **alone)
    script(tools_folder / "java", "echo 'openjdk version \"21.0.2\" 2024-01-16' >&2")
    assert stack.failed("up", **alone).startswith("no mvn found: install Apache Maven")
    home = tmp_path / "home" / "bin"
    home.mkdir(parents=True)
    script(home / "java", "echo 'java version \"11.0.1\"'")
    assert "home/bin/java is version 11, too old" in stack.failed(
        "up", PATH=str(tools_folder), JAVA_HOME=str(home.parent)
    )


def test_missing_venv_module(monkeypatch):
    monkeypatch.setattr(tools.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(Trouble, match="no module venv: install it"):
        tools.python_venv()


def test_missing_python():
    done = subprocess.run(
        ["make", "up", "PYTHON=no-such-python"], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.returncode == 2
    assert "no-such-python is missing or older than 3.9: install Python 3" in done.stderr


def test_a_download_that_fails(tmp_path):
    (tmp_path / "bin").mkdir()
    script(tmp_path / "bin" / "java", "echo 'openjdk version \"21\"'")
    script(tmp_path / "bin" / "mvn", "echo '[INFO] x'; echo '[ERROR] no such host'; exit 1")
    stack = Stack(tmp_path, downloaded=False)
    code, said = stack.run("up", PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin", JAVA_HOME="")
    assert code == 1
    assert said.count("download failed: [ERROR] no such host") == 3
    assert "attempt 3 of 3" in said
    assert "kafka could not be downloaded in 3 attempts: see " in said.splitlines()[-1]
    assert "logs/kafka-download.log" in said.splitlines()[-1]


@pytest.fixture
def remembered(tmp_path, monkeypatch):
    """Processes are remembered in a folder of the test."""
    monkeypatch.setattr("stack.paths.RUNNING", tmp_path)
    monkeypatch.setattr("stack.paths.LOGS", tmp_path)
    monkeypatch.setattr("stack.paths.MADE", tmp_path)
    return tmp_path


def test_one_command_at_a_time(stack, listener, front):
    given = dict(zip(ADDRESSES, (f"127.0.0.1:{listener}", f"http://127.0.0.1:{front.port}")))
    with open(stack.folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = stack.begin("up", **given)
        assert waiting.stderr.readline().startswith("lock: ")
        assert waiting.poll() is None and not (stack.folder / "env").exists()
    assert waiting.wait(30) == 0
    waiting.stderr.close()


def test_another_process_with_the_pid_is_left_alone(remembered):
    process = Process.start("other", ["sleep", "60"])
    process.record["started"] = "1"
    (remembered / "other.json").write_text('{"pid": %d, "started": "1"}' % process.pid)
    assert Process.load("other") is None
    assert not (remembered / "other.json").exists()
    assert process._child.poll() is None
    process._child.kill()
    process._child.wait()


def test_a_process_that_does_not_end_by_itself(remembered):
    ignores = (
        "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    )
    process = Process.start("stubborn", [sys.executable, "-c", ignores])
    while "up" not in (remembered / "stubborn.log").read_text():
        pass
    assert Process.load("stubborn").pid == process.pid
    assert process.stop(0.5) is False
    assert process._child.poll() is not None
    assert Process.load("stubborn") is None


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
