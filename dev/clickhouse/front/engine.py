"""The engine: one process, one data path, a fresh session for each request."""

import re
import threading
from contextlib import closing

from chdb.session import Session

from .errors import from_engine, refuse

_SETTING = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Result:
    """What a statement gave: its bytes, and what was read and written."""

    def __init__(self, result):
        # The view keeps the engine's buffer alive and spares a copy.
        self._owner = result.get_memview()
        self.data = self._owner.view() if result.size() else b""
        self.rows_read = result.storage_rows_read()
        self.bytes_read = result.storage_bytes_read()
        self.rows_written = result.rows_written()
        self.bytes_written = result.bytes_written()
        self.elapsed = result.elapsed()


class Engine:
    """Runs statements, a bounded number of them at a time."""

    def __init__(self, data, config, log, parallel):
        self._source = f"{data}?config-file={config}&users_config={config}&log-level=error&logger.log={log}"
        self._free = threading.BoundedSemaphore(parallel)
        # The engine lives as long as one session is open.
        self._kept = Session(self._source)
        self.version = bytes(self._kept.query("SELECT version()", "TSVRaw").bytes()).decode().strip()
        self.timezone = bytes(self._kept.query("SELECT timezone()", "TSVRaw").bytes()).decode().strip()

    def run(self, statement, *, output="TabSeparated", role=None, database=None, settings=None, params=None):
        """One statement in a session of its own, under a role, in a database, with settings.

        Raises `Refusal` with the engine's code.
        """
        with self._free, closing(Session(self._source)) as session:
            try:
                for preparation in _preparations(role, database, settings or {}):
                    session.query(preparation)
                return Result(session.query(statement, output, params=params or {}))
            except RuntimeError as error:
                raise from_engine(error) from None

    def check(self, spool):
        """Whether an INSERT that fails is told as failed; an engine that loses that must not serve."""
        table = "default.front_self_check"
        self.run(f"DROP TABLE IF EXISTS {table} SYNC")
        self.run(f"CREATE TABLE {table} (n UInt8, CONSTRAINT c CHECK n < 9) ENGINE = MergeTree ORDER BY n")
        codes = []
        for value in (b"1\n", b"200\n"):
            with spool.file([value]) as path:
                statement = f"INSERT INTO {table} FROM INFILE '{path}' COMPRESSION 'none' FORMAT TSV"
                codes.append(self._code_of(statement))
        rows = bytes(self.run(f"SELECT count() FROM {table}").data).strip()
        self.run(f"DROP TABLE {table} SYNC")
        return codes == [0, 469] and rows == b"1"

    def _code_of(self, statement):
        try:
            self.run(statement)
        except Exception as error:
            return getattr(error, "code", -1)
        return 0

    def close(self):
        """Ends the engine; no statement may be running."""
        self._kept.close()


def _preparations(role, database, settings):
    """What a session needs first. Settings go in one statement: behind `readonly` no other could be set."""
    if role:
        yield f"SET ROLE {_identifier(role)}"
    if database:
        yield f"USE {_identifier(database)}"
    # The engine takes `1 + 1` for a statement unless told otherwise; the server does not.
    settings = {"implicit_select": "0", **settings}
    yield "SET " + ", ".join(f"{_name(name)} = {_quoted(value)}" for name, value in settings.items())


def _name(name):
    if not _SETTING.fullmatch(name):
        raise refuse(115, "UNKNOWN_SETTING", f"Unknown setting '{name}'")
    return name


def _quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _identifier(text):
    return "`" + text.replace("\\", "\\\\").replace("`", "\\`") + "`"
