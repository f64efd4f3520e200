"""What a killed front leaves: every acknowledged row, none twice, no spooled data."""

import http.client
import signal
import threading

import pytest
from fronts import Front
from native import block

INSERT = "INSERT INTO t FORMAT Native"
SETTINGS = {"min_insert_block_size_rows": 0, "min_insert_block_size_bytes": 0, "max_insert_block_size": 1_000_000}


@pytest.fixture
def own(tmp_path):
    front = Front(tmp_path)
    front.create_table("t")
    yield front
    front.end(signal.SIGKILL)


def test_kill_keeps_what_was_acknowledged(own):
    for attempt in range(3):
        acknowledged = _insert_until_killed(own, first=attempt * 1000)
        own.start()
        present = {int(n) for n in own.ok("SELECT DISTINCT intDiv(n, 100) FROM t").split()}
        assert acknowledged <= present
        assert own.ok("SELECT count() FROM (SELECT n FROM t GROUP BY n HAVING count() > 1)") == "0"
        assert own.ok("SELECT count() FROM (SELECT intDiv(n, 100) FROM t GROUP BY 1 HAVING count() != 100)") == "0"
        # A retry under the same token is dropped if the insert had arrived, and lands if not.
        for number in range(attempt * 1000, attempt * 1000 + max(acknowledged or {0}) % 1000 + 3):
            _insert(own, number)
        assert own.ok("SELECT count() - uniqExact(n) FROM t") == "0"


def _insert(own, number):
    rows = list(range(number * 100, number * 100 + 100))
    own.ok(block(n=rows, s=["x" * 200] * 100), query=INSERT, insert_deduplication_token=f"batch {number}", **SETTINGS)


def _insert_until_killed(own, first):
    acknowledged = set()

    def run():
        try:
            for number in range(first, first + 1000):
                _insert(own, number)
                acknowledged.add(number)
        except (OSError, http.client.HTTPException):
            return

    thread = threading.Thread(target=run)
    thread.start()
    while len(acknowledged) < 20:
        assert thread.is_alive()
    own.end(signal.SIGKILL)
    thread.join()
    return acknowledged


def test_second_front_on_the_same_data(own):
    (own.spool / "in-use").touch()
    with pytest.raises(AssertionError, match="does not open"):
        Front(own.folder)
    assert [file.name for file in own.spooled()] == ["in-use"]


def test_what_a_killed_front_left_in_the_spool(own):
    (own.spool / "left").touch()
    own.end(signal.SIGKILL)
    own.start()
    assert own.spooled() == []


def test_term_finishes_what_is_in_work(own):
    replies = []
    thread = threading.Thread(target=lambda: replies.append(own.send(body="SELECT sleep(1.5)")))
    thread.start()
    while own.ok("SELECT count() FROM system.processes WHERE query LIKE 'SELECT sleep%'") == "0":
        pass
    assert own.end() == 0
    thread.join()
    assert replies[0].status == 200


def test_data_is_there_after_a_restart(own):
    own.ok(block(n=[1], s=["a"]), query=INSERT)
    assert own.end() == 0
    own.start()
    assert own.count("t") == 1
