"""Who asks: credentials of a request against accounts.json, and the role that the account has."""

import base64
import binascii
import hmac
import json

from .errors import refuse


class Account:
    """A user of the HTTP interface and the engine's role it is held to (None: everything)."""

    def __init__(self, name, password, role):
        self.name = name
        self.password = password
        self.role = role


class Accounts:
    """The accounts of one file: `{"name": {"password": "…", "role": "…" or null}}`."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
        self._accounts = {name: Account(name, entry["password"], entry["role"]) for name, entry in entries.items()}

    def authenticate(self, headers, params):
        """The account of a request, or a refusal with code 516."""
        name, password = _credentials(headers, params)
        account = self._accounts.get(name)
        known = account is not None and hmac.compare_digest(account.password.encode(), password.encode())
        if not known:
            raise _denied(f"{name}: Authentication failed: password is incorrect, or there is no user with such name")
        return account


def _credentials(headers, params):
    """User and password from headers, Basic authentication or parameters; mixing them is refused as by the server."""
    in_headers = "X-ClickHouse-User" in headers or "X-ClickHouse-Key" in headers
    in_params = "user" in params or "password" in params
    basic = headers.get("Authorization")
    if in_headers + in_params + (basic is not None) > 1:
        raise _denied("Invalid authentication: credentials may be given in one way only")
    if in_headers:
        return headers.get("X-ClickHouse-User") or "default", headers.get("X-ClickHouse-Key", "")
    if basic is not None:
        return _basic(basic)
    return params.get("user") or "default", params.get("password", "")


def _basic(header):
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise _denied(f"Invalid authentication: '{scheme}' HTTP Authorization scheme is not supported")
    try:
        name, _, password = base64.b64decode(encoded.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise _denied("Invalid authentication: the Authorization header is not valid base64") from None
    return name or "default", password


def _denied(message):
    return refuse(516, "AUTHENTICATION_FAILED", message)
