"""`around`: the services for as long as a command takes."""

import signal
import time

import pytest
from stacks import ADDRESSES, Stack


@pytest.fixture
def stack(tmp_path):
    stack = Stack(tmp_path)
    yield stack
    stack.run("down")


def shell(script):
    return ("sh", "-c", script)


def test_a_command_finds_the_services_and_leaves_none(stack):
    said = stack.ok("around", *shell(f'test -n "${ADDRESSES[0]}" && test -n "${ADDRESSES[1]}"'))
    assert said.count("ready at") == 2 and said.count("stopped (pid ") == 2
    assert not (stack.folder / "env").exists()
    code, said = stack.run("around", *shell("exit 7"))
    assert code == 7 and said.count("stopped (pid ") == 2


def test_what_ran_before_goes_on(stack):
    stack.ok("up")
    said = stack.ok("around", "true")
    assert said.count("running already") == 2 and "stopped" not in said
    assert stack.ok("down").count("stopped (pid ") == 2


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_the_services(stack, number):
    begun = stack.folder / "begun"
    process = stack.begin("around", *shell(f"touch {begun}; sleep 600"))
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert said.count("stopped (pid ") == 2 and "Traceback" not in said


def test_a_command_that_is_not_there(stack):
    assert stack.failed("around", "/no/such/command") == "`/no/such/command` can't be started: No such file or directory"
