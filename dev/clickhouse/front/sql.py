"""Reads just enough of a statement to tell an INSERT with data behind it from everything else.

The engine cuts a query that carries data at its first blank line and runs the rest as SQL, so data never reaches it
inside a query: it is split off here, and the statement is rewritten to read it from a file. For the same reason
several statements in one request are refused, as the server refuses them.
"""

import re

from .errors import refuse

_TOKEN = re.compile(
    rb"""
      (?P<space> \s+ | --[^\n]* | \#[\ !][^\n]* | /\*.*?\*/ )
    | (?P<quoted> '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `(?:[^`\\]|\\.)*` | \$(\w*)\$.*?\$\3\$ )
    | (?P<word> [A-Za-z_0-9\x80-\xff]+ )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
_OPEN, _CLOSE = b"([{", b")]}"

# What splits statements in the data of VALUES: a semicolon outside of quotes and comments.
_VALUES = re.compile(rb"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`\\]|\\.)*`|--[^\n]*|/\*.*?\*/|;", re.DOTALL)


class Truncated(Exception):
    """The text ends before it is clear what the statement is: read on and parse again."""


class Insert:
    """An INSERT whose data follows: `before` and `settings` are its text, `data_at` is where the data starts."""

    def __init__(self, before, settings, format_name, data_at):
        self._before = before
        self._settings = settings
        self.format = format_name
        self.data_at = data_at

    def from_file(self, path):
        """The same statement with its data in a file."""
        return b"%s FROM INFILE '%s' COMPRESSION 'none' %s FORMAT %s" % (
            self._before,
            path.encode(),
            self._settings,
            self.format,
        )


def parse(text, whole):
    """An `Insert` when data follows the statement in `text`, else None: then all of `text` is the statement.

    `whole` tells whether `text` is everything there is; if not and more is needed, `Truncated` is raised.
    """
    tokens = _Tokens(text)
    first = tokens.next()
    if first is None:
        if whole:
            raise refuse(62, "SYNTAX_ERROR", "Empty query")
        raise Truncated
    if first.upper != b"INSERT":
        if not whole:
            raise Truncated
        _check_single(tokens, first)
        return None
    return _insert(tokens, text, whole)


def check_values(data):
    """Refuses a second statement behind the data of VALUES, which the engine would drop in silence."""
    for found in _VALUES.finditer(data):
        if found.group() == b";" and bytes(data[found.end() : found.end() + 4096]).strip():
            raise refuse(33, "CANNOT_READ_ALL_DATA", "Cannot read data after semicolon")


class _Token:
    __slots__ = ("start", "end", "upper")

    def __init__(self, start, end, upper):
        self.start = start
        self.end = end
        self.upper = upper


class _Tokens:
    """Tokens of a text without space and comments; `upper` is b"" for what is quoted. Tells the depth of brackets."""

    def __init__(self, text):
        self._found = _TOKEN.finditer(text)
        self.depth = 0

    def next(self):
        for found in self._found:
            kind = found.lastgroup
            if kind == "space":
                continue
            upper = b"" if kind == "quoted" else found.group().upper()
            if kind == "other":
                self.depth += (upper in _OPEN) - (upper in _CLOSE)
            return _Token(found.start(), found.end(), upper)
        return None


def _insert(tokens, text, whole):
    settings_at = None
    token = _behind_target(tokens)
    while token is not None:
        word = token.upper if tokens.depth == 0 else b""
        if word == b"SETTINGS" and settings_at is None:
            settings_at = token.start
        elif word == b"VALUES":
            return _with_data(text, settings_at, token.start, b"Values", token.end)
        elif word == b"FORMAT":
            name = tokens.next()
            if name is None or (name.end == len(text) and not whole):
                break
            return _with_data(text, settings_at, token.start, text[name.start : name.end], _skip_line(text, name.end))
        elif word == b"INFILE":
            raise refuse(78, "UNKNOWN_TYPE_OF_QUERY", "Query has infile and was sent directly to the server")
        elif word in (b"SELECT", b"WITH", b"WATCH"):
            return _insert_select(tokens, token, whole)
        elif token.upper == b";":
            _check_single(tokens, token)
        token = tokens.next()
    if not whole:
        raise Truncated
    return None


def _behind_target(tokens):
    """The first token behind `INSERT INTO [TABLE|FUNCTION] name`, so that a table may be called `format`."""
    token = tokens.next()
    while token is not None and token.upper in (b"INTO", b"TABLE", b"FUNCTION"):
        token = tokens.next()
    while token is not None:
        while tokens.depth and token is not None:
            token = tokens.next()  # inside of {name:Identifier}
        token = tokens.next()
        if token is None or token.upper != b".":
            return token
        token = tokens.next()
    return None


def _with_data(text, settings_at, clause_at, format_name, data_at):
    before = text[: settings_at if settings_at is not None else clause_at]
    settings = text[settings_at:clause_at] if settings_at is not None else b""
    return Insert(before, settings, format_name, data_at)


def _skip_line(text, at):
    """Where data starts behind a format's name: past a semicolon and blanks, and past one line end."""
    return re.compile(rb";?[ \t\f]*\r?\n?").match(text, at).end()


def _insert_select(tokens, token, whole):
    """INSERT … SELECT is passed on as it is; data behind it (for `input()`) can't be."""
    if not whole:
        raise Truncated
    while token is not None:
        if token.upper == b"FORMAT" and tokens.depth == 0:
            tokens.next()
            token = tokens.next()
            if token is not None and token.upper not in (b";", b"SETTINGS"):
                raise refuse(48, "NOT_IMPLEMENTED", "INSERT SELECT with data behind it is not supported here")
            continue
        if token.upper == b";":
            _check_single(tokens, token)
        token = tokens.next()
    return None


def _check_single(tokens, token):
    last = b""
    while token is not None:
        if last == b";" and token.upper != b";":
            raise refuse(62, "SYNTAX_ERROR", "Multi-statements are not allowed")
        if last == b"INTO" and token.upper == b"OUTFILE":
            raise refuse(358, "INTO_OUTFILE_NOT_ALLOWED", "INTO OUTFILE is not allowed")
        last = token.upper
        token = tokens.next()
