"""Downloads: the jars of Kafka by Maven, the engine by pip, once; again when what is asked for changes."""

import hashlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

from . import paths, tools
from .say import Waiting, line
from .trouble import Trouble

_TRIES = 3
_POM = paths.SOURCES / "kafka" / "pom.xml"


def install(services):
    """Everything that the stack and its tests need, without starting anything."""
    paths.LOGS.mkdir(parents=True, exist_ok=True)
    for service in services:
        service.check()
        service.install()
    python_packages("tests", paths.SOURCES / "tests" / "requirements.txt", "pytest (3 MB)")


def kafka_is_there():
    """Whether the jars are there and the ones that are asked for."""
    return _kafka_stamp().is_current()


def kafka():
    """Apache Kafka's jars in `paths.JARS`."""
    stamp = _kafka_stamp()
    if stamp.is_current():
        return
    command = [tools.maven(), "-B", "-f", _POM, "dependency:copy-dependencies", f"-DoutputDirectory={paths.JARS}"]
    stamp.begin()
    _download("kafka", "downloading Apache Kafka (60 MB)", command, paths.JARS)
    stamp.end()


def clickhouse():
    """The engine and what its front needs, in a virtual environment of their own."""
    python_packages("clickhouse", paths.SOURCES / "clickhouse" / "requirements.txt", "the ClickHouse engine (190 MB)")


def python_packages(name, requirements, what):
    """Pinned packages into `paths.VENV`, which is made first if it is not there."""
    tools.python_venv()
    python = paths.VENV / "bin" / "python"
    base = _Stamp(paths.VENV, sys.version.encode())
    if not base.is_current():
        base.begin()
        _run_or_trouble([sys.executable, "-m", "venv", paths.VENV], "python-venv")
        base.end()
    stamp = _Stamp(paths.VENV, requirements.read_bytes(), f".installed-{name}")
    if stamp.is_current():
        return
    pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--no-deps", "-r", requirements]
    _download(name, f"downloading {what}", pip, paths.VENV)
    stamp.end()


def _kafka_stamp():
    return _Stamp(paths.JARS, _POM.read_bytes())


class _Stamp:
    """Marks a folder as made wholly, from exactly this input."""

    def __init__(self, folder, source, name=".installed"):
        self._folder = folder
        self._file = folder / name
        self._digest = hashlib.sha256(source).hexdigest()

    def is_current(self):
        return self._file.exists() and self._file.read_text() == self._digest

    def begin(self):
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)

    def end(self):
        self._file.write_text(self._digest)


def _download(name, text, command, folder):
    log = paths.log(f"{name}-download")
    for attempt in range(1, _TRIES + 1):
        waiting = Waiting(name, text if attempt == 1 else f"{text}, attempt {attempt} of {_TRIES}")
        with open(log, "wb") as out:
            child = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
            try:
                while child.poll() is None:
                    waiting.tick(_size(folder))
                    time.sleep(0.2)
            except KeyboardInterrupt:
                child.terminate()
                child.wait()
                raise
        if child.returncode == 0:
            waiting.done("downloaded")
            return
        waiting.clear()
        line(name, f"download failed: {_last_error(log)}")
        if attempt < _TRIES:
            time.sleep(2 * attempt)
    raise Trouble(f"{name} could not be downloaded in {_TRIES} attempts: see {paths.shown(log)}, then `make up` again")


def _run_or_trouble(command, name):
    log = paths.log(name)
    with open(log, "wb") as out:
        done = subprocess.run([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    if done.returncode:
        raise Trouble(f"`{' '.join(str(part) for part in command)}` failed: see {paths.shown(log)}")


def _size(folder):
    size = sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file() and not file.is_symlink())
    return f"{size / 1e6:.0f} MB"


def _last_error(log):
    """The line of a log that most likely says why."""
    lines = [text.strip() for text in log.read_text(errors="replace").splitlines() if text.strip()]
    errors = [text for text in lines if "ERROR" in text]
    return (errors or lines or ["no output"])[0 if errors else -1][:200]
