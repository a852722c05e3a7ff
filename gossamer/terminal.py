"""Escapes text from the Web before it is printed on a terminal.

A control character could move the cursor, set the window's title, simulate keyboard input, or show
text in another order. The control characters are those of ASCII (C0 and DEL) and Latin 1 (C1), line
and paragraph separators, and the marks of bidirectional text.
"""

import re

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str, most: int = 150) -> str:
    """Return the first *most* characters of *text*, with `?` for each unprintable one."""
    return "".join(c if c.isprintable() else "?" for c in text[:most])


def escape_controls(text: str, keep: str = "") -> str:
    r"""Return *text* with control characters as `\u009b`, except those in *keep*.

    JSON keeps its meaning.
    """
    if text.isprintable():
        return text
    return _CONTROLS.sub(lambda found: found[0] if found[0] in keep else _escape(found[0]), text)


def json_line(encoded: bytes) -> str:
    """Return JSON for printing, without control characters except line ends."""
    return escape_controls(encoded.decode(errors="replace"), keep="\n")


def _escape(character: str) -> str:
    return f"\\u{ord(character):04x}"
