"""From what an operator asks for to the definition of a crawl and its canonical seeds."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import ANYWHERE, NO_PARTY
from gossamer.errors import BadSettings, Poison
from gossamer.events import (
    DEFAULT_CRAWL,
    CrawlDefined,
    Event,
    HostOverridden,
    SeedAdded,
    SiteOverridden,
    SpeedSet,
)
from gossamer.log import Log
from gossamer.log.control import in_force
from gossamer.policies import parse_policy
from gossamer.relevance import parse_relevance
from gossamer.web.scope import parse_scope
from gossamer.web.url import BadUrl, canonicalize, host_name, site_of
from gossamer.web.url_steps import ALL_STEPS, check_steps, merged

_bare = re.compile(r"(?:[^\s/:@?#]+\.[^\s/:@?#]+|localhost)(?::\d+)?(?:[/?#].*)?")
SCOPES = ("host", "site", "any")
CHOICES = ("url_steps", "external_links", "relevant", "follow_irrelevant")
"""Settings of the crawl that are in its definition under the same name."""


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
    choices: Mapping[str, Any] = field(default_factory=dict)
    """What else is asked for, by the name in `CHOICES`; for all others as the crawl has it."""


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
    """Return the canonical URL that a person means by *text*."""
    return canonicalize(in_full(text))


def in_full(text: str) -> str:
    """Return the URL that a person means by *text*: `example.org/x` is a https: URL."""
    return f"https://{text}" if _bare.fullmatch(text) else text


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
        evaluation = parse_scope(scope).evaluate(seed, 0)
        if not evaluation.inside:
            raise BadSettings(f"seed {seed} is out of scope: {evaluation.rule}")
    crawl = CrawlDefined(
        at=now,
        scope=scope,
        max_depth=request.max_depth,
        max_pages=request.max_pages,
        pages_before=pages,
    )
    return completed(crawl, before, request)


def completed(
    crawl: CrawlDefined, before: CrawlDefined | None, request: CrawlRequest
) -> CrawlDefined:
    """Return *crawl* with all else that *request* asks for; the rest of it is as in *before*.

    Raise BadSettings if that would change what cannot be changed.
    """
    old = before or replace(crawl, url_steps=request.choices.get("url_steps", ALL_STEPS))
    share = request.discovery_share
    return replace(
        crawl,
        **_chosen(request.choices, old),
        parties=old.parties,
        revisit=request.revisit or old.revisit,
        budget=old.budget if request.budget is None else request.budget,
        discovery_share=old.discovery_share if share is None else share,
    )


def _chosen(choices: Mapping[str, Any], old: CrawlDefined) -> dict[str, Any]:
    asked = {"url_steps": old.url_steps, **choices}["url_steps"]
    if set(asked) != set(old.url_steps):
        raise BadSettings(
            f"crawl.url_steps: this crawl was begun with {', '.join(old.url_steps) or 'none'}, and "
            "goes on with them: by others, pages that it has would have other URLs, and be visited "
            "and published again under these. Begin anew, in another folder or fleet"
        )
    return {**{name: getattr(old, name) for name in CHOICES}, **choices}


def _scope(request: CrawlRequest, before: CrawlDefined | None) -> str:
    if request.scope and request.scope not in SCOPES:
        return request.scope
    if request.scope == "any":
        return ANYWHERE
    old = before.scope if before else ""
    outside = [s for s in request.seeds if not old or not parse_scope(old).evaluate(s, 0).inside]
    if old and not outside and not (request.scope and request.seeds):
        return old
    if request.scope or not outside:
        return _of_seeds(request.scope or "site", list(request.seeds))
    return " or ".join(rule for rule in (old, _of_seeds("site", outside)) if rule)


def _of_seeds(kind: str, seeds: list[str]) -> str:
    rule, key = ("host", host_name) if kind == "host" else ("domain", site_of)
    names = dict.fromkeys(key(seed) for seed in seeds)
    return f"{rule}({', '.join(repr(name) for name in names)})" if names else ""


def party_of(
    crawl: CrawlDefined, name: str, seeds: tuple[str, ...], asked: Mapping[str, Any]
) -> CrawlDefined:
    """Return *crawl* with the limits of the party *name* that are *asked* for, by field; all others
    stay. A scope may be one of SCOPES, of *seeds*.
    """
    party = replace(crawl.parties.get(name, NO_PARTY), **asked)
    if party.scope in SCOPES:
        scope = ANYWHERE if party.scope == "any" else _of_seeds(party.scope, list(seeds))
        party = replace(party, scope=scope)
    for seed in seeds:
        evaluation = parse_scope(party.scope or ANYWHERE).evaluate(seed, 0)
        if not evaluation.inside:
            raise BadSettings(f"seed {seed} is out of the party's scope: {evaluation.rule}")
    return replace(crawl, parties={**crawl.parties, name: party})


def check_crawl(event: Event) -> None:
    """Raise Poison if *event* is of another crawl than the only one."""
    if event.crawl != DEFAULT_CRAWL:
        raise Poison(
            f"there is one crawl, {DEFAULT_CRAWL!r}, and this is for {event.crawl!r}: several at a "
            "time are not supported yet; take another folder, or another fleet, for it"
        )


def accept(event: CrawlDefined | SeedAdded) -> None:
    """Raise Poison if *event* is of a crawl, a scope or a policy that no service can go by."""
    check_crawl(event)
    if isinstance(event, CrawlDefined):
        try:
            parse_scope(event.scope)
            parse_policy(event.revisit)
            check_steps(event.url_steps)
            for party in event.parties.values():
                parse_scope(party.scope or ANYWHERE)
            if event.relevant:
                parse_relevance(event.relevant)
        except (BadSettings, ValueError) as error:
            raise Poison(str(error)) from error


def known_as(crawl: CrawlDefined, url: str) -> str:
    """Return the URL under which *crawl* visits the page of a canonical *url*.

    Raise BadUrl if it visits none. What single hosts have shown is not known here.
    """
    found = merged(url, crawl.url_steps)
    if not found.url:
        raise BadUrl(url, f"the crawl leaves it out, by {found.steps[-1]}")
    return found.url


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


def blocklist_of(log: Log) -> Blocklist:
    """Return what is forbidden now."""
    return Blocklist(in_force(log).values())


def overrides_of(log: Log) -> dict[str, SiteOverridden]:
    """Return by site what is different there."""
    events = [one for one in in_force(log).values() if isinstance(one, SiteOverridden)]
    return {one.site: one for one in events if one != SiteOverridden(at=one.at, site=one.site)}


def host_overrides_of(log: Log) -> dict[str, HostOverridden]:
    """Return by its name what is different at a host alone."""
    events = [one for one in in_force(log).values() if isinstance(one, HostOverridden)]
    return {one.host: one for one in events if one != HostOverridden(at=one.at, host=one.host)}


def speed_of(log: Log) -> SpeedSet:
    """Return how fast the crawl may go."""
    event = in_force(log).get(f"speed_set/{DEFAULT_CRAWL}")
    return event if isinstance(event, SpeedSet) else SpeedSet(at=0.0)


def last_definition(log: Log) -> CrawlDefined | None:
    """Return the definition in force; None if the crawl never had one."""
    event = in_force(log).get(f"crawl_defined/{DEFAULT_CRAWL}")
    return event if isinstance(event, CrawlDefined) else None
