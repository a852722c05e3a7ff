"""Creates the definition of a crawl and its canonical seeds from an operator's request."""

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from gossamer.blocklist import Blocklist
from gossamer.bounds import ANYWHERE, NO_PARTY
from gossamer.errors import BadSettings, Poison
from gossamer.events import (
    DEFAULT_CRAWL,
    FLEET,
    CrawlDefined,
    FleetPaused,
    HostOverridden,
    SeedAdded,
    SeedsApplied,
    SiteOverridden,
    SpeedSet,
)
from gossamer.events.control import DEFAULT_DEPTH
from gossamer.events.records import is_crawl_id
from gossamer.events.topics import TOPICS, own_topics, topic_of_pages
from gossamer.log import Log
from gossamer.log.control import newest_events
from gossamer.policies import parse_policy, parse_strategy
from gossamer.relevance import parse_relevance
from gossamer.rules import identify_rules, is_file
from gossamer.web.http import decode_urls
from gossamer.web.scope import parse_scope
from gossamer.web.url import BadUrl, Site, canonicalize, host_name, site_of
from gossamer.web.url_steps import ALL_STEPS, check_steps, merge_url
from gossamer.web.usage import policy_of

_scheme = re.compile(r"^[a-z]+://", re.IGNORECASE)
_bare = re.compile(r"(?:[^\s/:@?#]+\.[^\s/:@?#]+|localhost)(?::\d+)?(?:[/?#].*)?")
BYTE_ORDER_MARK = "\ufeff"
"""Some editors write it at the beginning of a file."""
MAX_CRAWLS = 200
"""Crawls of a fleet or a folder, without removed ones. Their ids are labels of metrics."""
ScopeOfSeeds = Literal["", "host", "site"]
SCOPES_OF_SEEDS = ("host", "site")
SCOPES = (*SCOPES_OF_SEEDS, "any")
CHANGEABLE_SETTINGS = (
    "max_depth",
    "revisit",
    "budget",
    "discovery_share",
    "external_links",
    "relevant",
    "follow_irrelevant",
    "strategy",
    "rules",
    "purposes",
    "usage_disallowed",
    "usage_unknown",
)
"""Settings of a crawl with the same names in its definition, which may change during it."""
CRAWL_SETTINGS = ("url_steps", *CHANGEABLE_SETTINGS)


@dataclass(frozen=True)
class CrawlRequest:
    """The requested changes of a crawl's definition, or its new definition.

    *scope* is one of SCOPES or an expression. "" means the crawl's current scope, or the sites of
    the seeds for a new crawl.
    """

    seeds: tuple[str, ...]
    """Canonical URLs."""
    scope: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Requested settings, by their names in `CRAWL_SETTINGS`. All others do not change, nor does
    one that is None or an empty revisit policy."""
    max_pages: int | None = None
    """Maximum number of pages of the run. 0 means no limit, None the crawl's current limit."""
    crawl: str = DEFAULT_CRAWL
    """The id of the crawl."""


def read_seeds(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the canonical URLs of *lines*, without blank lines and comments (#).

    A bare host name is read as a https: URL. Raise BadSettings with all invalid lines.
    """
    found = read_seed_list(lines, "seed")
    if found.invalid:
        raise BadSettings("\n".join(found.invalid))
    return found.seeds


class SeedList(NamedTuple):
    """The seeds in a list."""

    seeds: tuple[str, ...]
    """Canonical URLs, once each."""
    invalid: tuple[str, ...]
    """A message for each line that is not a URL, with its number."""


def decode_list(octets: bytes) -> str:
    """Return the text of a list of URLs: UTF-16 behind its byte order mark, or else UTF-8, in which
    other octets are percent-encoded."""
    if octets.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return octets.decode("utf-16", "replace")
    return decode_urls(octets)


def read_seed_list(lines: Iterable[str], place: str) -> SeedList:
    """Return the seeds in *lines*, without blank lines and comments (#).

    A message begins with *place* and the number of the line, from 1.
    """
    seeds, invalid = dict[str, None](), list[str]()
    for number, line in enumerate(lines, start=1):
        typed = line.strip().removeprefix(BYTE_ORDER_MARK).strip()
        if typed and not typed.startswith("#"):
            try:
                seeds[canonical_of_typed(typed)] = None
            except BadSettings as error:
                invalid.append(f"{place} {number}: {error}")
    return SeedList(tuple(seeds), tuple(invalid))


def canonical_of_typed(text: str) -> str:
    """Return the canonical URL of a typed *text*; raise BadSettings if it is not a URL."""
    try:
        return canonicalize(complete_url(text))
    except BadUrl as error:
        raise BadSettings(str(error)) from error


def without_scheme(text: str) -> str:
    """Return a typed URL or host without its scheme, if it has one."""
    return _scheme.sub("", text)


def complete_url(text: str) -> str:
    """Return the URL of a typed *text*: `example.org/x` is a https: URL."""
    return f"https://{text}" if _bare.fullmatch(text) else text


def define(
    request: CrawlRequest, before: CrawlDefined | None, pages: int, now: float
) -> CrawlDefined:
    """Return the definition that *request* asks for. *before* is the active one. A rules
    file is read again.

    *pages* is the number of pages that the crawl already has. Raise BadSettings if a seed is out of
    scope, if a new crawl has no seed, if an immutable setting would change, if the purposes are
    impossible, or if the rules file does not exist.
    """
    if not request.seeds and before is None:
        raise BadSettings("no seed: give a URL, or --seeds FILE")
    check_id(request.crawl)
    check_not_removed(before)
    scope, kind = _scope(request, before), _scope_of_seeds(request, before)
    check_scope(request.seeds, scope)
    asked = {name: one for name, one in request.settings.items() if one is not None}
    if not asked.get("revisit"):
        asked.pop("revisit", None)
    if before:
        _check_url_steps(asked.pop("url_steps", before.url_steps), before)
    # Every other part of the definition stays, whichever parts a definition has.
    crawl = before or CrawlDefined(
        crawl=request.crawl, at=now, scope=scope, max_depth=DEFAULT_DEPTH, url_steps=ALL_STEPS
    )
    crawl = replace(crawl, at=now, scope=scope, scope_of_seeds=kind, **asked)
    if (limit := request.max_pages) is not None:
        crawl = replace(crawl, max_pages=limit, pages_before=pages if limit else 0)
    policy_of(crawl)
    # A module may be installed with the parsers alone, and seeds may be added from elsewhere.
    is_here = "rules" in asked or is_file(crawl.rules)
    return identify_rules(crawl) if is_here else crawl


def _check_url_steps(asked: Sequence[str], before: CrawlDefined) -> None:
    if set(asked) != set(before.url_steps):
        raise BadSettings(
            "crawl.url_steps: this crawl was started with "
            f"{', '.join(before.url_steps) or 'none'}, which cannot change: its pages would be "
            "visited and published again under other URLs. Start another crawl in another folder "
            "or fleet"
        )


def new_scope(text: str, seeds: Sequence[str]) -> str:
    """Return the scope that *text* asks for: one of SCOPES for *seeds*, "" for their sites, or an
    expression. It is "" if it depends on seeds and there are none."""
    if text == "any":
        return ANYWHERE
    return _of_seeds(text or "site", [*seeds]) if text in ("", *SCOPES) else text


def _scope(request: CrawlRequest, before: CrawlDefined | None) -> str:
    if request.scope and request.scope not in SCOPES_OF_SEEDS:
        return new_scope(request.scope, ())
    old = before.scope if before else ""
    outside = [s for s in request.seeds if not old or not parse_scope(old).evaluate(s, 0).inside]
    if old and not outside and not (request.scope and request.seeds):
        return old
    if request.scope or not outside:
        return _of_seeds(request.scope or "site", list(request.seeds))
    return " or ".join(rule for rule in (old, _of_seeds("site", outside)) if rule)


def _scope_of_seeds(request: CrawlRequest, before: CrawlDefined | None) -> ScopeOfSeeds:
    """Return the part of the seeds that the scope of the requested definition follows from."""
    if request.scope and request.scope not in SCOPES_OF_SEEDS:
        return ""
    if before and not (request.scope and request.seeds):
        return before.scope_of_seeds
    return scope_of_seeds(request.scope)


def scope_of_seeds(scope: str) -> ScopeOfSeeds:
    """Return the part of the seeds that a requested *scope* follows from; "" for an expression."""
    if scope == "host":
        return "host"
    return "site" if scope in ("", "site") else ""


def _of_seeds(kind: str, seeds: list[str]) -> str:
    rule, key = ("host", host_name) if kind == "host" else ("domain", site_of)
    names = dict.fromkeys(key(seed) for seed in seeds)
    return f"{rule}({', '.join(repr(name) for name in names)})" if names else ""


def check_scope(seeds: Iterable[str], scope: str, advice: str = "", *, name: str = "scope") -> None:
    """Raise BadSettings, with *advice*, if one of *seeds* is out of *scope*, which it calls
    *name*."""
    for seed in seeds:
        evaluation = parse_scope(scope).evaluate(seed, 0)
        if not evaluation.inside:
            raise BadSettings(f"seed {seed} is out of {name}: {evaluation.rule}{advice}")


def define_party(
    crawl: CrawlDefined, name: str, seeds: tuple[str, ...], asked: Mapping[str, Any]
) -> CrawlDefined:
    """Return *crawl* with the requested limits, *asked* by field, of the party *name*. Other limits
    do not change. A scope may be one of SCOPES, for *seeds*."""
    party = replace(crawl.parties.get(name, NO_PARTY), **asked)
    if party.scope in SCOPES:
        party = replace(party, scope=new_scope(party.scope, seeds))
    check_scope(seeds, party.scope or ANYWHERE, name="the party's scope")
    return replace(crawl, parties={**crawl.parties, name: party})


def check_id(crawl: str) -> None:
    """Raise BadSettings unless *crawl* may be the id of a crawl."""
    if not is_crawl_id(crawl):
        raise BadSettings(
            f"{crawl[:80]!r} is not the id of a crawl: write 1 to 40 of a-z, 0-9 and -, beginning "
            "with a letter or digit"
        )


def choose_crawl(crawls: Mapping[str, CrawlDefined], named: str | None, place: str) -> str:
    """Return the id *named*, or else of the only crawl of *crawls* that is not removed.

    Without any definition it is `default`. *place* is the folder or fleet in messages. Raise
    BadSettings if *named* is not the id of a crawl, or if the choice is not unique.
    """
    ids = [crawl for crawl, definition in crawls.items() if not definition.removed]
    if named is not None:
        if named in crawls or not crawls:
            return named
        raise BadSettings(f"{place} has no crawl {named!r}: its crawls are {', '.join(crawls)}")
    if len(ids) > 1:
        raise BadSettings(f"{place} has several crawls: add --crawl with one of {', '.join(ids)}")
    return next(iter(ids or crawls), DEFAULT_CRAWL)


def check_number(crawl: str, crawls: Mapping[str, CrawlDefined]) -> None:
    """Raise BadSettings if *crawl* is new and MAX_CRAWLS *crawls* are not removed."""
    present = sum(not one.removed for one in crawls.values())
    if crawl not in crawls and present >= MAX_CRAWLS:
        raise BadSettings(
            f"there are {MAX_CRAWLS} crawls, and no more are possible: gossamer crawls remove ID "
            "makes room"
        )


def check_not_removed(crawl: CrawlDefined | None) -> None:
    """Raise BadSettings if *crawl* was removed: records of the old crawl may still be on the way,
    so its id is not used again."""
    if crawl and crawl.removed:
        raise BadSettings(
            f"crawl {crawl.crawl} was removed, and an id is used only once: choose another id"
        )


def accept(event: CrawlDefined | SeedAdded, before: CrawlDefined | None = None) -> None:
    """Raise Poison if *event* has an invalid crawl id, scope, policy, strategy or purpose, or if it
    defines a removed crawl again. *before*: the crawl's last definition."""
    try:
        check_id(event.crawl)
        if isinstance(event, CrawlDefined):
            if not event.removed:
                check_not_removed(before)
            parse_scope(event.scope)
            parse_policy(event.revisit)
            parse_strategy(event.strategy)
            check_steps(event.url_steps)
            _check_own_topic(event)
            policy_of(event)
            for party in event.parties.values():
                parse_scope(party.scope or ANYWHERE)
            if event.relevant:
                parse_relevance(event.relevant)
    except (BadSettings, ValueError) as error:
        raise Poison(str(error)) from error


def create_own_topic(log: Log, crawl: CrawlDefined) -> None:
    """Create the topic that the pages of *crawl* have alone, if its definition asks for one.

    Call it before the definition is appended, since dedup may publish a page soon after. Raise
    BadSettings if another topic has the name.
    """
    _check_own_topic(crawl)
    for topic in own_topics([crawl]):
        log.create_topic(topic)


def _check_own_topic(crawl: CrawlDefined) -> None:
    if crawl.own_topic and topic_of_pages(crawl) in TOPICS:
        raise BadSettings(
            f"a crawl with the id {crawl.crawl!r} cannot have a topic of its own, because "
            f"{topic_of_pages(crawl)} is another topic: use another id"
        )


def strategy_of(crawl: CrawlDefined) -> str:
    """Return the strategy of *crawl*: by default `best` if its scope is open, else `breadth`."""
    return parse_strategy(crawl.strategy) or ("best" if crawl.scope == ANYWHERE else "breadth")


def crawl_url(crawl: CrawlDefined, url: str) -> str:
    """Return the URL under which *crawl* visits the page of a canonical *url*.

    Raise BadUrl if the crawl excludes it. Rules that hosts have proven are not considered.
    """
    found = merge_url(url, crawl.url_steps)
    if not found.url:
        raise BadUrl(url, f"the crawl excludes it by {found.steps[-1]}")
    return found.url


def why_idle(crawl: CrawlDefined | None, queued: int, are_all_paused: bool = False) -> str:
    """Return why nothing is fetched without any failure, and what to do, or "".

    *queued* is the number of queued URLs; *are_all_paused*: whether all crawls are paused together.
    """
    if crawl is None:
        return (
            f"no crawl is defined, so nothing is fetched (URLs queued: {queued:,}): define it with "
            "gossamer seed URL --scope SCOPE, or with crawl.scope and gossamer topics apply"
        )
    if crawl.removed:
        return "the crawl is removed"
    if crawl.paused:
        return "the crawl is paused"
    return "all crawls are paused" if are_all_paused else ""


def blocklist_of(log: Log) -> Blocklist:
    """Return the current blocklist."""
    return Blocklist(newest_events(log).values())


def overrides_of(log: Log) -> dict[Site, SiteOverridden]:
    """Return the overrides of each site."""
    events = [one for one in newest_events(log).values() if isinstance(one, SiteOverridden)]
    return {one.site: one for one in events if one != SiteOverridden(at=one.at, site=one.site)}


def host_overrides_of(log: Log) -> dict[str, HostOverridden]:
    """Return the overrides of each host, by its name."""
    events = [one for one in newest_events(log).values() if isinstance(one, HostOverridden)]
    return {one.host: one for one in events if one != HostOverridden(at=one.at, host=one.host)}


def speed_of(log: Log) -> SpeedSet:
    """Return the current rate limits."""
    event = newest_events(log).get(f"speed_set/{FLEET}")
    return event if isinstance(event, SpeedSet) else SpeedSet(at=0.0)


def last_definition(log: Log, crawl: str = DEFAULT_CRAWL) -> CrawlDefined | None:
    """Return the active definition of *crawl*, or None if it was never defined."""
    return definitions_of(log).get(crawl)


def active_of(crawls: Mapping[str, CrawlDefined]) -> dict[str, CrawlDefined]:
    """Return those of *crawls* that are neither paused nor removed."""
    return {name: crawl for name, crawl in crawls.items() if not (crawl.paused or crawl.removed)}


def longest_share(log: Log) -> float:
    """Return the age in seconds up to which some crawl takes captures of another."""
    return max(
        (one.share_for for one in definitions_of(log).values() if not one.removed), default=0
    )


def are_all_paused(log: Log) -> bool:
    """Return whether all crawls are paused together."""
    event = newest_events(log).get(f"fleet_paused/{FLEET}")
    return isinstance(event, FleetPaused) and event.paused


def seeds_applied(log: Log, crawl: str) -> SeedsApplied | None:
    """Return the seeds of the file that was applied last for *crawl*, or None without a file."""
    return definitions_and_seeds(log, crawl)[1]


def definitions_of(log: Log) -> dict[str, CrawlDefined]:
    """Return the newest definition of each crawl by its id, sorted; removed crawls too."""
    return definitions_and_seeds(log, "")[0]


def definitions_and_seeds(
    log: Log, crawl: str
) -> tuple[dict[str, CrawlDefined], SeedsApplied | None]:
    """Return the definitions of all crawls and the applied seeds of *crawl*, by one read of the
    control topic."""
    events = newest_events(log)
    found = [one for one in events.values() if isinstance(one, CrawlDefined)]
    seeds = events.get(f"seeds_applied/{crawl}")
    return (
        {one.crawl: one for one in sorted(found, key=lambda one: one.crawl)},
        seeds if isinstance(seeds, SeedsApplied) else None,
    )
