"""What the headers of a response lead to: Link (RFC 8288) and Refresh."""

import re
from collections.abc import Iterator

from gossamer.events import Link
from gossamer.events.pages import LinkKind
from gossamer.text.folding import folded
from gossamer.web.http import Headers, all_values, first_value
from gossamer.web.url import BadUrl, canonicalize
from services.parser.links import REL_LIMIT, TEXT_LIMIT
from services.parser.targets import refresh_target, relation

LINKS = 100
"""Most links of a response's headers."""

_link = re.compile(r"[\s,]*<([^<>]*)>((?:[^,<\"]+|\"(?:[^\"\\]|\\.)*\"?)*)", re.DOTALL)
_parameter = re.compile(
    r""";\s*([\w!#$%&'*+.^`|~-]+)\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"?|([^\s;,"]*)))?""", re.DOTALL
)
_escape = re.compile(r"\\(.)", re.DOTALL)

Parameters = dict[str, str]


def header_links(headers: Headers, url: str) -> tuple[Link, ...]:
    """Return where the headers of a response from the canonical *url* lead, each URL once."""
    found: dict[str, Link] = {}
    for target, kind, said in _targets(headers):
        leads_to = _canonical(target, url)
        if leads_to and leads_to != url and len(found) < LINKS:
            rel = folded(said.get("rel", "").lower())[:REL_LIMIT]
            text = folded(said.get("title", ""))[:TEXT_LIMIT]
            found.setdefault(leads_to, Link(leads_to, text, rel=rel, kind=kind.value))
    return tuple(found.values())


def link_values(value: str) -> Iterator[tuple[str, Parameters]]:
    """Yield the targets in a Link header, as they stand there, each with its parameters; of one
    that is there twice the first counts (section 3.3)."""
    for found in _link.finditer(value):
        said: Parameters = {}
        for name, quoted, plain in _parameter.findall(found[2]):
            said.setdefault(name.lower(), _escape.sub(r"\1", quoted) or plain)
        yield found[1].strip(), said


def _targets(headers: Headers) -> Iterator[tuple[str, LinkKind, Parameters]]:
    for value in all_values(headers, "link"):
        for target, said in link_values(value):
            rel = said.get("rel", "").lower().split()
            kind = relation(rel, said.get("type", ""), "hreflang" in said)
            # With an anchor it is a link of another document (section 3.2).
            if kind and "anchor" not in said:
                yield target, kind, said
    if refresh := refresh_target(first_value(headers, "refresh")):
        yield refresh, LinkKind.REFRESH, {}


def _canonical(target: str, url: str) -> str:
    try:
        return canonicalize(target, url) if target else ""
    except BadUrl:
        return ""
