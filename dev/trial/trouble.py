"""What ends a trial with one clear line."""


class Trouble(Exception):
    """Its text says what is wrong."""
