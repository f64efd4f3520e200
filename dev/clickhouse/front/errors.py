"""Errors as ClickHouse's HTTP interface tells them: a numeric code, a text, a status."""

import re

# Status by error code, as the server maps them; every other code is 500.
_STATUS = {
    401: (194,),
    403: (192, 193, 497, 512, 516),
    400: (
        6, 8, 15, 25, 26, 27, 36, 38, 41, 44, 53, 56, 57, 62, 72,
        117, 167, 168, 321, 376, 386, 427, 441, 675, 676,
    ),
    404: (24, 46, 47, 50, 60, 63, 73, 78, 81, 115, 182, 336, 511),
    413: (229,),
    501: (48,),
    503: (76, 209, 439),
    411: (381,),
    408: (159,),
}  # fmt: skip
STATUS = {code: status for status, codes in _STATUS.items() for code in codes}

CODE = re.compile(r"Code: (\d+)\.")


class Refusal(Exception):
    """A request that ends in an error: `code` is ClickHouse's, `text` starts with `Code: N.`"""

    def __init__(self, code, text):
        super().__init__(text)
        self.code = code
        self.text = text

    @property
    def status(self):
        """The HTTP status that goes with the code."""
        return STATUS.get(self.code, 500)


class Disconnected(Exception):
    """The client went away before its request was complete."""


def refuse(code, name, message):
    """A refusal of the front's own, in the engine's form."""
    return Refusal(code, f"Code: {code}. DB::Exception: {message}. ({name})")


def from_engine(error):
    """The engine's exception; the first code in its text is the one that counts."""
    text = str(error)
    found = CODE.search(text)
    if not found:
        return refuse(1001, "STD_EXCEPTION", text)
    return Refusal(int(found.group(1)), text[found.start() :])
