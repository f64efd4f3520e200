"""What ends a command with one clear line."""


class Trouble(Exception):
    """Its text says what is wrong and what to do about it."""
