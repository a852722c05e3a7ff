"""From what an operator asks for to the definition of a crawl and its canonical seeds."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from msgspec.structs import replace

from gossamer.blacklist import Blacklist, forbidden_by
from gossamer.errors import BadSettings, Poison
from gossamer.events import DEFAULT_CRAWL, CrawlDefined, SeedSown, SiteOverridden, SpeedSet
from gossamer.events.hazards import Hazard
from gossamer.log import Log
from gossamer.log.control import in_force
from gossamer.settings.policies import parse_policy
from gossamer.web.scope import parse_scope
from gossamer.web.url import BadUrl, canonicalize, host_name, site_of

_bare = re.compile(r"(?:[^\s/:@?#]+\.[^\s/:@?#]+|localhost)(?::\d+)?(?:[/?#].*)?")
SCOPES = ("host", "site", "any")


@dataclass(frozen=True)
class CrawlRequest:
    """The canonical seeds of a run, and its limits.

    *scope* is one of SCOPES or an expression; empty for the scope that the crawl has, or the sites
    of the seeds if it has none.
    """

    seeds: tuple[str, ...]
    scope: str
    max_depth: int
    max_pages: int
    revisit: str = ""
    """A revisit policy; empty for the one that the crawl has, or `none`."""
    budget: float | None = None
    """Visits a day; None for as many as the crawl has."""
    discovery_share: float | None = None


def read_seeds(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical URLs of *lines*; blank ones and comments (#) are left out.

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


def define(
    request: CrawlRequest, before: CrawlDefined | None, pages: int, now: float
) -> CrawlDefined:
    """Return the definition that *request* asks for; *before* is the one in force.

    *pages* is how many the crawl has already. Raise BadSettings if a seed is out of scope, or if
    there is no seed and the crawl is not yet defined.
    """
    if not request.seeds and before is None:
        raise BadSettings("name at least one seed: a URL, or --seeds FILE")
    scope = _scope(request, before)
    for seed in request.seeds:
        judgement = parse_scope(scope).judge(seed, 0)
        if not judgement.inside:
            raise BadSettings(f"seed {seed} is out of scope: {judgement.rule}")
    crawl = CrawlDefined(
        at=now,
        scope=scope,
        max_depth=request.max_depth,
        max_pages=request.max_pages,
        pages_before=pages,
    )
    return revisited(crawl, before, request)


def revisited(
    crawl: CrawlDefined, before: CrawlDefined | None, request: CrawlRequest
) -> CrawlDefined:
    """Return *crawl* with the revisits that *request* asks for; else those of *before*."""
    old = before or crawl
    share = request.discovery_share
    return replace(
        crawl,
        revisit=request.revisit or old.revisit,
        budget=old.budget if request.budget is None else request.budget,
        discovery_share=old.discovery_share if share is None else share,
    )


def _scope(request: CrawlRequest, before: CrawlDefined | None) -> str:
    if request.scope and request.scope not in SCOPES:
        return request.scope
    if request.scope == "any":
        return "any()"
    old = before.scope if before else ""
    outside = [s for s in request.seeds if not old or not parse_scope(old).judge(s, 0).inside]
    if old and not outside and not (request.scope and request.seeds):
        return old
    if request.scope or not outside:
        return _of_seeds(request.scope or "site", list(request.seeds))
    return " or ".join(rule for rule in (old, _of_seeds("site", outside)) if rule)


def _of_seeds(kind: str, seeds: list[str]) -> str:
    rule, key = ("host", host_name) if kind == "host" else ("domain", site_of)
    names = dict.fromkeys(key(seed) for seed in seeds)
    return f"{rule}({', '.join(repr(name) for name in names)})" if names else ""


def accept(event: CrawlDefined | SeedSown) -> None:
    """Raise Poison if *event* is of a crawl, a scope or a policy that no service can go by."""
    if event.crawl != DEFAULT_CRAWL:
        raise Poison(
            f"there is one crawl, {DEFAULT_CRAWL!r}, and this is for {event.crawl!r}: several at a "
            "time are not supported yet; take another folder, or another fleet, for it"
        )
    if isinstance(event, CrawlDefined):
        try:
            parse_scope(event.scope)
            parse_policy(event.revisit)
        except (BadSettings, ValueError) as error:
            raise Poison(str(error)) from error


class LeftOut(NamedTuple):
    """Why a crawl does not visit a URL: the hazard it is counted as, and a sentence."""

    rule: Hazard
    reason: str


def left_out(crawl: CrawlDefined, blacklist: Blacklist, url: str, depth: int) -> LeftOut | None:
    """Return why *crawl* leaves out a canonical *url* found at *depth*, or *blacklist* forbids it;
    None if neither does.

    A wider definition may want it, or a rule be lifted: whoever leaves it out sets it aside.
    """
    if rule := blacklist.of_url(url):
        return LeftOut(Hazard.BLACKLISTED, forbidden_by(rule))
    if depth > crawl.max_depth:
        return LeftOut(Hazard.TRAP_DEPTH, f"depth {depth} is beyond the limit of {crawl.max_depth}")
    judgement = parse_scope(crawl.scope).judge(url, depth)
    if not judgement.inside:
        return LeftOut(Hazard.OUT_OF_SCOPE, f"out of scope, by {judgement.rule}")
    return None


def limits(crawl: CrawlDefined, blacklist: Blacklist) -> str:
    """Return what decides which URLs are taken up that were left out, for comparing definitions."""
    lifted = f" {blacklist.lifted:x}" if blacklist.lifted else ""
    return f"{crawl.max_depth} {crawl.scope}{lifted}"


def why_idle(crawl: CrawlDefined | None, queued: int) -> str:
    """Return why nothing is fetched although all is well, and what to do; "" if nothing forbids it.

    *queued* is how many URLs wait.
    """
    if crawl is None:
        return (
            f"no crawl is defined, so nothing is fetched (URLs queued: {queued:,}): gossamer seed "
            "URL --scope SCOPE does that, or crawl.scope with gossamer topics apply"
        )
    return "the crawl is paused" if crawl.paused else ""


def blacklist_of(log: Log) -> Blacklist:
    """Return what is forbidden now."""
    return Blacklist(in_force(log).values())


def overrides_of(log: Log) -> dict[str, SiteOverridden]:
    """Return by site what is different there."""
    events = [one for one in in_force(log).values() if isinstance(one, SiteOverridden)]
    return {one.site: one for one in events if one != SiteOverridden(at=one.at, site=one.site)}


def speed_of(log: Log) -> SpeedSet:
    """Return how fast the crawl may go."""
    event = in_force(log).get(f"speed_set/{DEFAULT_CRAWL}")
    return event if isinstance(event, SpeedSet) else SpeedSet(at=0.0)


def last_definition(log: Log) -> CrawlDefined | None:
    """Return the definition in force; None if the crawl never had one."""
    event = in_force(log).get(f"crawl_defined/{DEFAULT_CRAWL}")
    return event if isinstance(event, CrawlDefined) else None
