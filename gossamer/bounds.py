"""The bounds of a crawl: which URLs it leaves out, by its own limits and by those of its parties.

A party is what is found from a group of seeds (SCrawler). It may have limits of its own, within the
crawl's scope; what is found from a page is of the page's party, and what two parties find is of the
first. Whoever leaves a URL out goes by what is here, so that all of them agree.
"""

from typing import NamedTuple, Protocol

from gossamer.blocklist import Blocklist, forbidden_by
from gossamer.events import CrawlDefined, Party
from gossamer.events.hazards import Hazard
from gossamer.web.scope import parse_scope

ANYWHERE = "any()"


class LeftOut(NamedTuple):
    """Why a crawl does not visit a URL: the hazard it is counted as, and a sentence."""

    rule: Hazard
    reason: str


class Located(Protocol):
    """A canonical URL, and what limits go by: a `Discovery`, or a row."""

    @property
    def url(self) -> str:
        """The URL."""

    @property
    def depth(self) -> int:
        """Links followed from a seed."""

    @property
    def party(self) -> str:
        """The party that it was found for; "" if it has none."""


NO_PARTY = Party()


def left_out(crawl: CrawlDefined, blocklist: Blocklist, found: Located) -> LeftOut | None:
    """Return why *crawl*, or its party, leaves out what was *found*, or *blocklist* forbids it;
    None if none does.

    A wider definition may want it, or a rule be lifted: whoever leaves it out sets it aside.
    """
    url, depth, party = found.url, found.depth, crawl.parties.get(found.party, NO_PARTY)
    most = crawl.max_depth if party.max_depth is None else party.max_depth
    of = f" of party {found.party}" if party is not NO_PARTY else ""
    if rule := blocklist.of_url(url):
        return LeftOut(Hazard.BLACKLISTED, forbidden_by(rule))
    if depth > most:
        return LeftOut(Hazard.TRAP_DEPTH, f"depth {depth} is beyond the limit of {most}{of}")
    evaluation = parse_scope(crawl.scope).evaluate(url, depth)
    if not evaluation.inside:
        return LeftOut(Hazard.OUT_OF_SCOPE, f"out of scope, by {evaluation.rule}")
    evaluation = parse_scope(party.scope or ANYWHERE).evaluate(url, depth)
    if not evaluation.inside:
        return LeftOut(Hazard.OUT_OF_SCOPE, f"out of scope{of}, by {evaluation.rule}")
    return None


def external_links(crawl: CrawlDefined, party: str) -> str:
    """Return what is followed of links to other sites, on pages of *party*."""
    return crawl.parties.get(party, NO_PARTY).external_links or crawl.external_links


def limit_state(name: str, crawl: CrawlDefined | None, blocklist: Blocklist) -> str | None:
    """Return the state of the limit *name*, for comparing definitions: of the depth, the scope, or
    a rule of the blocklist. None: it is not known without a crawl."""
    if name not in (Hazard.TRAP_DEPTH, Hazard.OUT_OF_SCOPE):
        return blocklist.state_of(name)
    if crawl is None:
        return None
    # There may be many parties: the time of their definition stands for them.
    parties = f" {crawl.at}" if crawl.parties else ""
    return f"{crawl.max_depth if name == Hazard.TRAP_DEPTH else crawl.scope}{parties}"


def limits(crawl: CrawlDefined, blocklist: Blocklist) -> str:
    """Return what decides which URLs are taken up that were left out, for comparing definitions."""
    lifted = f" {blocklist.lifted:x}" if blocklist.lifted else ""
    # Of parties, which may be many, it is enough to know that they were defined anew.
    parties = f" {crawl.at}" if crawl.parties else ""
    return f"{crawl.max_depth} {crawl.scope}{lifted}{parties}"
