"""Expressions of rules combined with and, or, not, as people write them: scopes and relevance.

An expression is parsed as Python and never executed: it has names of rules, and constants in
brackets. The result of a rule may be unknown (None), if it is evaluated before all data is there.
The result of an expression is then known only if the other parts decide it.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from gossamer.errors import BadSettings
from gossamer.web.url import BadUrl

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
    """A parsed expression; `parse` makes them."""

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


def parse(text: str, rules: Rules[S], what: str) -> Expression[S]:
    """Parse *text*; raise BadSettings if it is not valid. *what* names it in the message."""
    try:
        return _expression(ast.parse(text.strip(), mode="eval").body, rules, what)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadSettings(f"{what}: not an expression: {text!r} ({error})") from error


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
