"""Parses structured header fields: dictionaries of items and inner lists (RFC 9651).

The parser is strict, as section 4.2 requires: a field with an error anywhere has no members.
"""

import binascii
import re
from base64 import b64decode, b64encode

from msgspec import Struct

_key = re.compile(r"[a-z*][a-z0-9_.*-]*")
_string = re.compile(r'"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"')
_number = re.compile(r"-?(?:[0-9]{1,12}\.[0-9]{1,3}|[0-9]{1,15})(?![0-9.])")
_bytes = re.compile(r":([A-Za-z0-9+/=]*):")
_token = re.compile(r"[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*")
_date = re.compile(r"@-?[0-9]{1,15}(?![0-9.])")
_display = re.compile(r'%"(?:[ !#$&-~]|%[0-9a-f]{2})*"')
_boolean = re.compile(r"\?([01])")
_spaces = re.compile(r" *")
_blank = re.compile(r"[ \t]*")
_comma = re.compile(r"[ \t]*,[ \t]*")

Bare = str | int | float | bool | bytes


class BadField(ValueError):
    """A header is not a valid dictionary; the text says where."""


class Token(str):
    """A token: a word without quotation marks."""

    __slots__ = ()


class Verbatim(Token):
    """A date or a display string, as written: their values are not needed."""

    __slots__ = ()


class Item(Struct, frozen=True):
    """A value and its parameters."""

    value: Bare
    params: dict[str, Bare] = {}


class InnerList(Struct, frozen=True):
    """Items in parentheses, and the parameters of the list."""

    items: tuple[Item, ...]
    params: dict[str, Bare] = {}


Member = Item | InnerList


def parse_dictionary(text: str) -> dict[str, Member]:
    """Parse a header's joined values; raise BadField. The last of equal names counts."""
    reader = _Reader(text)
    members: dict[str, Member] = {}
    reader.take(_spaces)
    while not reader.is_done:
        name = reader.need(_key, "a name")
        members.pop(name, None)
        members[name] = reader.member() if reader.literal("=") else Item(True, reader.params())
        if not reader.take(_comma):
            reader.take(_blank)
            if not reader.is_done:
                raise BadField(f"no comma before {reader.excerpt!r}")
            break
        if reader.is_done:
            raise BadField("ends with a comma")
    return members


def serialize_item(value: Bare) -> str:
    """Return a bare item as it is written in a header."""
    match value:
        case bool():
            return "?1" if value else "?0"
        case Token():
            return str(value)
        case str():
            escaped = value.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'
        case bytes():
            return f":{b64encode(value).decode()}:"
        case int() | float():
            return str(value)


def serialize_params(params: dict[str, Bare]) -> str:
    """Return parameters as they are written after an item."""
    return "".join(
        f";{name}" if value is True else f";{name}={serialize_item(value)}"
        for name, value in params.items()
    )


def serialize(member: Member) -> str:
    """Return a member in the canonical form, which signatures cover."""
    if isinstance(member, Item):
        return serialize_item(member.value) + serialize_params(member.params)
    items = " ".join(map(serialize, member.items))
    return f"({items}){serialize_params(member.params)}"


class _Reader:
    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0

    @property
    def is_done(self) -> bool:
        return self._at == len(self._text)

    @property
    def excerpt(self) -> str:
        return self._text[self._at : self._at + 20]

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found[0] if found else ""

    def need(self, pattern: re.Pattern[str], noun: str) -> str:
        if found := self.take(pattern):
            return found
        raise BadField(f"not {noun}: {self.excerpt!r}")

    def literal(self, text: str) -> bool:
        found = self._text.startswith(text, self._at)
        self._at += len(text) if found else 0
        return found

    def params(self) -> dict[str, Bare]:
        params: dict[str, Bare] = {}
        while self.literal(";"):
            self.take(_spaces)
            name = self.need(_key, "a parameter")
            params.pop(name, None)
            params[name] = self.bare() if self.literal("=") else True
        return params

    def member(self) -> Member:
        if not self.literal("("):
            return Item(self.bare(), self.params())
        items: list[Item] = []
        while True:
            spaces = self.take(_spaces)
            if self.literal(")"):
                return InnerList(tuple(items), self.params())
            if items and not spaces:
                raise BadField(f"no space before {self.excerpt!r}")
            items.append(Item(self.bare(), self.params()))

    def bare(self) -> Bare:
        if found := self.take(_string):
            return re.sub(r"\\(.)", r"\1", found[1:-1])
        if found := self.take(_number):
            return float(found) if "." in found else int(found)
        if found := self.take(_bytes):
            try:
                return b64decode(found[1:-1], validate=True)
            except binascii.Error as error:
                raise BadField(f"not base64: {found[:20]!r}") from error
        if found := self.take(_boolean):
            return found == "?1"
        if found := self.take(_date) or self.take(_display):
            return Verbatim(found)
        return Token(self.need(_token, "a value"))
