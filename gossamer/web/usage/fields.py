"""Reads the dictionaries of usage statements.

`parse_dictionary` is strict, as structured fields require (RFC 9651, 4.2.2): a field with an error
anywhere has no members. `parse_pairs` reads `key=value` pairs, for which no grammar is published.
"""

import re

_KEY = r"[a-z*][a-z0-9_.*-]*"
_TOKEN = r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*"
_STRING = r'"(?:[ !#-\[\]-~]|\\["\\])*"'
_ITEM = (
    r"(?:-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})(?![0-9.])"  # Decimal or Integer
    rf"|{_STRING}|{_TOKEN}"
    r"|:[A-Za-z0-9+/=]*:"  # Byte Sequence
    r"|\?[01]"  # Boolean
    r"|@-?[0-9]{1,15}(?![0-9.])"  # Date
    r'|%"(?:[ !#$&-~]|%[0-9a-f]{2})*")'  # Display String
)
_PARAMETERS = rf"(?:; *{_KEY}(?:={_ITEM})?)*"
_LIST = rf"\( *(?:{_ITEM}{_PARAMETERS}(?: +{_ITEM}{_PARAMETERS})*)? *\)"
_member = re.compile(rf"({_KEY})(?:=({_ITEM}|{_LIST}))?{_PARAMETERS}")
_comma = re.compile(r"[ \t]*,[ \t]*")
_token = re.compile(_TOKEN)


def parse_dictionary(text: str) -> dict[str, str]:
    """Return key → token of the structured field *text*; {} if it is malformed.

    A key whose last value is not a token has the value "": an earlier value does not count.
    """
    text = text.strip(" ")
    found, at = dict[str, str](), 0
    while at < len(text):
        member = _member.match(text, at)
        if member is None:
            return {}
        key, value = member[1], member[2] or ""
        found[key] = value if _token.fullmatch(value) else ""
        at = member.end()
        if at == len(text):
            return found
        comma = _comma.match(text, at)
        if comma is None or comma.end() == len(text):
            return {}
        at = comma.end()
    return found


def parse_pairs(text: str) -> list[tuple[str, str]]:
    """Return the `key=value` pairs of *text*, separated by commas, in lower case."""
    pairs = (piece.partition("=") for piece in text.lower().split(","))
    return [(key.strip(), value.strip()) for key, equals, value in pairs if equals]
