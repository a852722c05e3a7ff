"""JSON of the Web, with the errors that its authors make.

A document without its end keeps its whole objects, and brackets that are open are closed. Comments,
a comma behind the last item, and brackets behind the end are skipped, and strings may have control
characters. Objects in a row are a list. A lone surrogate, which is half of an emoji, becomes
U+FFFD, and an escape that JSON does not have is the character behind its backslash, as in
JavaScript. Other errors are not repaired: the intention of their authors is unknown.

Names of schema.org in linked data may have a prefix, or be whole URLs (JSON-LD 1.1, 4.1).
"""

import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any

from msgspec import DecodeError
from msgspec.json import decode

from gossamer.web.markup import REPLACEMENT

KEYWORDS = frozenset(("@graph", "@id", "@type", "@value"))
"""Keywords of JSON-LD that are read, and may have other names."""

_schema_name = re.compile(r"\Ahttps?://(?:www\.)?schema\.org/", re.IGNORECASE)
_decoder = json.JSONDecoder(strict=False)
CLOSING = {"{": "}", "[": "]"}
_string = r'(?P<string>"(?:[^"\\]|\\.)*(?:"|\\?\Z))'
_comments = re.compile(rf"{_string}|/\*.*?(?:\*/|\Z)|//[^\r\n]*", re.DOTALL)
_tokens = re.compile(_string + r"|(?P<comma>,(?=\s*[]}]))|[][{}]", re.DOTALL)
_brackets = re.compile(r"[]};,\s]*+")
_surrogates = re.compile(
    r"(\\\\)|(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\(?P<other>(?!u[0-9a-fA-F]{4})[^\"\\/bfnrt])",
    re.DOTALL,
)


def decode_json(text: str) -> tuple[Any, bool]:
    """Return the value of a JSON document, and whether it was repaired.

    Raise ValueError if *text* is not JSON even with the repairs, or is nested too deeply.
    """
    try:
        return decode(text), False
    except (DecodeError, UnicodeError):
        pass
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    try:
        text = _comments.sub(lambda found: found["string"] or " ", text)
        text = _complete(_tokens.sub(_repair, text)).strip()
        value, end = _decoder.raw_decode(text)
        values = [value]
        while (end := _behind(text, end)) < len(text) and isinstance(value, dict):
            value, end = _decoder.raw_decode(text, end)
            values.append(value)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if end < len(text) or not (len(values) == 1 or isinstance(value, dict)):
        raise ValueError("text behind the document")
    return values if len(values) > 1 else value, True


def _behind(text: str, end: int) -> int:
    """Return the index of what follows the document that ends at *end*, apart from brackets."""
    found = _brackets.match(text, end)
    return found.end() if found else end


def _repair(token: re.Match[str]) -> str:
    if token["comma"]:
        return ""
    return _surrogates.sub(_replace_lone, token[0]) if token["string"] else token[0]


def _replace_lone(found: re.Match[str]) -> str:
    return found[0] if found[1] or found[2] else found["other"] or REPLACEMENT


def _complete(text: str) -> str:
    """Return a truncated document up to its last whole item that is an object, with the brackets
    that close it. A complete document is returned unchanged."""
    end, depth = 0, len(text)
    ends = list[str]()
    for token, ends in _open_brackets(text):
        # Objects in a half item are deeper than the items before it.
        if token[0] == "}" and ends[-1:] == ["]"] and len(ends) <= depth:
            end, depth = token.end(), len(ends)
    if not ends or not end:
        return text
    [(_, ends)] = deque(_open_brackets(text[:end]), maxlen=1)
    return text[:end] + "".join(reversed(ends))


def _open_brackets(text: str) -> Iterator[tuple[re.Match[str], list[str]]]:
    """Yield each bracket outside strings, and the closing brackets that are missing behind it."""
    ends = list[str]()
    for token in _tokens.finditer(text):
        if end := CLOSING.get(token[0]):
            ends.append(end)
        elif token["string"] or token["comma"]:
            continue
        elif not ends:
            return  # Behind the end of the document.
        elif ends.pop() != token[0]:
            raise ValueError("brackets that do not match")
        yield token, ends


def shorten_names(value: Any) -> Any:
    """Return *value*, linked data, with short names: `schema:name` and `https://schema.org/name`
    are `name`, and the contexts may have other names for keywords. *value* changes."""
    prefixes, aliases = {"schema"}, dict[str, str]()
    for context in _contexts(value):
        for name, meaning in context.items():
            if not isinstance(meaning, str):
                continue
            if name[:1] != "@" and meaning in KEYWORDS:
                aliases[name] = meaning
            elif _schema_name.sub("", meaning) == "":
                prefixes.add(name)

    def shorten(name: Any) -> Any:
        if not isinstance(name, str):
            return name
        prefix, colon, rest = name.partition(":")
        return rest if colon and prefix in prefixes else _schema_name.sub("", name)

    for thing in find_objects(value):
        for key in [*thing]:
            short = aliases.get(key) or shorten(key)
            if short != key and short not in thing:
                thing[short] = thing.pop(key)
        kinds = thing.get("@type")
        thing_kinds = [*map(shorten, kinds)] if isinstance(kinds, list) else shorten(kinds)
        if "@type" in thing:
            thing["@type"] = thing_kinds
        for key, item in thing.items():
            if isinstance(item, dict) and len(item) == 1:
                thing[key] = item.get("@list") or item.get("@set") or item
    return value


def _contexts(value: Any) -> Iterator[dict[str, Any]]:
    for thing in find_objects(value):
        context = thing.get("@context")
        yield from (
            one
            for one in (context if isinstance(context, list) else [context])
            if isinstance(one, dict)
        )


def find_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield all objects in *value*, the outer ones first."""
    queue = deque([value])
    while queue:
        item = queue.popleft()
        if isinstance(item, dict):
            yield item
            queue += item.values()
        elif isinstance(item, list):
            queue += item
