"""Shows that the verdict notices: one run, and then on copies of its tables one thing wrong after the other."""

from . import verdict
from .plan import Plan
from .run import run as run_once

_ROWS = "xtcp_flat_records_v2"
_ERRORS = "xtcp_flat_records_errors"
_KEY = "inet_diag_msg_socket_cookie"
_NOW = "SETTINGS mutations_sync = 2"

# What is done to the copy, and the word that the verdict must have for it.
SABOTAGE = [
    ("a row doubled", f"INSERT INTO {{db}}.{_ROWS} SELECT * FROM {{db}}.{_ROWS} LIMIT 1", "doubled"),
    ("a row deleted", f"ALTER TABLE {{db}}.{_ROWS} DELETE WHERE {_KEY} = {{number}} {_NOW}", "lost"),
    (
        "a value altered",
        f"ALTER TABLE {{db}}.{_ROWS} UPDATE nsid = nsid + 1 WHERE {_KEY} = {{number}} {_NOW}",
        "altered",
    ),
    ("a row invented", f"INSERT INTO {{db}}.{_ROWS} ({_KEY}) VALUES (4000000000)", "never sent"),
    ("a piece doubled", f"INSERT INTO {{db}}.{_ERRORS} SELECT * FROM {{db}}.{_ERRORS} LIMIT 1", "doubled"),
    ("a piece deleted", f"ALTER TABLE {{db}}.{_ERRORS} DELETE WHERE offset = {{offset}} {_NOW}", "lost"),
]


def run(services, options, product):
    """The exit code."""
    allow = options.delivery == "at_least_once"
    world, outcome = run_once(services, Plan(options.first_seed, options.scenario), product, allow)
    print(outcome.text(), end="", flush=True)
    failed = not outcome.passed
    clickhouse, copy = world.clickhouse, f"{world.database}_copy"
    sent = outcome.sent
    number = clickhouse.row(f"SELECT min({_KEY}) AS n FROM {world.reference}.{_ROWS}")["n"]
    offset = clickhouse.row(f"SELECT min(offset) AS n FROM {world.reference}.{_ERRORS}")["n"]
    for what, sql, word in [("nothing", "SELECT 1", None), *SABOTAGE]:
        _copy(clickhouse, world.reference, copy)
        clickhouse.execute(sql.format(db=copy, number=number, offset=offset))
        findings = verdict.judge(clickhouse, copy, world.reference, sent, allow_doubled=False).findings
        noticed = (not findings) if word is None else bool(findings) and all(f" {word}: " in f for f in findings)
        failed |= not noticed
        print(f"  {'noticed' if noticed else 'NOT NOTICED':<12}{what:<20}{'; '.join(findings)}", flush=True)
    clickhouse.execute(f"DROP DATABASE {copy} SYNC")
    if allow and outcome.verdict.doubled:
        # What may be under one promise must not be under the other.
        strict = verdict.judge(clickhouse, world.database, world.reference, sent, allow_doubled=False).findings
        failed |= not strict
        print(f"  {'told apart' if strict else 'NOT TOLD':<12}{'as exactly once':<20}{'; '.join(strict)}", flush=True)
    world.forget()
    print("0 passed, 1 failed" if failed else "1 passed, 0 failed")
    return 1 if failed else 0


def _copy(clickhouse, source, target):
    clickhouse.execute(f"DROP DATABASE IF EXISTS {target} SYNC")
    clickhouse.execute(f"CREATE DATABASE {target}")
    for table in verdict.tables(clickhouse, source):
        clickhouse.execute(f"CREATE TABLE {target}.{table} AS {source}.{table}")
        clickhouse.execute(f"INSERT INTO {target}.{table} SELECT * FROM {source}.{table}")
