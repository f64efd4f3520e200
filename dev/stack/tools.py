"""The tools that must be there already, each missing one told in one line with what to install."""

import importlib.util
import os
import re
import shutil
import subprocess

from .trouble import Trouble

_JAVA = 17


def java():
    """The path of a Java runtime that is new enough."""
    path = _of_java_home() or shutil.which("java")
    wanted = f"install a JDK, {_JAVA} or newer (Debian, Ubuntu: openjdk-17-jdk-headless)"
    if path is None:
        raise Trouble(f"no java found: {wanted}, or set JAVA_HOME")
    told = subprocess.run([path, "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    version = re.search(r'version "(?:1\.)?(\d+)[^"]*"', told.stderr + told.stdout)
    if told.returncode or not version:
        raise Trouble(f"`{path} -version` tells no version: {wanted}, or set JAVA_HOME")
    if int(version.group(1)) < _JAVA:
        raise Trouble(f"{path} is version {version.group(1)}, too old: {wanted}, or set JAVA_HOME to a newer one")
    return path


def maven():
    """The path of Maven."""
    path = shutil.which("mvn")
    if path is None:
        raise Trouble("no mvn found: install Apache Maven (Debian, Ubuntu: maven)")
    return path


def python_venv():
    """Checks that this Python can make virtual environments; Debian packages that apart."""
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            raise Trouble(f"this Python has no module {module}: install it (Debian, Ubuntu: python3-venv)")


def _of_java_home():
    home = os.environ.get("JAVA_HOME")
    path = home and os.path.join(home, "bin", "java")
    return path if path and os.access(path, os.X_OK) else None
