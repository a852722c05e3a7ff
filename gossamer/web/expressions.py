"""Rules that compose with and, or, not, as a person writes them: scopes, and what is relevant.

An expression is parsed as Python and never evaluated: a rule's name, and constants in brackets. A
rule may not know (None), where it is asked before all is known; then what it is part of is known
only if the other parts decide it.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

from gossamer.errors import BadSettings
from gossamer.web.url import BadUrl

S = TypeVar("S")
Holds = Callable[[S], bool | None]
"""Whether a rule holds for a subject; None if that is not known."""
Rules = Mapping[str, Callable[..., Holds[S]]]
"""By name: what makes a rule of the constants in its brackets."""


class Evaluation(NamedTuple):
    """What an expression says of a subject, and the rule that decided, as its author wrote it."""

    inside: bool | None
    """None: not known."""
    rule: str


@dataclass(frozen=True)
class Expression(Generic[S]):
    """A parsed expression; `parse` makes them."""

    text: str
    holds: Holds[S]
    parts: tuple["Expression[S]", ...] = ()
    conjunction: bool = False
    """Whether all parts must hold, or any one."""

    def evaluate(self, subject: S) -> Evaluation:
        """Evaluate *subject*."""
        inside = self.holds(subject)
        for part in self.parts:
            if part.holds(subject) == inside and self.conjunction != inside:
                return part.evaluate(subject)
        return Evaluation(inside, self.text)


def parse(text: str, rules: Rules[S], what: str) -> Expression[S]:
    """Parse *text*; raise BadSettings, with what is wrong, if *what* it is to be it is not."""
    try:
        return _expression(ast.parse(text.strip(), mode="eval").body, rules, what)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadSettings(f"{what}: not an expression: {text!r} ({error})") from error


def _expression(node: ast.expr, rules: Rules[S], what: str) -> Expression[S]:
    match node:
        case ast.BoolOp(op=op, values=values):
            parts = [_expression(value, rules, what) for value in values]
            return _combined(ast.unparse(node), parts, type(op) is ast.And)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _expression(operand, rules, what).holds
            return Expression(ast.unparse(node), _not(inner))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in rules:
            return Expression(ast.unparse(node), _rule(node, rules[name], args, what))
    raise BadSettings(
        f"{what}: {ast.unparse(node)!r} is no rule; the rules are {', '.join(rules)}, "
        "combined with and, or, not"
    )


def _combined(text: str, parts: list[Expression[S]], conjunction: bool) -> Expression[S]:
    decides = not conjunction

    def holds(subject: S) -> bool | None:
        known = True
        for part in parts:
            if (one := part.holds(subject)) is decides:
                return decides
            known = known and one is not None
        return conjunction if known else None

    return Expression(text, holds, tuple(parts), conjunction)


def _not(inner: Holds[S]) -> Holds[S]:
    def holds(subject: S) -> bool | None:
        one = inner(subject)
        return None if one is None else not one

    return holds


def _rule(
    node: ast.expr, make: Callable[..., Holds[S]], args: Iterable[ast.expr], what: str
) -> Holds[S]:
    values = tuple(arg.value if isinstance(arg, ast.Constant) else None for arg in args)
    try:
        return make(*values)
    except (BadUrl, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadSettings(f"{what}: {ast.unparse(node)!r} makes no sense: {error}") from error


def some(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return *values*; raise ValueError unless they are one or more texts."""
    if not values or not all(isinstance(value, str) and value for value in values):
        raise ValueError("it takes one or more texts in quotes")
    return values
