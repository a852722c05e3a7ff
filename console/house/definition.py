"""What a run is asked to do, as an operator of a fleet would say it: a crawl, and its seeds."""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from gossamer.codec import decode
from gossamer.errors import BadSettings, Poison
from gossamer.events import CrawlDefined
from gossamer.log import Log
from gossamer.scope import parse_scope
from gossamer.topics import CONTROL
from gossamer.url import BadUrl, canonicalize, host_name, site_of

_bare = re.compile(r"(?:[^\s/:@?#]+\.[^\s/:@?#]+|localhost)(?::\d+)?(?:[/?#].*)?")
SCOPES = ("host", "site", "any")


@dataclass(frozen=True)
class Wish:
    """The seeds of a run, canonical, and its limits; *scope* is one of SCOPES, an expression, or
    empty for what was said before, or else the seeds' sites."""

    seeds: tuple[str, ...]
    scope: str
    max_depth: int
    max_pages: int


def read_seeds(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical URLs of *lines*; blank ones and comments (#) say nothing.

    A bare host name is taken for a https: URL. Raise BadSettings naming every line that is no URL.
    """
    seeds: dict[str, None] = {}
    wrong = []
    for number, line in enumerate(lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            seeds[typed(text)] = None
        except BadUrl as error:
            wrong.append(f"seed {number}: {error}")
    if wrong:
        raise BadSettings("\n".join(wrong))
    return tuple(seeds)


def typed(text: str) -> str:
    """Return the canonical URL that a person means by *text*: `example.org/x` is a https: URL."""
    return canonicalize(f"https://{text}" if _bare.fullmatch(text) else text)


def define(wish: Wish, before: CrawlDefined | None, pages: int, now: float) -> CrawlDefined:
    """Return the crawl that *wish* asks for, going on from what it was *before*.

    *pages* is how many it has already. Raise BadSettings if a seed is out of the scope asked for,
    or if there is none and never was.
    """
    if not wish.seeds and before is None:
        raise BadSettings("name at least one seed: a URL, or --seeds FILE")
    scope = _scope(wish, before)
    for seed in wish.seeds:
        judgement = parse_scope(scope).judge(seed, 0)
        if not judgement.inside:
            raise BadSettings(f"seed {seed} is out of scope: {judgement.rule}")
    return CrawlDefined(
        at=now,
        scope=scope,
        max_depth=wish.max_depth,
        max_pages=wish.max_pages,
        pages_before=pages,
    )


def _scope(wish: Wish, before: CrawlDefined | None) -> str:
    if wish.scope and wish.scope not in SCOPES:
        return wish.scope
    if wish.scope == "any":
        return "any()"
    old = before.scope if before else ""
    outside = [s for s in wish.seeds if not old or not parse_scope(old).judge(s, 0).inside]
    if old and not outside and not (wish.scope and wish.seeds):
        return old
    if wish.scope or not outside:
        return _of_seeds(wish.scope or "site", list(wish.seeds))
    return " or ".join(rule for rule in (old, _of_seeds("site", outside)) if rule)


def _of_seeds(kind: str, seeds: list[str]) -> str:
    rule, key = ("host", host_name) if kind == "host" else ("domain", site_of)
    names = dict.fromkeys(key(seed) for seed in seeds)
    return f"{rule}({', '.join(repr(name) for name in names)})" if names else ""


def last_definition(log: Log) -> CrawlDefined | None:
    """Return the definition in force, if the crawl ever had one."""
    found = None
    tail = log.tail([CONTROL.name])
    while records := tail.poll(0):
        for record in records:
            # Anybody may have written there; the services bury what is no definition.
            with suppress(Poison):
                event = decode(record)
                found = event if isinstance(event, CrawlDefined) else found
    return found
