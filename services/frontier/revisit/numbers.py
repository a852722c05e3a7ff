"""Numbers as they are kept: short."""

from struct import Struct

SINGLE = Struct(">f")
NOTHING = 1e-7
"""A sum that is smaller is what adding and subtracting left behind."""


def rounded(x: float) -> float:
    """Return *x* with seven digits, as four bytes hold it."""
    return float(SINGLE.unpack(SINGLE.pack(x))[0])


def settled(x: float) -> float:
    """Return a sum of what is not negative without what adding and subtracting left behind."""
    return x if x > NOTHING else 0.0
