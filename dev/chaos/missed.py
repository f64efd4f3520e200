"""What a fault raises that found nothing to hit."""


class Missed(Exception):
    """Its text says why."""
