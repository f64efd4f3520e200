"""`up`: both services answer, and .dev/env says where."""

import os
import time

from . import paths
from .ports import Ports
from .process import Process
from .say import Waiting, line
from .trouble import Trouble

_START_SECONDS = 90
_ANSWER_SECONDS = 15


def up(services):
    """Starts what is not there yet, waits until everything answers, and writes .dev/env."""
    paths.LOGS.mkdir(parents=True, exist_ok=True)
    addresses, settings = {}, {}
    absent = []
    for service in services:
        given = _given(service)
        if not given:
            settings.update(service.settings)
        address = given or _running(service)
        if address:
            addresses[service] = address
        else:
            service.check()
            absent.append(service)
    picked = Ports()
    for service in absent:
        service.pick_ports(picked)
    for service in absent:
        service.install()
    started = [(service, _start(service)) for service in absent]
    for service, process in started:
        addresses[service] = _wait(service, process)
    _write_env({service.address_variable: addresses[service] for service in services} | settings)


def _given(service):
    """The address from the environment: something must listen there, and nothing is started for it."""
    address = os.environ.get(service.address_variable)
    if not address:
        return None
    if not service.reachable(address):
        raise Trouble(
            f"nothing answers at {service.address_variable}={address}: start it, or unset the variable to have "
            f"{service.name} started here"
        )
    line(service.name, f"{address}, from {service.address_variable}; nothing is started")
    return address


def _running(service):
    """The address of what an earlier `up` started, once it answers."""
    process = Process.load(service.name)
    if process is None:
        return None
    end = time.monotonic() + _ANSWER_SECONDS
    while not service.answers(process):
        if time.monotonic() > end:
            log = paths.shown(paths.log(service.name))
            raise Trouble(
                f"{service.name} runs (pid {process.pid}) but does not answer at {service.address(process)}: "
                f"see {log}; `make down` stops it"
            )
        time.sleep(0.2)
    line(service.name, f"{service.address(process)}, running already (pid {process.pid})")
    return service.address(process)


def _start(service):
    _rotate(paths.log(service.name))
    process = service.start()
    line(service.name, f"starting at {service.address(process)} (pid {process.pid})")
    return process


def _wait(service, process):
    waiting = Waiting(service.name, "waiting for an answer")
    log = paths.log(service.name)
    while not service.answers(process):
        if not process.is_alive():
            waiting.clear()
            process.forget()
            raise Trouble(f"{service.name} ended while starting: {_last_line(log)} (see {paths.shown(log)})")
        if waiting.seconds > _START_SECONDS:
            waiting.clear()
            raise Trouble(
                f"{service.name} did not answer within {_START_SECONDS} s: see {paths.shown(log)}; `make down` stops it"
            )
        waiting.tick()
        time.sleep(0.1)
    waiting.done(f"ready at {service.address(process)}")
    return service.address(process)


def _write_env(values):
    text = "".join(f"{name}={value}\n" for name, value in values.items())
    fresh = paths.ENV.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(paths.ENV)
    line("env", f"{paths.shown(paths.ENV)} has the addresses")


def _rotate(log):
    if log.exists():
        log.replace(log.with_suffix(".log.1"))


def _last_line(log):
    lines = [text for text in log.read_text(errors="replace").splitlines() if text.strip()]
    return lines[-1][:300] if lines else "it said nothing"
