"""The bounds of a crawl: URLs that its own limits, or those of its parties, exclude.

A party is a group of seeds and all pages that are found from them (SCrawler). It may have its own
limits within the crawl's scope. A URL belongs to the party of the page that links to it. If two
parties find a URL, it belongs to the first. All services exclude URLs by this module, so that they
agree.
"""

from typing import NamedTuple, Protocol

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.events import CrawlDefined, Party, Purpose
from gossamer.events.hazards import Hazard
from gossamer.web import scope
from gossamer.web.scope import parse_scope
from gossamer.web.url import host_name, site_of

ANYWHERE = "any()"
"""The scope of a party that states none."""


class Exclusion(NamedTuple):
    """Why a crawl excludes a URL: the hazard under which it is counted, and a sentence."""

    rule: Hazard
    reason: str


class Located(scope.Located, Protocol):
    """A canonical URL with the properties that limits use: a `Discovery` or a row."""

    @property
    def party(self) -> str:
        """The party of the URL, or ""."""

    @property
    def joined(self) -> str:
        """The host or the site that a redirect of the URL's seed added to the scope, or ""."""

    @property
    def refused_by(self) -> str:
        """The file and line of the rule that refuses the link to the URL, or ""."""

    @property
    def purpose(self) -> Purpose:
        """The purpose of visits to the URL."""


NO_PARTY = Party()


def exclusion_of(crawl: CrawlDefined, blocklist: Blocklist, found: Located) -> Exclusion | None:
    """Return why *crawl*, its party or *blocklist* excludes the URL, or None.

    Callers park excluded URLs, because a wider definition or a lifted rule may include them later.
    Scope and depth are about pages. The requisites of a page are needed wherever they are.
    """
    url, depth = found.url, found.depth
    party = crawl.parties.get(found.party, NO_PARTY) if crawl.parties else NO_PARTY
    max_depth = crawl.max_depth if party.max_depth is None else party.max_depth
    of = f" of party {found.party}" if party is not NO_PARTY else ""
    if blocklist.rules and (rule := blocklist.of_url(url)):
        return Exclusion(Hazard.BLACKLISTED, forbidden_by(rule))
    if found.purpose is Purpose.REQUISITE:
        return None
    if depth > max_depth:
        return Exclusion(Hazard.TRAP_DEPTH, f"depth {depth} is beyond the limit of {max_depth}{of}")
    of_crawl = parse_scope(crawl.scope)
    if not (of_crawl.includes(found) or is_joined(crawl, url, found.joined)):
        rule = of_crawl.evaluate(url, depth).rule
        return Exclusion(Hazard.OUT_OF_SCOPE, f"out of scope, by {rule}")
    if party.scope and not (of_party := parse_scope(party.scope)).includes(found):
        rule = of_party.evaluate(url, depth).rule
        return Exclusion(Hazard.OUT_OF_SCOPE, f"out of scope{of}, by {rule}")
    if found.refused_by and crawl.rules:
        return Exclusion(Hazard.NOT_FOLLOWED, f"refused by follow in {found.refused_by}")
    return None


def is_joined(crawl: CrawlDefined, url: str, joined: str) -> bool:
    """Return whether *url* is at *joined*, which a redirect of its seed added to the scope."""
    return bool(joined) and joined == seed_part(crawl, url)


def seed_part(crawl: CrawlDefined, seed: str) -> str:
    """Return what *seed* adds to the scope of *crawl*: the name of its host, its site, or ""."""
    match crawl.scope_of_seeds:
        case "host":
            return host_name(seed)
        case "site":
            return site_of(seed)
    return ""


def external_links(crawl: CrawlDefined, party: str) -> str:
    """Return which links to other sites are followed on pages of *party*."""
    return crawl.parties.get(party, NO_PARTY).external_links or crawl.external_links


REPLICA_PREFIX = f"{Hazard.DUPHOST} "


def replica_limit(host: str) -> str:
    """Return the name of the limit that excludes the URLs of *host*, a replica.

    Its state never changes: its URLs are evaluated again on request.
    """
    return REPLICA_PREFIX + host


def limit_state(name: str, crawl: CrawlDefined | None, blocklist: Blocklist) -> str | None:
    """Return a text that changes whenever the limit *name* may exclude other URLs.

    *name* is the hazard of the depth, of the scope or of own rules, a replica (`replica_limit`), or
    else a rule of the blocklist. Return None if the limit depends on the definition and there is
    none.
    """
    if name.startswith(REPLICA_PREFIX):
        return ""
    if name not in (Hazard.TRAP_DEPTH, Hazard.OUT_OF_SCOPE, Hazard.NOT_FOLLOWED):
        return blocklist.state_of(name)
    if crawl is None:
        return None
    if name == Hazard.NOT_FOLLOWED:
        return crawl.rules_digest
    limit = crawl.max_depth if name == Hazard.TRAP_DEPTH else crawl.scope
    return f"{limit}{_state_of_parties(crawl)}"


def limits(crawl: CrawlDefined, blocklist: Blocklist) -> str:
    """Return a text that changes whenever parked URLs may have to be released, because a limit has
    changed or a rule of the blocklist was lifted."""
    lifted = f" {blocklist.lifted:x}" if blocklist.lifted else ""
    own = f"{crawl.max_depth} {crawl.scope} {crawl.rules_digest}"
    return f"{own}{lifted}{_state_of_parties(crawl)}"


def _state_of_parties(crawl: CrawlDefined) -> str:
    # The time of the definition represents the parties, of which there may be many.
    return f" {crawl.at}" if crawl.parties else ""
