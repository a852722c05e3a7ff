"""Scope: which URLs a crawl visits, as rules combined with and, or, not.

A scope is an expression that people can read in a settings file, an event or an explanation:

    domain("example.org") and not prefix("https://example.org/private/") and depth(5)

Rules: `any()`; `host("www.example.org", …)`; `domain("example.org", …)`, with its subdomains;
`prefix("https://…", …)`; `pattern("regular expression")`, which RE2 searches anywhere in the URL;
`depth(n)`, at most n links from a seed. (Filters combined by conjunction, disjunction and negation:
Selective incremental crawler, section 4.)

`gossamer.relevance` has expressions with other rules. An expression is parsed as Python and never
executed: it has names of rules, and constants in brackets. The result of a rule may be unknown
(None), if it is evaluated before all data is there. The result of an expression is then known only
if the other parts decide it.
"""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, NamedTuple, Protocol, TypeVar

from gossamer.errors import BadSettings
from gossamer.web.url import BadUrl, canonicalize, host_name

MAX_SHOWN = 100
"""Characters of an invalid expression in a message."""
S = TypeVar("S")
Holds = Callable[[S], bool | None]
"""Takes a subject; returns whether a rule holds for it, or None if that is unknown."""
Rules = Mapping[str, Callable[..., Holds[S]]]
"""Rule name → function that makes the rule from the constants in its brackets."""


class Evaluation(NamedTuple):
    """The result of an expression for a subject, and the rule that decided, as written."""

    inside: bool | None
    """None: unknown."""
    rule: str


@dataclass(frozen=True)
class Expression(Generic[S]):
    """A parsed expression; `parse_expression` makes them."""

    text: str
    holds: Holds[S]
    parts: tuple["Expression[S]", ...] = ()
    conjunction: bool = False
    """Whether all parts must hold, or any."""

    def evaluate(self, subject: S) -> Evaluation:
        """Evaluate *subject*."""
        inside = self.holds(subject)
        for part in self.parts:
            if part.holds(subject) == inside and self.conjunction != inside:
                return part.evaluate(subject)
        return Evaluation(inside, self.text)


_more_than_a_name = re.compile(r"[/@?#\\\s]|^[^\[]*:")


class Located(Protocol):
    """A canonical URL, and the depth at which it was found."""

    @property
    def url(self) -> str:
        """The canonical URL."""

    @property
    def depth(self) -> int:
        """Number of links from a seed."""


class Found(NamedTuple):
    """A canonical URL, and the depth at which it was found."""

    url: str
    depth: int


class Scope(NamedTuple):
    """A parsed scope; `parse_scope` makes them."""

    expression: Expression[Located]

    def includes(self, found: Located) -> bool:
        """Return whether *found* is in the scope. `evaluate` also says by which rule."""
        return self.expression.holds(found) is True

    def evaluate(self, url: str, depth: int) -> Evaluation:
        """Evaluate a canonical *url* found *depth* links from a seed."""
        return self.expression.evaluate(Found(url, depth))


@lru_cache(maxsize=4096)
def parse_scope(text: str) -> Scope:
    """Parse *text*; raise BadSettings, with the error, if it is not a scope."""
    return Scope(parse_expression(text, RULES, "scope"))


def _any() -> Holds[Located]:
    return lambda found: True


def _host(*names: str) -> Holds[Located]:
    expected = _names(names)
    return lambda found: host_name(found.url) in expected


def _domain(*names: str) -> Holds[Located]:
    expected = _names(names)

    def holds(found: Located) -> bool:
        name = host_name(found.url)
        while name not in expected:
            _, dot, name = name.partition(".")
            if not dot:
                return False
        return True

    return holds


def _prefix(*prefixes: str) -> Holds[Located]:
    expected = tuple(str(prefix) for prefix in require_texts(prefixes))
    return lambda found: found.url.startswith(expected)


def _pattern(expression: str) -> Holds[Located]:
    # Imported here: most crawls have no pattern.
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(*require_texts((expression,)), options).search
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise ValueError(
            f"{reason}. Patterns are matched by RE2 in linear time, without lookahead, lookbehind, "
            "backreferences and possessive quantifiers; combine rules with and, or, not instead"
        ) from error
    return lambda found: search(found.url) is not None


def _depth(limit: int) -> Holds[Located]:
    if type(limit) is not int or limit < 0:
        raise ValueError("depth takes a whole number ≥ 0")
    return lambda found: found.depth <= limit


def _names(values: tuple[str, ...]) -> frozenset[str]:
    # Written as in a canonical URL: lower case, Punycode, without the root dot.
    if wrong := [value for value in require_texts(values) if _more_than_a_name.search(value)]:
        raise ValueError(f"{wrong[0]!r} is not just a host name")
    return frozenset(host_name(canonicalize(f"http://{value.strip('.')}/")) for value in values)


RULES: dict[str, Callable[..., Holds[Located]]] = {
    "any": _any,
    "host": _host,
    "domain": _domain,
    "prefix": _prefix,
    "pattern": _pattern,
    "depth": _depth,
}


def parse_expression(text: str, rules: Rules[S], what: str) -> Expression[S]:
    """Parse *text*; raise BadSettings if it is not valid. *what* names it in the message."""
    try:
        return _expression(ast.parse(text.strip(), mode="eval").body, rules, what)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        shown = f"{text[:MAX_SHOWN]!r} ({str(error)[:MAX_SHOWN]})"
        raise BadSettings(f"{what}: not an expression: {shown}") from error


def _expression(node: ast.expr, rules: Rules[S], what: str) -> Expression[S]:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_expression(value, rules, what) for value in values]
            return _combine(ast.unparse(node), parts, type(op) is ast.And)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _expression(operand, rules, what).holds
            return Expression(ast.unparse(node), _not(inner))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in rules:
            return Expression(ast.unparse(node), _rule(node, rules[name], args, what))
    raise BadSettings(
        f"{what}: {ast.unparse(node)!r} is not a rule; the rules are {', '.join(rules)}, "
        "combined with and, or, not"
    )


def _combine(text: str, parts: list[Expression[S]], conjunction: bool) -> Expression[S]:
    decides = not conjunction

    def holds(subject: S) -> bool | None:
        is_known = True
        for part in parts:
            if (result := part.holds(subject)) is decides:
                return decides
            is_known = is_known and result is not None
        return conjunction if is_known else None

    return Expression(text, holds, tuple(parts), conjunction)


def _not(inner: Holds[S]) -> Holds[S]:
    def holds(subject: S) -> bool | None:
        result = inner(subject)
        return None if result is None else not result

    return holds


def _rule(
    node: ast.expr, make: Callable[..., Holds[S]], args: Iterable[ast.expr], what: str
) -> Holds[S]:
    values = tuple(arg.value if isinstance(arg, ast.Constant) else None for arg in args)
    try:
        return make(*values)
    except (BadUrl, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadSettings(f"{what}: {ast.unparse(node)!r} is not valid: {error}") from error


def require_texts(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return *values*; raise ValueError unless they are one or more texts."""
    if not values or not all(isinstance(value, str) and value for value in values):
        raise ValueError("it takes one or more texts in quotes")
    return values
