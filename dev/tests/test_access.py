"""Accounts, the ways to name one, and the roles they are held to."""

import base64


def basic(name, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def test_ways_to_give_credentials(front):
    query = "SELECT currentRoles()"
    assert front.ok(query, headers={"X-ClickHouse-User": "reader", "X-ClickHouse-Key": "reader"}) == "['reader']"
    assert front.ok(query, headers=basic("reader", "reader")) == "['reader']"
    assert front.ok(query, user="reader", password="reader") == "['reader']"
    assert "admin" in front.ok(query)
    assert "admin" in front.ok(query, user="default")


def test_wrong_credentials(front):
    assert front.refused("SELECT 1", user="reader", password="wrong") == (403, 516)
    assert front.refused("SELECT 1", user="nobody", password="") == (403, 516)
    assert front.refused("SELECT 1", headers=basic("default", "wrong")) == (403, 516)
    assert front.refused("SELECT 1", headers={"X-ClickHouse-User": "ingest"}) == (403, 516)
    assert front.refused("SELECT 1", headers={"Authorization": "Basic !"}) == (403, 516)
    assert front.refused("SELECT 1", headers={"Authorization": "Bearer x"}) == (403, 516)
    assert front.refused("SELECT 1", headers=basic("reader", "reader"), user="reader") == (403, 516)
    assert "password is incorrect" in front.send(body="SELECT 1", user="reader", password="no").text


def test_ingest_may_insert_and_nothing_else(front, table):
    who = {"user": "ingest", "password": "ingest"}
    assert front.send(body="1\ta", query=f"INSERT INTO {table} FORMAT TSV", **who).written == 1
    assert front.refused(f"SELECT * FROM {table}", **who) == (403, 497)
    assert front.refused(f"DROP TABLE {table}", **who) == (403, 497)
    assert front.refused("CREATE DATABASE mine", **who) == (403, 497)
    names = f"SELECT groupArray(name) FROM system.columns WHERE table = '{table}'"
    assert front.ok(names, **who) == "['n','s']"


def test_reader_may_select_and_nothing_else(front, table):
    who = {"user": "reader", "password": "reader"}
    assert front.ok(f"SELECT count() FROM {table}", **who) == "0"
    assert front.refused("1\ta", query=f"INSERT INTO {table} FORMAT TSV", **who) == (403, 497)
    assert front.count(table) == 0


def test_bootstrap_may_define(front):
    who = {"user": "bootstrap", "password": "bootstrap"}
    front.ok("CREATE DATABASE made", **who)
    front.ok("CREATE TABLE made.t (n UInt8) ENGINE = MergeTree ORDER BY n", **who)
    front.ok("ALTER TABLE made.t ADD COLUMN s String", **who)
    front.ok("CREATE TABLE made.all AS made.t ENGINE = Merge('made', '^t$')", **who)
    front.ok("CREATE VIEW made.v AS SELECT n FROM made.t", **who)
    front.ok("RENAME TABLE made.t TO made.u", **who)
    assert front.refused("SYSTEM SHUTDOWN", **who)[1] != 0
    front.ok("DROP DATABASE made SYNC")


def test_roles(front):
    assert front.ok("SELECT currentRoles()", role="reader") == "['reader']"
    assert front.refused("SELECT 1", role="absent") == (404, 511)
    assert front.refused("SELECT 1", role="admin", user="ingest", password="ingest") == (403, 512)
    assert front.ok("SELECT currentRoles()", role="ingest", user="ingest", password="ingest") == "['ingest']"
