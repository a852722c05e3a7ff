"""Relevance: which of the pages that are fetched a crawl keeps (viuva-negra, 4.1).

An expression like a scope's, over what was read instead of where it lies:

    language("pt", "gl") and type("text/html") and not pattern("/print/")

`language(…)`: ISO 639 codes, as the parser found them; "" is a page of which it found none.
`type(…)`: media types, where `*` stands for anything. `classifier("name")`: what somebody has
installed under that name, as an entry point of the group `gossamer.relevance`. And the rules of
scopes: `any`, `host`, `domain`, `prefix`, `pattern`, `depth`.

Before a page is read only some of it is known; then a rule may say so (None). A classifier that
fails does not know either: the page is kept and the failure reported, for nobody is to lose a page
because of a mistake in one. A name that is not installed is refused when a crawl is defined.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from importlib.metadata import entry_points

import structlog

from gossamer.errors import BadSettings
from gossamer.events.pages import PageParsed
from gossamer.web.expressions import Expression, Holds, parse, some
from gossamer.web.scope import RULES as SCOPE_RULES
from gossamer.web.scope import Found

GROUP = "gossamer.relevance"
MAX_REASON = 300
"""Characters of a classifier's error that are reported."""
Classifier = Callable[[PageParsed], bool]
"""Says whether a page is relevant, by all that was read of it."""

logger = structlog.get_logger()


@dataclass(frozen=True)
class Facts:
    """What is known of a page; None: not yet."""

    found: Found
    content_type: str | None = None
    page: PageParsed | None = None
    failures: dict[str, str] = field(default_factory=dict, compare=False)
    """Classifiers that failed on the page so far, by name, and why."""


def facts_of(page: PageParsed) -> Facts:
    """Return all that is known of a page that was read."""
    return Facts(Found(page.visit.url, page.visit.depth), page.content_type, page)


@lru_cache(maxsize=64)
def parse_relevance(text: str) -> Expression[Facts]:
    """Parse *text*; raise BadSettings, with what is wrong, if it is no such expression."""
    return parse(text, RULES, "relevant")


def _of_scope(make: Callable[..., Holds[Found]]) -> Callable[..., Holds[Facts]]:
    def of_facts(*values: object) -> Holds[Facts]:
        holds = make(*values)
        return lambda facts: holds(facts.found)

    return of_facts


def _language(*codes: str) -> Holds[Facts]:
    if not codes or not all(isinstance(code, str) and code == code.lower() for code in codes):
        raise ValueError('it takes language codes in small letters, such as "pt", "en"')
    return lambda facts: facts.page.language in codes if facts.page else None


def _type(*types: str) -> Holds[Facts]:
    wanted = some(types)
    if wrong := [one for one in wanted if "/" not in one or one != one.lower()]:
        raise ValueError(f"{wrong[0]!r} is no media type such as text/html or text/*")

    def holds(facts: Facts) -> bool | None:
        kind = facts.content_type
        return None if kind is None else any(fnmatchcase(kind, one) for one in wanted)

    return holds


def _classifier(name: str) -> Holds[Facts]:
    some((name,))
    return lambda facts: _classified(name, facts) if facts.page else None


def _classified(name: str, facts: Facts) -> bool | None:
    if facts.page is None or name in facts.failures:
        return None
    try:
        return bool(_installed(name)(facts.page))
    except Exception as error:
        # Whatever goes wrong in somebody else's code is no reason to stop.
        why = f"{type(error).__name__}: {error}"[:MAX_REASON].encode("utf-8", "replace").decode()
        facts.failures[name] = why
        logger.warning("classifier failed", classifier=name, url=facts.page.visit.url, why=why)
        return None


def check_classifiers(text: str) -> None:
    """Raise BadSettings if a classifier that the expression *text* names cannot be loaded here."""
    parse_relevance(text)
    for node in ast.walk(ast.parse(text.strip(), mode="eval")):
        match node:
            case ast.Call(func=ast.Name(id="classifier"), args=[ast.Constant(value=str(name))]):
                _check_installed(name)


def _check_installed(name: str) -> None:
    try:
        _installed(name)
    except Exception as error:
        there = ", ".join(sorted({repr(one.name) for one in entry_points(group=GROUP)}))
        raise BadSettings(
            f"relevant: the classifier {name!r} cannot be used ({type(error).__name__}: {error}); "
            f"installed are: {there or 'none'}"
        ) from error


@cache
def _installed(name: str) -> Classifier:
    found = entry_points(group=GROUP, name=name)
    if not found:
        raise LookupError(f"no entry point of {GROUP} has this name")
    classifier: Classifier = next(iter(found)).load()
    return classifier


RULES: dict[str, Callable[..., Holds[Facts]]] = {
    "language": _language,
    "type": _type,
    "classifier": _classifier,
    **{name: _of_scope(make) for name, make in SCOPE_RULES.items()},
}
