"""Relevance: the fetched pages that a crawl publishes and archives (viuva-negra, 4.1).

A relevance expression resembles a scope, but also uses the contents of the page:

    language("pt", "gl") and type("text/html") and not pattern("/print/")

`language(…)` takes ISO 639 codes of the detected language, and "" for an unknown one. A
macrolanguage and its languages match each other: "nb" matches a page in "no" (`languages`).
`type(…)` takes media types, in which `*` matches anything. The rules of scopes are also available:
`any`, `host`, `domain`, `prefix`, `pattern`, `depth`. Code of the user decides by `keep` in
`gossamer.rules`.

Before a page is parsed, only a part of its facts is known. A rule returns None if it cannot decide
yet.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache

from gossamer.events.pages import PageParsed
from gossamer.languages import codes_of
from gossamer.web.scope import RULES as SCOPE_RULES
from gossamer.web.scope import Expression, Found, Holds, parse_expression, require_texts


@dataclass(frozen=True)
class Facts:
    """The known facts about a page. None means that a fact is not known yet."""

    found: Found
    content_type: str | None = None
    page: PageParsed | None = None


def facts_of(page: PageParsed) -> Facts:
    """Return all facts about a parsed page."""
    return Facts(Found(page.visit.url, page.visit.depth), page.content_type, page)


@lru_cache(maxsize=64)
def parse_relevance(text: str) -> Expression[Facts]:
    """Parse *text*. Raise BadSettings with the reason if it is invalid."""
    return parse_expression(text, RULES, "relevant")


def _of_scope(make: Callable[..., Holds[Found]]) -> Callable[..., Holds[Facts]]:
    def of_facts(*values: object) -> Holds[Facts]:
        holds = make(*values)
        return lambda facts: holds(facts.found)

    return of_facts


def _language(*codes: str) -> Holds[Facts]:
    if not codes or not all(isinstance(code, str) and code == code.lower() for code in codes):
        raise ValueError('it takes lower-case language codes such as "pt", "en"')

    def holds(facts: Facts) -> bool | None:
        if not facts.page:
            return None
        found = codes_of(facts.page.language, facts.page.declared_language)
        return not found.isdisjoint(codes)

    return holds


def _type(*types: str) -> Holds[Facts]:
    wanted = require_texts(types)
    if wrong := [one for one in wanted if "/" not in one or one != one.lower()]:
        raise ValueError(f"{wrong[0]!r} is not a media type such as text/html or text/*")

    def holds(facts: Facts) -> bool | None:
        kind = facts.content_type
        return None if kind is None else any(fnmatchcase(kind, one) for one in wanted)

    return holds


@lru_cache(maxsize=64)
def languages_of(text: str) -> frozenset[str]:
    """Return the languages that the expression *text* asks for; empty if it names none."""
    return frozenset(_arguments_of("language", text)) if text else frozenset()


@lru_cache(maxsize=64)
def find_mentions(text: str) -> Callable[[str], bool] | None:
    """Return the function that says whether a pattern that the expression *text* asks for is found
    in a text of any case; None if the expression asks for no pattern."""
    patterns = _arguments_of("pattern", text) if text else []
    if not patterns:
        return None
    # Imported here: most crawls have no pattern.
    import re2

    options = re2.Options()
    options.case_sensitive = False
    search = re2.compile("|".join(f"(?:{one})" for one in patterns), options).search
    return lambda found: search(found) is not None


def _arguments_of(rule: str, text: str) -> list[str]:
    """Return the texts that uses of *rule* in the expression *text* have as arguments, without uses
    within a `not`."""
    parse_relevance(text)
    remaining: list[ast.AST] = [ast.parse(text.strip(), mode="eval")]
    found = list[str]()
    while remaining:
        match remaining.pop(0):
            case ast.UnaryOp(op=ast.Not()):
                continue
            case ast.Call(func=ast.Name(id=name), args=args) if name == rule:
                values = [one.value for one in args if isinstance(one, ast.Constant)]
                found += [value for value in values if isinstance(value, str)]
            case node:
                remaining += ast.iter_child_nodes(node)
    return found


RULES: dict[str, Callable[..., Holds[Facts]]] = {
    "language": _language,
    "type": _type,
    **{name: _of_scope(make) for name, make in SCOPE_RULES.items()},
}
