"""From a request to a result: split the statement from its data, spool the data, run it."""

import mmap

from . import body, sql
from .errors import refuse

_HEAD = 1 << 20
_QUERY_LIMIT = 64 << 20


class Runner:
    """Runs requests on an engine, with a spool for their data."""

    def __init__(self, engine, spool):
        self._engine = engine
        self._spool = spool

    def run(self, request, account):
        """The result of a request's statement."""
        text, whole, rest = _head(*request.content())
        try:
            insert = sql.parse(text, whole)
        except sql.Truncated:
            text, whole = text + _remaining(rest), True
            insert = sql.parse(text, whole)
        if insert is None:
            return self._execute(text, request, account)
        with self._spool.file(_data(text, insert.data_at, rest)) as path:
            if insert.format.upper() == b"VALUES":
                _check_values(path)
            return self._execute(insert.from_file(path), request, account)

    def _execute(self, statement, request, account):
        return self._engine.run(
            statement,
            output=request.output,
            role=_role(request, account),
            database=request.database,
            settings=request.settings(),
            params=request.query_params(),
        )


def _role(request, account):
    """An account is held to its role; one without a role may pick any."""
    if account.role and request.role not in (None, account.role):
        raise refuse(512, "SET_NON_GRANTED_ROLE", f"Role {request.role} should be granted to set as a current")
    return account.role or request.role


def _head(query, source):
    """The statement's beginning as far as it takes to know it, whether that is all, and what is left of the body."""
    parts = [query + b"\n"] if query else []
    size = 0
    while size < _HEAD:
        part = source.read(body.PIECE)
        if not part:
            # The line break counts only when a body follows.
            return (query if not size else b"".join(parts)), True, source
        parts.append(part)
        size += len(part)
    return b"".join(parts), False, source


def _remaining(source):
    too_large = refuse(62, "SYNTAX_ERROR", f"Max query size exceeded: the statement is larger than {_QUERY_LIMIT}")
    return body.all_of(source, _QUERY_LIMIT, too_large)


def _data(text, start, rest):
    if start < len(text):
        yield memoryview(text)[start:]
    while True:
        piece = rest.read(body.PIECE)
        if not piece:
            return
        yield piece


def _check_values(path):
    with open(path, "rb") as file:
        if not file.seek(0, 2):
            return
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            sql.check_values(data)
