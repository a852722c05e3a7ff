"""Scope: which URLs are ours to visit, as rules that compose with and, or, not.

A scope is an expression that a person can read in a settings file, an event or an explanation:

    domain("example.org") and not prefix("https://example.org/private/") and depth(5)

Rules: `any()`; `host("www.example.org", …)`; `domain("example.org", …)`, with its subdomains;
`prefix("https://…", …)`; `pattern("regular expression")`, found anywhere in the URL; `depth(n)`, at
most n links from a seed. The expression is parsed as Python and never evaluated. (Filters combined
by conjunction, disjunction and negation: Selective incremental crawler, section 4.)
"""

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from gossamer.errors import BadSettings
from gossamer.web.url import BadUrl, canonicalize, host_name

_more_than_a_name = re.compile(r"[/@?#\\\s]|^[^\[]*:")

Holds = Callable[[str, int], bool]
"""Whether a rule holds for a canonical URL that was found at a depth."""


@dataclass(frozen=True)
class Judgement:
    """Whether a URL is in scope, and the rule that decided, as its author wrote it."""

    inside: bool
    rule: str


@dataclass(frozen=True)
class Scope:
    """A parsed scope; `parse_scope` makes them."""

    text: str
    holds: Holds
    parts: tuple["Scope", ...] = ()
    conjunction: bool = False
    """Whether all parts must hold, or any one."""

    def judge(self, url: str, depth: int) -> Judgement:
        """Judge a canonical *url* found *depth* links from a seed."""
        inside = self.holds(url, depth)
        for part in self.parts:
            if part.holds(url, depth) == inside and self.conjunction != inside:
                return part.judge(url, depth)
        return Judgement(inside, self.text)


@lru_cache(maxsize=64)
def parse_scope(text: str) -> Scope:
    """Parse *text*; raise BadSettings, with what is wrong, if it is no scope."""
    try:
        return _scope(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadSettings(f"scope: not an expression: {text!r} ({error})") from error


def _scope(node: ast.expr) -> Scope:
    match node:
        case ast.BoolOp(op=op, values=values):
            return _combined(ast.unparse(node), [_scope(v) for v in values], type(op) is ast.And)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _scope(operand).holds
            return Scope(ast.unparse(node), lambda url, depth: not inner(url, depth))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in RULES:
            return Scope(ast.unparse(node), _rule(name, args, ast.unparse(node)))
    raise BadSettings(
        f"scope: {ast.unparse(node)!r} is no rule; the rules are {', '.join(RULES)}, "
        "combined with and, or, not"
    )


def _combined(text: str, parts: list[Scope], conjunction: bool) -> Scope:
    fold = all if conjunction else any

    def holds(url: str, depth: int) -> bool:
        return fold(part.holds(url, depth) for part in parts)

    return Scope(text, holds, tuple(parts), conjunction)


def _rule(name: str, args: list[ast.expr], text: str) -> Holds:
    values = tuple(arg.value if isinstance(arg, ast.Constant) else None for arg in args)
    try:
        return RULES[name](*values)
    except (BadUrl, TypeError, ValueError, AttributeError, OverflowError, re.error) as error:
        raise BadSettings(f"scope: {text!r} makes no sense: {error}") from error


def _any() -> Holds:
    return lambda url, depth: True


def _host(*names: str) -> Holds:
    wanted = _names(names)
    return lambda url, depth: host_name(url) in wanted


def _domain(*names: str) -> Holds:
    wanted = _names(names)

    def holds(url: str, depth: int) -> bool:
        name = host_name(url)
        while name not in wanted:
            _, dot, name = name.partition(".")
            if not dot:
                return False
        return True

    return holds


def _prefix(*prefixes: str) -> Holds:
    wanted = tuple(str(prefix) for prefix in _some(prefixes))
    return lambda url, depth: url.startswith(wanted)


def _pattern(expression: str) -> Holds:
    found = re.compile(expression).search
    return lambda url, depth: found(url) is not None


def _depth(most: int) -> Holds:
    if type(most) is not int or most < 0:
        raise ValueError("depth takes a whole number from 0")
    return lambda url, depth: depth <= most


def _names(values: tuple[str, ...]) -> frozenset[str]:
    # Spelt as in a canonical URL: lower case, Punycode, no dot for the root.
    if wrong := [value for value in _some(values) if _more_than_a_name.search(value)]:
        raise ValueError(f"{wrong[0]!r} is more than a name")
    return frozenset(host_name(canonicalize(f"http://{value.strip('.')}/")) for value in values)


def _some(values: tuple[str, ...]) -> tuple[str, ...]:
    if not values or not all(isinstance(value, str) and value for value in values):
        raise ValueError("it takes one or more texts in quotes")
    return values


RULES: dict[str, Callable[..., Holds]] = {
    "any": _any,
    "host": _host,
    "domain": _domain,
    "prefix": _prefix,
    "pattern": _pattern,
    "depth": _depth,
}
