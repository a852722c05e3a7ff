"""What is said of a page's changes beside visits, and how far a site is believed.

Each kind of evidence (a sitemap's date, Last-Modified …) has a table per site: how often it had
said that a page changed, and how often that was so, as visits found. From it follow how much more
likely a change is when it is said, and how many changes happen without a word. A site that always
says "now" says it of what has not changed as well, and so says nothing.

Two kinds are said in advance: until when an answer stays as it is (`expires`), and how often a page
changes (`changefreq`). They say that it changed when that time is over (`promise_ends`).

[internal_pages] Internal pages, the pages of its own site that a page links to: how many of them have changed.

The state of a page has a sample of its internal links, and the state of its site has the pages that
visits have lately found changed. Both are bounded, and both are in memory when the page's turn
comes. Links to other sites are left out, because another partition may have these.

A site with many changes remembers a sample of its pages: those whose short fingerprint is below a
bound, which is halved whenever too many pages are below it. The links of a page are sampled in the
same way, so the share is that of the pages in both samples.
"""

from typing import NamedTuple

from msgspec.structs import replace

from gossamer.web.internal_links import BITS, short_fingerprint
from services.frontier.revisit.state import (
    DAY,
    Evidence,
    Kind,
    PageState,
    SiteState,
    States,
    Visit,
    to_single,
)

COUNT_FADE = 0.98
"""Of what was counted, at each visit to the site that the kind could have spoken of."""
MIN_DATE = 725846400.0
"""1993: no page is older (*Practical issues of crawling the Web*, 5.5)."""
MAX_AHEAD_SECONDS = DAY
"""A date so far in the future is a clock that goes wrong, and means now; further ahead, nothing."""
MIN_STATED_SECONDS, MAX_STATED_SECONDS = 600.0, 365 * DAY
"""Seconds: who says that a page changes more often, or less, has said "always" or "never"."""
MIN_TRUSTED_RATIO = 5.0
"""So many times likelier must a kind make a change for a date of it to be gone by."""
MIN_COUNTED_VISITS = 10.0
"""Visits after which it is believed that a kind is silent because nothing changed."""

PROMISE_KINDS = {Kind.EXPIRES, Kind.CHANGEFREQ}
KIND_BITS = {kind: 1 << n for n, kind in enumerate(Kind)}


def change_date(evidence: Evidence, now: float) -> float:
    """Return when it says the page changed, not later than *now*; 0 if the date is impossible."""
    if not MIN_DATE <= evidence.changed_at <= now + MAX_AHEAD_SECONDS:
        return 0.0
    return min(evidence.changed_at, now)


def says_changed(evidence: Evidence, page: PageState, now: float) -> bool:
    """Return whether it says that the page has changed since its last visit."""
    return change_date(evidence, now) > page.at


def note_hint(page: PageState, evidence: Evidence) -> PageState:
    """Return the page with a note that this kind has said it changed."""
    return replace(page, heard=page.heard | KIND_BITS[evidence.kind])


def note_interval(page: PageState, every: float) -> PageState:
    """Return the page with how often it is said to change."""
    return (
        replace(page, every=to_single(every))
        if MIN_STATED_SECONDS <= every <= MAX_STATED_SECONDS
        else page
    )


def promise_ends(page: PageState) -> dict[Kind, float]:
    """Return until when the page stays as it is after its last visit, by each kind that says so."""
    said = {
        Kind.EXPIRES: page.expires_at,
        Kind.CHANGEFREQ: page.at + page.every if page.every else 0.0,
    }
    return {kind: until for kind, until in said.items() if until}


def update_trust(site: SiteState, page: PageState, visit: Visit) -> SiteState:
    """Return the site with what was said of *page* compared with what *visit* found."""
    if not page.visits:
        return site
    said = {kind for kind in Kind if page.heard & KIND_BITS[kind]}
    told = {one.kind: says_changed(one, page, visit.at) for one in visit.evidence}
    told |= {kind: until <= visit.at for kind, until in promise_ends(page).items()}
    said |= {kind for kind, is_so in told.items() if is_so}
    trust = dict(site.trust)
    for kind in sorted(said | set(told) | (set(trust) - PROMISE_KINDS)):
        counted = [COUNT_FADE * n for n in trust.get(kind, (0.0, 0.0, 0.0, 0.0))]
        counted[2 * (kind not in said) + (not visit.changed)] += 1
        trust[kind] = (counted[0], counted[1], counted[2], counted[3])
    return replace(site, trust={kind: tuple(map(to_single, row)) for kind, row in trust.items()})


def likelihood_ratio(site: SiteState, kind: Kind) -> float:
    """Return how many times likelier a change becomes when *kind* says so: at least 1."""
    said_so, said_not, so, neither = site.trust.get(kind, (0.0, 0.0, 0.0, 0.0))
    if_changed = (said_so + 0.5) / (said_so + so + 1)
    if_not = (said_not + 0.5) / (said_not + neither + 1)
    return max(1.0, if_changed / if_not)


def silence_ratio(site: SiteState, kind: Kind) -> float:
    """Return how many times rarer a change is as long as *kind* does not say so: at least 1."""
    said_so, said_not, so, neither = site.trust.get(kind, (0.0, 0.0, 0.0, 0.0))
    if_changed = (so + 0.5) / (said_so + so + 1)
    if_not = (neither + 0.5) / (said_not + neither + 1)
    return max(1.0, if_not / if_changed)


def unannounced_share(site: SiteState) -> float:
    """Return the share of changes of which nothing is said between visits: 1 if nobody speaks."""
    least = 1.0
    for kind in (Kind.SITEMAP, Kind.FEED):
        said_so, said_not, so, neither = site.trust.get(kind, (0.0, 0.0, 0.0, 0.0))
        if said_so + said_not + so + neither >= MIN_COUNTED_VISITS and neither > said_not:
            least = min(least, (so + 0.5) / (said_so + so + 1))
    return least


MAX_CHANGED = 256
"""Pages of a site that are remembered as changed: some 3 kB."""


class InternalChanges(NamedTuple):
    """The internal pages of a page, as far as they are in both samples."""

    changed: int
    """How many of them visits have found changed since the last visit to the page."""
    pages: int

    @property
    def share(self) -> float:
        """The share of them that has changed."""
        return self.changed / self.pages


def internal_changes(page: PageState, site: SiteState, since: float) -> InternalChanges | None:
    """Return how many internal pages of *page* have changed *since* a time; None if none is
    known."""
    sampled = [link for link in page.internal_links if _in_sample(link, site.halvings)]
    changed = sum(site.changed_pages.get(link, 0) > since for link in sampled)
    return InternalChanges(changed, len(sampled)) if sampled else None


def record_change(site: SiteState, url: str, at: float, since: float) -> SiteState:
    """Return *site* with the change of the page at *url* that a visit *at* a time found.

    Changes found before *since* are dropped.
    """
    changed = {page: seen for page, seen in site.changed_pages.items() if seen >= since}
    page, halvings = short_fingerprint(url), site.halvings
    changed[page] = max(round(at), changed.get(page, 0))
    if not _in_sample(page, halvings):
        del changed[page]
    while len(changed) > MAX_CHANGED:
        halvings += 1
        changed = {page: seen for page, seen in changed.items() if _in_sample(page, halvings)}
    return replace(site, changed_pages=changed, halvings=halvings)


def drop_internal_links(states: States) -> States:
    """Return *states* without what a policy that used internal links has left."""
    page, site, crawl = states
    if page.internal_links:
        page = replace(page, internal_links=())
    if site.changed_pages:
        site = replace(site, changed_pages={}, halvings=0)
    return States(page, site, crawl)


def _in_sample(page: int, halvings: int) -> bool:
    return page < 1 << BITS - halvings
