"""Internal pages, the pages of its own site that a page links to: how many of them have changed.

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
from services.frontier.revisit.state import Known, PageState, SiteState

MAX_CHANGED = 256
"""Pages of a site that are remembered as changed: some 3 kB."""


class Internal(NamedTuple):
    """The internal pages of a page, as far as they are in both samples."""

    changed: int
    """How many of them visits have found changed since the last visit to the page."""
    pages: int

    @property
    def share(self) -> float:
        """The share of them that has changed."""
        return self.changed / self.pages


def internal_pages(page: PageState, site: SiteState, since: float) -> Internal | None:
    """Return how many internal pages of *page* have changed *since* a time; None if none is
    known."""
    sampled = [link for link in page.internal_links if _in_sample(link, site.halvings)]
    changed = sum(site.changed_pages.get(link, 0) > since for link in sampled)
    return Internal(changed, len(sampled)) if sampled else None


def remember_change(site: SiteState, url: str, at: float, since: float) -> SiteState:
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


def without_links(known: Known) -> Known:
    """Return *known* without what a policy that used internal links has left."""
    page, site, crawl = known
    if page.internal_links:
        page = replace(page, internal_links=())
    if site.changed_pages:
        site = replace(site, changed_pages={}, halvings=0)
    return Known(page, site, crawl)


def _in_sample(page: int, halvings: int) -> bool:
    return page < 1 << BITS - halvings
