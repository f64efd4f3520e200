"""What a request asks for: parameters of the URL and of a form, settings, and the statement with its data."""

import re
from urllib.parse import parse_qsl

from . import body, framing
from .errors import refuse

# Parameters with a meaning of their own; every other one is a setting.
_RESERVED = {
    "", "query", "database", "default_format", "user", "password", "quota_key", "query_id", "role", "stacktrace",
    "compress", "decompress", "buffer_size", "wait_end_of_query", "client_protocol_version", "close_session",
}  # fmt: skip
_SESSION = {"session_id", "session_timeout", "session_check"}
_FORM_LIMIT = 64 << 20


class Request:
    """A request whose parameters are known; its body is yet to be read."""

    def __init__(self, method, query_string, headers, stream):
        self.headers = headers
        self.raw_body = body.of_request(stream, headers)
        self.params = dict(parse_qsl(query_string, keep_blank_values=True, errors="surrogateescape"))
        self._method = method
        self._read_form()
        held = _SESSION & self.params.keys()
        if held:
            raise refuse(48, "NOT_IMPLEMENTED", f"HTTP sessions ({held.pop()}) are not supported here")

    def _read_form(self):
        """A form's fields are parameters like those of the URL; then there is no other body."""
        self._form = False
        kind = self.headers.get("Content-Type", "")
        if not kind.lower().startswith("multipart/form-data"):
            return
        boundary = re.search(r'boundary="?([^";]+)"?', kind, re.IGNORECASE)
        if not boundary:
            raise refuse(36, "BAD_ARGUMENTS", "multipart/form-data without a boundary")
        self._form = True
        too_large = refuse(229, "QUERY_IS_TOO_LARGE", f"The form is larger than {_FORM_LIMIT} bytes")
        form = body.all_of(self.raw_body, _FORM_LIMIT, too_large)
        self.params.update(_fields(form, boundary.group(1).encode()))

    @property
    def database(self):
        return self.params.get("database") or self.headers.get("X-ClickHouse-Database")

    @property
    def output(self):
        return self.params.get("default_format") or self.headers.get("X-ClickHouse-Format") or "TabSeparated"

    @property
    def compressed_reply(self):
        return _flag(self.params, "compress")

    @property
    def role(self):
        return self.params.get("role")

    def settings(self):
        """Settings of the request. What is asked by GET may change nothing, as on the server."""
        settings = {
            name: _text(name, value)
            for name, value in self.params.items()
            if name not in _RESERVED and not name.startswith("param_")
        }
        if self._method != "POST" and settings.get("readonly", "0") == "0":
            settings["readonly"] = "2"
        return settings

    def query_params(self):
        """Values for `{name:Type}`."""
        return {
            name[len("param_") :]: _text(name, value)
            for name, value in self.params.items()
            if name.startswith("param_")
        }

    def content(self):
        """The statement as given in parameters, and the body that follows it."""
        query = self.params.get("query", "").encode("utf-8", "surrogateescape")
        if self._form:
            return query, body.Empty()
        plain = body.decoded(self.raw_body, self.headers.get("Content-Encoding"))
        if _flag(self.params, "decompress"):
            plain = framing.Decompressed(plain)
        return query, plain


def _flag(params, name):
    return params.get(name, "0").lower() not in ("", "0", "false")


def _text(name, value):
    """The engine's interface takes these as text; other bytes than UTF-8 can only be in the statement."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refuse(36, "BAD_ARGUMENTS", f"The value of parameter {name} is not UTF-8") from None
    return value


def _fields(data, boundary):
    for part in (b"\r\n" + data).split(b"\r\n--" + boundary)[1:]:
        if part.startswith(b"--"):
            return
        head, separator, value = part.partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)
        if not separator or not name or b"filename=" in head:
            raise refuse(48, "NOT_IMPLEMENTED", "Only plain fields are supported in a form here")
        yield name.group(1).decode("utf-8", "surrogateescape"), value.decode("utf-8", "surrogateescape")
