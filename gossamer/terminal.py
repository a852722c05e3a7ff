"""What came from the Web, made fit for a terminal: whatever a person may see passes here.

A control character could move the cursor, set the title of the window, answer for the keyboard, or
show text in another order than it has. There are those of ASCII (C0 and DEL), those of Latin 1
(C1), line and paragraph separators, and the marks of bidirectional text.
"""

import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str, most: int = 150) -> str:
    """Return *text* with `?` for whatever is not printable, cut to *most* characters."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])


def escaped(text: str, keep: str = "") -> str:
    r"""Return *text* with its control characters as `\u009b`, but for those in *keep*.

    JSON means the same afterwards.
    """
    if text.isprintable():
        return text
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def json_line(encoded: bytes) -> str:
    """Return JSON as it is printed: without control characters but for the ends of its lines."""
    return escaped(encoded.decode(errors="replace"), keep="\n")


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}"
