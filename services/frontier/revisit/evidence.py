"""Evidence of changes beside visits, the trust in it, and changes of internal pages.

**Trust.** For each kind of evidence (a sitemap's date, Last-Modified …) a site has four counts: how
often a change was announced or not, and whether visits found one. From these follow how much more
likely a change is after an announcement, and how many changes happen without one. A site that
always announces changes is wrong about pages that have not changed, so its announcements do not
count.

Two kinds announce changes in advance: the end of a response's freshness (`expires`) and the change
frequency of a sitemap (`changefreq`). Both announce a change when that time is over.

**Internal pages** are the pages of its own site that a page links to. The state of a page has a
sample of its internal links, and the state of its site has pages that recent visits found changed.
Links to other sites do not count, because another partition may own them. A site with many changes
stores a sample of its pages: those whose short fingerprint is below a bound, which is halved
whenever too many pages are below it. Links are sampled in the same way, so the fraction of changed
pages is that of the pages in both samples.
"""

from typing import NamedTuple

from msgspec.structs import replace

from gossamer.services.frontier.revisit.state import (
    DAY,
    Evidence,
    Kind,
    PageState,
    SiteState,
    States,
    Visit,
    to_single,
)
from gossamer.web.links import FINGERPRINT_BITS, short_fingerprint

COUNT_FADE = 0.98
"""The factor of the four counts at each visit."""
MIN_DATE = 725846400.0
"""The earliest credible date of a page: 1993 (*Practical issues of crawling the Web*, 5.5)."""
MAX_AHEAD_SECONDS = DAY
"""A date at most this far in the future is treated as now; a later date is ignored."""
MIN_STATED_SECONDS, MAX_STATED_SECONDS = 600.0, 365 * DAY
"""Bounds of a stated change interval, in seconds. Others mean "always" or "never"."""
MIN_TRUSTED_RATIO = 5.0
"""A kind is trusted if its announcement makes a change this many times likelier."""
MIN_COUNTED_VISITS = 10.0
"""The counted visits after which the silence of a kind means that nothing changed."""

PROMISE_KINDS = {Kind.EXPIRES, Kind.CHANGEFREQ}
KIND_BITS = {kind: 1 << n for n, kind in enumerate(Kind)}


def change_date(evidence: Evidence, now: float) -> float:
    """Return the stated time of the change, at most *now*; 0 if the date is impossible."""
    if not MIN_DATE <= evidence.changed_at <= now + MAX_AHEAD_SECONDS:
        return 0.0
    return min(evidence.changed_at, now)


def says_changed(evidence: Evidence, page: PageState, now: float) -> bool:
    """Return whether *evidence* announces a change since the last visit to *page*."""
    return change_date(evidence, now) > page.at


def note_hint(page: PageState, evidence: Evidence) -> PageState:
    """Record in *page* that the kind of *evidence* announced a change."""
    return replace(page, heard=page.heard | KIND_BITS[evidence.kind])


def note_interval(page: PageState, every: float) -> PageState:
    """Record the stated change interval *every* (seconds), if it is credible."""
    return (
        replace(page, every=to_single(every))
        if MIN_STATED_SECONDS <= every <= MAX_STATED_SECONDS
        else page
    )


def promise_ends(page: PageState) -> dict[Kind, float]:
    """Return kind → the time until which it promises no change after the last visit."""
    ends = {
        Kind.EXPIRES: page.expires_at,
        Kind.CHANGEFREQ: page.at + page.every if page.every else 0.0,
    }
    return {kind: until for kind, until in ends.items() if until}


def update_trust(site: SiteState, page: PageState, visit: Visit) -> SiteState:
    """Update the counts of *site*: compare the announcements about *page* with *visit*."""
    if not page.visits:
        return site
    announced = {kind for kind in Kind if page.heard & KIND_BITS[kind]}
    stated = {one.kind: says_changed(one, page, visit.at) for one in visit.evidence}
    stated |= {kind: until <= visit.at for kind, until in promise_ends(page).items()}
    announced |= {kind for kind, has_changed in stated.items() if has_changed}
    trust = dict(site.trust)
    for kind in sorted(announced | set(stated) | (set(trust) - PROMISE_KINDS)):
        counted = [COUNT_FADE * n for n in trust.get(kind, (0.0, 0.0, 0.0, 0.0))]
        counted[2 * (kind not in announced) + (not visit.changed)] += 1
        trust[kind] = (counted[0], counted[1], counted[2], counted[3])
    return replace(site, trust={kind: tuple(map(to_single, row)) for kind, row in trust.items()})


def likelihood_ratio(site: SiteState, kind: Kind) -> float:
    """Return the factor by which an announcement of *kind* makes a change likelier; at least 1."""
    said_so, said_not, so, neither = site.trust.get(kind, (0.0, 0.0, 0.0, 0.0))
    if_changed = (said_so + 0.5) / (said_so + so + 1)
    if_not = (said_not + 0.5) / (said_not + neither + 1)
    return max(1.0, if_changed / if_not)


def silence_ratio(site: SiteState, kind: Kind) -> float:
    """Return the factor by which the silence of *kind* makes a change rarer; at least 1."""
    said_so, said_not, so, neither = site.trust.get(kind, (0.0, 0.0, 0.0, 0.0))
    if_changed = (so + 0.5) / (said_so + so + 1)
    if_not = (neither + 0.5) / (said_not + neither + 1)
    return max(1.0, if_not / if_changed)


def unannounced_share(site: SiteState) -> float:
    """Return the fraction of changes that no sitemap and no feed announces; 1 without these."""
    least = 1.0
    for kind in (Kind.SITEMAP, Kind.FEED):
        said_so, said_not, so, neither = site.trust.get(kind, (0.0, 0.0, 0.0, 0.0))
        if said_so + said_not + so + neither >= MIN_COUNTED_VISITS and neither > said_not:
            least = min(least, (so + 0.5) / (said_so + so + 1))
    return least


MAX_CHANGED = 256
"""The maximum number of changed pages in the state of a site, about 3 kB."""


class InternalChanges(NamedTuple):
    """Counts of the internal pages of a page that are in both samples."""

    changed: int
    """The internal pages that visits found changed since the last visit to the page."""
    pages: int
    """All internal pages in both samples; at least 1."""

    @property
    def share(self) -> float:
        """The fraction of internal pages that changed."""
        return self.changed / self.pages


def internal_changes(page: PageState, site: SiteState, since: float) -> InternalChanges | None:
    """Count the internal pages of *page* that changed after *since*; None if none is sampled."""
    sampled = [link for link in page.internal_links if _in_sample(link, site.halvings)]
    changed = sum(site.changed_pages.get(link, 0) > since for link in sampled)
    return InternalChanges(changed, len(sampled)) if sampled else None


def record_change(site: SiteState, url: str, at: float, since: float) -> SiteState:
    """Record in *site* that a visit at *at* found the page *url* changed.

    Changes before *since* are deleted.
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
    """Delete the data of a policy that used internal links."""
    page, site, crawl = states
    if page.internal_links:
        page = replace(page, internal_links=())
    if site.changed_pages:
        site = replace(site, changed_pages={}, halvings=0)
    return States(page, site, crawl)


def _in_sample(page: int, halvings: int) -> bool:
    return page < 1 << FINGERPRINT_BITS - halvings
