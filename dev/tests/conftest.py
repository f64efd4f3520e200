"""One front for all tests that don't end it, and a table for each test that asks."""

import sys
import uuid
from pathlib import Path

import pytest

DEV = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(DEV), str(DEV / "clickhouse")]

from fronts import Front  # noqa: E402


@pytest.fixture(scope="session")
def front(tmp_path_factory):
    front = Front(tmp_path_factory.mktemp("front"))
    yield front
    assert front.spooled() == [], "data was left in the spool"
    assert front.end() == 0


@pytest.fixture
def table(front):
    """The name of a fresh table."""
    name = f"t_{uuid.uuid4().hex[:8]}"
    front.create_table(name)
    yield name
    front.ok(f"DROP TABLE {name} SYNC")
