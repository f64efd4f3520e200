"""The verdict of the harness, on the real engine: what is whole passes, and each thing that is wrong is named."""

import uuid
from types import SimpleNamespace

import pytest
from chaos import verdict
from chaos.clickhouse_client import ClickHouseClient

ROWS = "xtcp_flat_records_v1"
ERRORS = "xtcp_flat_records_errors"
SENT = SimpleNamespace(rows={ROWS: 100}, diverted={"truncated": 2, "framing": 1})


class Pair:
    """A database and its reference, the same at first."""

    def __init__(self, client):
        self.client = client
        self.here = f"chaos_{uuid.uuid4().hex[:8]}"
        self.there = f"{self.here}_reference"
        for name in (self.here, self.there):
            client.execute(f"CREATE DATABASE {name}")
            client.execute(
                f"CREATE TABLE {name}.{ROWS} (inet_diag_msg_socket_cookie UInt64, host String) "
                "ENGINE = MergeTree ORDER BY tuple()"
            )
            client.execute(
                f"CREATE TABLE {name}.{ERRORS} (observed_at DateTime DEFAULT now(), partition UInt64, offset UInt64, "
                "err String, reason LowCardinality(String), record Int32, byte_offset UInt64) "
                "ENGINE = MergeTree ORDER BY tuple()"
            )
            client.execute(f"INSERT INTO {name}.{ROWS} SELECT number, 'h' || number FROM numbers(100)")
            client.execute(
                f"INSERT INTO {name}.{ERRORS} VALUES (now(), 0, 1, 'e', 'truncated', 0, 10), "
                "(now(), 0, 1, 'e', 'truncated', 1, 20), (now(), 1, 7, 'e', 'framing', -1, 0)"
            )

    def judge(self, allow_doubled=False, sent=SENT):
        return verdict.judge(self.client, self.here, self.there, sent, allow_doubled)

    def spoil(self, sql):
        self.client.execute(sql.format(here=self.here, there=self.there))

    def drop(self):
        for name in (self.here, self.there):
            self.client.execute(f"DROP DATABASE {name} SYNC")


@pytest.fixture
def pair(front):
    pair = Pair(ClickHouseClient(front.port))
    yield pair
    pair.drop()


def test_what_is_the_same_passes(pair):
    # When an error was observed is the server's own.
    pair.spoil(f"ALTER TABLE {{here}}.{ERRORS} UPDATE observed_at = 1 WHERE 1 SETTINGS mutations_sync = 2")
    judged = pair.judge()
    assert judged.passed and (judged.rows, judged.diverted, judged.doubled) == (100, 3, 0)


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        (f"INSERT INTO {{here}}.{ROWS} VALUES (7, 'h7')", f"{ROWS}: 1 doubled: 7"),
        (f"DELETE FROM {{here}}.{ROWS} WHERE inet_diag_msg_socket_cookie < 2", f"{ROWS}: 2 lost: 0, 1"),
        (f"INSERT INTO {{here}}.{ROWS} VALUES (100, 'h')", f"{ROWS}: 1 never sent: 100"),
        (f"INSERT INTO {{here}}.{ROWS} VALUES (7, 'x')", f"{ROWS}: 1 altered: 7"),
        (
            f"ALTER TABLE {{here}}.{ROWS} UPDATE host = 'x' WHERE inet_diag_msg_socket_cookie = 9 "
            "SETTINGS mutations_sync = 2",
            f"{ROWS}: 1 altered: 9",
        ),
        (
            f"INSERT INTO {{here}}.{ERRORS} SELECT * FROM {{here}}.{ERRORS} LIMIT 1",
            f"{ERRORS}: 1 doubled: (0,1,10,0,'truncated')",
        ),
        (f"DELETE FROM {{here}}.{ERRORS} WHERE partition = 1", f"{ERRORS}: 1 lost: (1,7,0,-1,'framing')"),
        (f"DROP TABLE {{here}}.{ERRORS} SYNC", f"tables are missing: {ERRORS}"),
    ],
)
def test_what_is_wrong_is_named(pair, sql, finding):
    pair.spoil(sql)
    assert pair.judge().findings == [finding]


def test_at_least_once_may_double_and_nothing_else(pair):
    pair.spoil(f"INSERT INTO {{here}}.{ROWS} SELECT * FROM {{here}}.{ROWS} WHERE inet_diag_msg_socket_cookie < 3")
    judged = pair.judge(allow_doubled=True)
    assert judged.passed and judged.doubled == 3
    assert [each["key"] for each in judged.offenders] == ["0", "1", "2"]
    assert not pair.judge().passed
    pair.spoil(f"DELETE FROM {{here}}.{ROWS} WHERE inet_diag_msg_socket_cookie = 50")
    assert pair.judge(allow_doubled=True).findings == [f"{ROWS}: 1 lost: 50"]


def test_both_sides_wrong_alike_is_told_by_what_was_sent(pair):
    for side in ("here", "there"):
        pair.spoil(f"DELETE FROM {{{side}}}.{ROWS} WHERE inet_diag_msg_socket_cookie = 50")
    assert len(pair.judge().findings) == 2
    for side in ("here", "there"):
        pair.spoil(f"INSERT INTO {{{side}}}.{ROWS} VALUES (1, 'h1')")
    assert pair.judge().findings == [f"{ROWS}: 100 rows with 99 numbers in the reference"]
    sent = SimpleNamespace(rows=SENT.rows, diverted={"truncated": 3})
    assert any("diverted in the reference" in finding for finding in pair.judge(sent=sent).findings)


def test_rows_that_the_tables_refuse_stand_among_the_diverted(pair):
    for side, text in (("here", "at row 3"), ("there", "at row 9")):
        pair.spoil(f"DELETE FROM {{{side}}}.{ROWS} WHERE inet_diag_msg_socket_cookie = 50")
        pair.spoil(f"INSERT INTO {{{side}}}.{ERRORS} VALUES (now(), 0, 5, '{text}', 'refused_by_server', 2, 30)")
    assert pair.judge().passed
    pair.spoil(f"DELETE FROM {{there}}.{ERRORS} WHERE reason = 'refused_by_server'")
    assert f"{ERRORS}: 1 never sent: (0,5,30,2,'refused_by_server')" in pair.judge().findings


def test_offsets_and_memory():
    judged = verdict.Verdict()
    verdict.judge_offsets(judged, {0: (5, "x"), 1: (3, "")}, {0: 5, 1: 3})
    verdict.judge_memory(judged, {"member 1": 512})
    assert judged.passed
    verdict.judge_offsets(judged, {0: (4, "")}, {0: 5, 1: 3, 2: 0})
    verdict.judge_memory(judged, {"member 1": 513})
    assert judged.findings == [
        "partition 0 is committed up to 4, its end is 5",
        "partition 1 is committed up to 0, its end is 3",
        "member 1 took 513 MiB, allowed are 512",
    ]
