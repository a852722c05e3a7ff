"""Scope: which URLs a crawl visits, as rules combined with and, or, not.

A scope is an expression that people can read in a settings file, an event or an explanation:

    domain("example.org") and not prefix("https://example.org/private/") and depth(5)

Rules: `any()`; `host("www.example.org", …)`; `domain("example.org", …)`, with its subdomains;
`prefix("https://…", …)`; `pattern("regular expression")`, which RE2 searches anywhere in the URL;
`depth(n)`, at most n links from a seed. (Filters combined by conjunction, disjunction and
negation: Selective incremental crawler, section 4.)
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from gossamer.web.expressions import Evaluation, Expression, Holds, parse, require_texts
from gossamer.web.url import canonicalize, host_name

_more_than_a_name = re.compile(r"[/@?#\\\s]|^[^\[]*:")


class Found(NamedTuple):
    """A canonical URL, and the depth at which it was found."""

    url: str
    depth: int


class Scope(NamedTuple):
    """A parsed scope; `parse_scope` makes them."""

    expression: Expression[Found]

    def evaluate(self, url: str, depth: int) -> Evaluation:
        """Evaluate a canonical *url* found *depth* links from a seed."""
        return self.expression.evaluate(Found(url, depth))


@lru_cache(maxsize=4096)
def parse_scope(text: str) -> Scope:
    """Parse *text*; raise BadSettings, with the error, if it is not a scope."""
    return Scope(parse(text, RULES, "scope"))


def _any() -> Holds[Found]:
    return lambda found: True


def _host(*names: str) -> Holds[Found]:
    expected = _names(names)
    return lambda found: host_name(found.url) in expected


def _domain(*names: str) -> Holds[Found]:
    expected = _names(names)

    def holds(found: Found) -> bool:
        name = host_name(found.url)
        while name not in expected:
            _, dot, name = name.partition(".")
            if not dot:
                return False
        return True

    return holds


def _prefix(*prefixes: str) -> Holds[Found]:
    expected = tuple(str(prefix) for prefix in require_texts(prefixes))
    return lambda found: found.url.startswith(expected)


def _pattern(expression: str) -> Holds[Found]:
    # Imported here: most crawls have no pattern.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(*require_texts((expression,)), options).search
    except re2.error as error:
        why = error.args[0].decode(errors="replace")
        raise ValueError(
            f"{why}. Patterns are matched by RE2 in linear time, without lookahead, lookbehind, "
            "backreferences and possessive quantifiers; combine rules with and, or, not instead"
        ) from error
    return lambda found: search(found.url) is not None


def _depth(limit: int) -> Holds[Found]:
    if type(limit) is not int or limit < 0:
        raise ValueError("depth takes a whole number ≥ 0")
    return lambda found: found.depth <= limit


def _names(values: tuple[str, ...]) -> frozenset[str]:
    # Written as in a canonical URL: lower case, Punycode, without the root dot.
    if wrong := [value for value in require_texts(values) if _more_than_a_name.search(value)]:
        raise ValueError(f"{wrong[0]!r} is not just a host name")
    return frozenset(host_name(canonicalize(f"http://{value.strip('.')}/")) for value in values)


RULES: dict[str, Callable[..., Holds[Found]]] = {
    "any": _any,
    "host": _host,
    "domain": _domain,
    "prefix": _prefix,
    "pattern": _pattern,
    "depth": _depth,
}
