"""The worth of the parts of a site: how many new texts a visit there brings.

An open crawl wastes most of its visits on parts of sites without end: calendars, facets, growing
paths, hosts of a wildcard zone, sites that answer every URL with one page. What they have in common
is that their visits bring no new text. So each site has one bounded trie of counters, and no list
of traps.

**Parts.** The root of the trie is the site. Below it are its hosts, below a host its directories,
and below a directory the paths with a query, by the names of their parameters:

    ""                              the site
    "http://a.test"                 a host
    "http://a.test/cal/"            a directory, with all URLs below it
    "http://a.test/cal/*"           the first visits to each directory of it
    "http://a.test/*/*"             the first visits to each directory of any directory
    "http://a.test/list?"           a path with a query
    "http://a.test/list?page&sort"  the same, with these parameters

The part `*` tells what the next new child is worth. A wildcard zone shows many hosts, each of them
visited once: only `*` of the site counts them together.

**Two tries.** A site has one trie for URLs that were found on pages with a new text, and another
for URLs that were found on pages without one (`Discovery.duplicates`). A site that answers every
URL with one page links from there to more such URLs, of the same directory as its honest pages. The
honest pages link to each other, so the first trie keeps their worth.

**Estimate.** The worth of a URL is a mean of the visits to URLs directly in its part, and of
`PRIOR_VISITS` visits with the worth of what is unknown in the parent: its own URLs, and the first
visits to its children. The worth of a child with few visits is a mean with the first visits to its
neighbours, whatever the pages of the parent bring. Worthless hosts say nothing about the
directories of a host whose own pages are new. The part `*/*` counts the first visits to directories
of one depth, so children of a directory are judged by one visit where others were worthless. Later
visits to a child say nothing about its neighbours. A site that was never visited has worth 1: the
crawl is optimistic. A new link to another part is worth `LINK_WORTH` of that part's worth to a page
without a new text, or an index page would be worth nothing.

**Growth.** A list of a thousand laws with one preface looks like a trap, but it has an end. So
links of pages with a new text are parked only if the part also grows: most visits find further URLs
of it. The same holds for the links of the first page in a row without a new text, which may be
another version of a manual (docs/decisions/0177-what-a-heuristic-may-withhold.md).

**Levels.** A list of lists grows with each visit, too, until its last level is visited. So no part
of a site is parked before pages at `MIN_LEVELS` distances from its first page were visited.

**Decay.** Each visit takes 1/`MEMORY` from the former counts of its parts. So a part has the worth
of its last visits, and the numbers stay small.

**Bound.** A trie has at most `MAX_PARTS` parts; the least visited ones are forgotten first. The
counters of a site take at most 40 KB in the store, and those of a site with one visit about 1 KB.

**Zones.** The first visits to sites of a public suffix with a wildcard, and to sites of an address,
tell what the next unknown site there is worth (`zones.py`).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct, field, msgpack

from gossamer.web.links import Sketch, add_link, estimate_sites
from gossamer.web.url import HostKey, Site, host_key

MAX_PARTS = 150
"""Parts of a trie."""
MAX_DIRECTORIES = 6
"""Directories of a path that are parts. Deeper ones are counted in the last of them."""
MAX_PART_LENGTH = 200
"""Characters of the name of a part. A longer one is counted in its parent."""
MEMORY = 64.0
"""Visits that a part remembers: older ones have lost two thirds of their weight."""
PRIOR_VISITS = 2.0
"""Visits that the worth of the parent counts as."""
MIN_VISITS = 3.5
"""Visits without which a part is not parked: four, of which the first ones count a little less."""
LOW_WORTH = 0.25
"""The worth below which a part is parked: after five to seven visits in a row that bring
nothing."""
LINK_WORTH = 0.5
"""The worth of a link to another part, as a fraction of the worth of that part."""
MIN_GROWTH = 0.4
"""Pages that lately linked to new URLs of a part, for each visit to it, below which the part is not
parked: its URLs come to an end by themselves. It does not hold for links of pages without a new
text."""
GROWTH_MEMORY = 16.0
"""`MEMORY` for growth: the lists of a thousand contracts are visited before the contracts."""
COPIES_PRIOR = 0.5
"""The worth of a URL that a page without a new text links to, as a fraction of the worth of others
of its site, if nothing is known about such URLs."""
MIN_COPIES = 2.5
"""`MIN_VISITS` for such URLs: three."""
MIN_LEVELS = 4
"""Depths at which pages of a site were visited, without which none of its parts is parked. A site
of albums, which list photos, looks endless until photos are visited."""
OTHERS = "*"
"""The last segment of the part for children that have no part of their own yet."""
SITE = ""
"""The part that is the whole site."""
FULL_NOVELTY, NO_NOVELTY = 0.4, 0.1
"""The share of new words from which a visit counts as a new text, and the share up to which it does
not count. In between it counts in part: pages of a template share words."""


class Counts(Struct, array_like=True):
    """The decayed counts of a part."""

    visits: float = 0.0
    """First visits to URLs, of the parts below it, too."""
    new: float = 0.0
    """New texts of these visits."""
    own_visits: float = 0.0
    """The visits to URLs that are in none of the parts below it."""
    own_new: float = 0.0
    """New texts of these visits."""
    links: float = 0.0
    """New links: URLs that passed the URL-seen test."""
    received: float = 0.0
    """Bytes."""
    seconds: float = 0.0
    """Seconds that the visits took."""
    growth: float = 0.0
    """Pages that linked to new URLs of the part."""

    def add_visit(self, new: float, is_own: bool = True) -> None:
        """Count a visit that brought *new* texts, from 0 to 1. Former counts decay. *is_own*: its
        URL is in none of the parts below this one."""
        keep = 1 - 1 / MEMORY
        self.visits = self.visits * keep + 1
        self.new = self.new * keep + new
        if is_own:
            self.own_visits = self.own_visits * keep + 1
            self.own_new = self.own_new * keep + new
        self.links *= keep
        self.growth *= 1 - 1 / GROWTH_MEMORY
        self.received *= keep
        self.seconds *= keep


class SiteTotals(Struct, array_like=True):
    """The totals of a site, which do not decay; its budgets follow from them."""

    admitted: int = 0
    """URLs that were queued, without sitemaps."""
    visits: int = 0
    """First visits to URLs."""
    new: float = 0.0
    """New texts."""
    opened: float = 0.0
    """The sum, over pages with a new text, of the share of new links among the links of their
    content, times the new texts that the page counts as."""
    received: int = 0
    """Bytes."""
    new_received: int = 0
    """Bytes of pages with a new text."""
    seconds: float = 0.0
    """Seconds that all visits took."""
    new_hosts: int = 0
    """Hosts with a new text."""
    new_depth: int = 0
    """The depth of the deepest page with a new text."""
    entry_depth: int | None = None
    """The depth of the first URL that was queued; None before."""
    in_links: Sketch = 0
    """A sketch of the other sites with a link to a URL of the site that was new then."""
    page_in_links: float = 0.0
    """The largest estimated number of other sites that link to one page of the site."""
    address: str = ""
    """The IP address that answered last; "" before the first answer."""
    sitemaps: float = 0.0
    """Sitemaps that were queued, and one more for each MiB that was received of them."""
    thin: int = 0
    """Texts that counted as new in their parts because no other page has them, although hardly a
    word of them is new."""

    @property
    def earned_share(self) -> float:
        """The share of the new texts by which the budgets grow: the texts of pages that lead back
        to known pages, or nowhere."""
        return max(0.0, 1.0 - self.opened / self.new) if self.new else 0.0

    @property
    def linking_sites(self) -> float:
        """The estimated number of other sites that link to the site."""
        return max(self.page_in_links, estimate_sites(self.in_links) if self.in_links else 0.0)


Trie = dict[str, Counts]
NO_VISITS = Counts()
ZONE = "**"
"""The part of all sites of a public suffix whose every name resolves, or of an address."""


class SiteWorth(Struct, array_like=True):
    """The counters of one site."""

    of_new: Trie = field(default_factory=dict)
    """The trie of URLs that pages with a new text link to, and of seeds."""
    of_copies: Trie = field(default_factory=dict)
    """The trie of URLs that pages without a new text link to."""
    positions: Trie = field(default_factory=dict)
    """The part of the linking page → counts."""
    depths: Trie = field(default_factory=dict)
    """The depth, as text → counts."""
    totals: SiteTotals = field(default_factory=SiteTotals)
    unsaved: int = 0
    """Changes since the counters were stored last."""

    def trie(self, duplicates: int) -> Trie:
        """Return the trie of URLs with this number of pages without a new text before them."""
        return self.of_copies if duplicates else self.of_new


class Estimate(NamedTuple):
    """The estimated worth of a visit, and the part that it is low for."""

    worth: float
    """New texts of a visit, from 0 to 1."""
    low_part: str | None = None
    """The largest part with a worth below `LOW_WORTH` that the URL is in; None if it has none."""


UNKNOWN = Estimate(1.0)
"""The estimate for a site without visits."""


def parts_of(url: str) -> tuple[str, ...]:
    """Return the parts of a site that a canonical *url* is in, from the site on."""
    path, mark, query = url.partition("?")
    parts = _directories(path[: path.rindex("/") + 1], host_key(url))
    if not mark or len(path) > MAX_PART_LENGTH:
        return parts
    names = "&".join(sorted({pair.partition("=")[0] for pair in query.split("&")}))
    return (*parts, f"{path}?", f"{path}?{names}"[:MAX_PART_LENGTH])


@lru_cache(maxsize=10_000)
def _directories(directory: str, host: HostKey) -> tuple[str, ...]:
    parts, end = [SITE, host], len(host) + 1
    while (end := directory.find("/", end) + 1) and end <= MAX_PART_LENGTH:
        if len(parts) == MAX_DIRECTORIES + 2:
            break
        parts.append(directory[:end])
    return tuple(parts)


def others_of(part: str) -> str:
    """Return the part for children of *part* that have no part of their own yet."""
    return f"{part}{OTHERS}" if not part or part[-1] in "/?" else f"{part}/{OTHERS}"


def estimate(
    trie: Trie,
    parts: tuple[str, ...],
    prior: float = 1.0,
    min_visits: float = MIN_VISITS,
    min_growth: float = MIN_GROWTH,
) -> Estimate:
    """Return the worth of a visit to a URL in *parts*; *prior*: the worth of an unknown site. A
    part with fewer than *min_visits*, or that grows by less than *min_growth*, is not low."""

    def is_judged(name: str, visits: float) -> bool:
        found = trie.get(name, NO_VISITS)
        recent_visits = min(found.visits, GROWTH_MEMORY)
        return visits >= min_visits and found.growth >= min_growth * recent_visits

    low = ZONE if prior < LOW_WORTH else None
    if (counts := trie.get(SITE)) is None:
        return Estimate(prior, low)
    base, name = prior, SITE
    for part in parts[1:]:
        first_visits = trie.get(others_of(name), NO_VISITS)
        visits = counts.own_visits + first_visits.visits
        unknown = _mean(counts.own_new + first_visits.new, visits, base)
        of_children, evidence = _worth_of_children(trie, name, base)
        if unknown >= LOW_WORTH:
            low = None
        elif low is None and is_judged(name, visits):
            low = name
        if (child := trie.get(part)) is None:
            visits, worth = evidence, of_children
            low, name = None if low == name else low, others_of(name)
            break
        others = others_of(name)
        if low is None and of_children < LOW_WORTH and is_judged(others, evidence):
            low = others
        base = of_children if first_visits.visits else unknown
        if name == SITE:
            # Other hosts may be worthless, and the host's own pages new.
            base = max(base, _mean(child.new, child.visits, base))
        counts, name = child, part
    else:
        visits, worth = counts.own_visits, _mean(counts.own_new, counts.own_visits, base)
    if worth >= LOW_WORTH or (low is None and not is_judged(name, visits)):
        return Estimate(worth)
    return Estimate(worth, name if low is None else low)


def cousins_of(part: str) -> str | None:
    """Return the part for new children of all directories at the depth of *part*; None unless
    *part* is a directory."""
    if not part.endswith("/"):
        return None
    host = host_key(part)
    return host + f"/{OTHERS}" * part.count("/", len(host))


def _worth_of_children(trie: Trie, part: str, base: float) -> tuple[float, float]:
    """Return the worth of a visit to a new child of *part*, and the number of visits that show it.
    Where children of neighbours of *part* brought nothing, one visit shows whether its own are like
    them."""
    first_visits = trie.get(others_of(part), NO_VISITS)
    name = cousins_of(part)
    if first_visits.visits and name and (cousins := trie.get(name)):
        base = _mean(cousins.new, cousins.visits, base)
        evidence = max(first_visits.visits, cousins.visits)
    else:
        evidence = first_visits.visits
    return _mean(first_visits.new, first_visits.visits, base), evidence


def mean_worth(counts: Counts) -> float:
    """Return the worth of a further visit to what *counts* counts."""
    return _mean(counts.new, counts.visits, 1.0)


def judged_parts(trie: Trie, parts: tuple[str, ...]) -> list[str]:
    """Return the parts that a visit to a URL in *parts* tells most about: the smallest one that was
    visited, or the parts for new children if the next one was not."""
    name = SITE
    for part in parts[1:]:
        if part not in trie:
            return [others_of(name), *filter(None, [cousins_of(name)])]
        name = part
    return [name]


def window_of(trie: Trie, part: str) -> float:
    """Return how many visits to URLs of *part* may await their verdicts at once: one, and one more
    for each new text."""
    return 1.0 + trie.get(part, NO_VISITS).own_new


def _mean(new: float, visits: float, base: float) -> float:
    """Return new texts per visit, with `PRIOR_VISITS` visits of worth *base*."""
    return min(1.0, (new + PRIOR_VISITS * base) / (visits + PRIOR_VISITS))


def estimate_part(trie: Trie, part: str) -> float:
    """Return the worth of a visit to an unknown URL of *part*."""
    parent = part.removesuffix(OTHERS)
    unknown = () if part == parent else ("unknown",)
    return estimate(trie, (*_parts_down_to(parent), *unknown)).worth


def _parts_down_to(part: str) -> tuple[str, ...]:
    if part == SITE:
        return (SITE,)
    path, mark, names = part.partition("?")
    parts = parts_of(path if path.count("/") > 2 else f"{path}/")
    if mark:
        parts = (*parts, f"{path}?")
    return (*parts, part) if names else parts


def expect(worth: SiteWorth, url: str, duplicates: int, prior: float = 1.0) -> Estimate:
    """Return the estimate for *url*, which *duplicates* pages without a new text lead to."""
    found = _expect_at_any_level(worth, url, duplicates, prior)
    is_shallow = len(worth.depths) < MIN_LEVELS
    return Estimate(found.worth) if is_shallow and found.low_part != ZONE else found


def _expect_at_any_level(worth: SiteWorth, url: str, duplicates: int, prior: float) -> Estimate:
    parts = parts_of(url)
    if not duplicates:
        return estimate(worth.of_new, parts, prior)
    # Another version of a manual is a copy that links to copies, and it has an end.
    min_growth = MIN_GROWTH if duplicates == 1 else 0.0
    found = estimate(worth.of_copies, parts, prior * COPIES_PRIOR, MIN_COPIES, min_growth)
    if found.low_part is None and judged_parts(worth.of_copies, parts)[0].endswith(OTHERS):
        # Nothing is known about the part. Even the links of pages with a new text may be worthless.
        of_new = estimate(worth.of_new, parts, prior)
        return of_new if of_new.low_part else found
    return found


def rank_worth(found: Estimate, worth: SiteWorth, position: str, depth: int) -> float:
    """Return the worth by which URLs of a host are ordered: that of the parts, the position of the
    link and the depth."""
    by_position = worth.positions.get(position)
    by_depth = worth.depths.get(str(depth))
    total, weight = 2 * found.worth, 2.0
    for counts in (by_position, by_depth):
        if counts is not None:
            total, weight = total + _mean(counts.new, counts.visits, found.worth), weight + 1
    return total / weight


def record_visit(
    worth: SiteWorth,
    url: str,
    duplicates: int,
    position: str,
    depth: int,
    new: float,
    is_thin: bool = False,
) -> None:
    """Count a first visit to *url* that brought *new* texts, from 0 to 1. *is_thin*: it counts as a
    new text in its parts, and as what it is in the budgets."""
    trie, totals = worth.trie(duplicates), worth.totals
    parts = parts_of(url)
    is_first_of_host = new > 0 and _has_no_text(worth, host_key(url))
    totals.thin += is_thin
    for part in _parts_to_count(trie, parts):
        is_own = part == parts[-1] or part.endswith(OTHERS)
        trie.setdefault(part, Counts()).add_visit(1.0 if is_thin else new, is_own)
    worth.positions.setdefault(position, Counts()).add_visit(new)
    worth.depths.setdefault(str(depth), Counts()).add_visit(new)
    _forget_least_visited(trie)
    _forget_least_visited(worth.depths)
    totals.visits += 1
    totals.new += new
    totals.new_hosts += is_first_of_host
    if new:
        totals.new_depth = max(totals.new_depth, depth)


def _has_no_text(worth: SiteWorth, host: HostKey) -> bool:
    return not any(host in trie and trie[host].new for trie in (worth.of_new, worth.of_copies))


def _parts_to_count(trie: Trie, parts: tuple[str, ...]) -> Iterator[str]:
    """Yield the parts that a visit to *parts* counts in. Where a child is new, the part for new
    children counts it, too."""
    before = None
    for part in parts:
        if before is not None and part not in trie:
            yield others_of(before)
            if cousins := cousins_of(before):
                yield cousins
        yield part
        before = part


def _forget_least_visited(trie: Trie) -> None:
    if len(trie) <= MAX_PARTS:
        return
    # A child has at most the visits of its parent, so no part is forgotten before its children.
    by_visits = sorted(trie, key=lambda part: (trie[part].visits, -len(part)))
    for part in by_visits[: MAX_PARTS // 4]:
        del trie[part]


def record_transfer(
    worth: SiteWorth, url: str, duplicates: int, received: int, seconds: float
) -> None:
    """Count the bytes *received* in *seconds* by a visit to *url*."""
    trie, totals = worth.trie(duplicates), worth.totals
    for part in parts_of(url):
        if counts := trie.get(part):
            counts.received += received
            counts.seconds += seconds
    totals.received += received
    totals.seconds += seconds


def record_links(worth: SiteWorth, page: str, duplicates: int, urls: list[tuple[str, int]]) -> None:
    """Count new links on *page*, whose own path has *duplicates* pages without a new text.

    *urls*: the new URLs of the site, each with its number of such pages. A link to another part
    counts for the page as a fraction of that part's worth, if the page had no new text.
    """
    trie, parts = worth.trie(duplicates), parts_of(page)
    gain = max(
        (expect(worth, url, copies).worth for url, copies in urls if _is_elsewhere(url, parts)),
        default=0.0,
    )
    is_copy = all(copies for _, copies in urls)
    for part in parts:
        if counts := trie.get(part):
            counts.links += len(urls)
            if is_copy and gain >= LOW_WORTH:
                counts.new = min(counts.visits, counts.new + LINK_WORTH * gain)
                if part == parts[-1]:
                    counts.own_new = min(counts.own_visits, counts.own_new + LINK_WORTH * gain)


def record_growth(worth: SiteWorth, urls: list[tuple[str, int]]) -> None:
    """Count a page that links to new *urls* of the site in each part that has one of them; each URL
    has its number of pages without a new text before it."""
    for trie, are_copies in ((worth.of_new, False), (worth.of_copies, True)):
        if not trie:
            continue
        found = [parts_of(url) for url, copies in urls if bool(copies) is are_copies]
        for part in {part for parts in found for part in _parts_to_count(trie, parts)}:
            if counts := trie.get(part):
                counts.growth += 1


def _is_elsewhere(url: str, parts: tuple[str, ...]) -> bool:
    """Return whether *url* is in another part than the page in *parts*, and not below it."""
    own = parts[-2] if "?" in parts[-1] else parts[-1]
    others = parts_of(url)
    return own not in others or (len(parts) == 2 and len(others) > 2)


def record_in_link(worth: SiteWorth, linking_site: Site, site: Site) -> None:
    """Count a link from a page of another site to *site*."""
    worth.totals.in_links = add_link(worth.totals.in_links, linking_site, site)


def record_page_in_links(worth: SiteWorth, in_links: Sketch) -> None:
    """Count the other sites that link to a page of the site, from their sketch *in_links*."""
    totals = worth.totals
    totals.page_in_links = max(totals.page_in_links, estimate_sites(in_links))


def forget(trie: Trie, part: str) -> None:
    """Forget the visits to *part*, which brings new texts again: it counts as new."""
    if counts := trie.get(part):
        trie[part] = Counts(PRIOR_VISITS, PRIOR_VISITS, PRIOR_VISITS, PRIOR_VISITS, counts.links)


def low_worth_reason(part: str, site: Site) -> str:
    """Return why URLs of *part* are parked, for people."""
    return f"the last visits to {describe_part(part, site)} brought hardly a new word"


def describe_part(part: str, site: str) -> str:
    """Return the name of a part of *site* for people."""
    if part == SITE:
        return site
    if part == ZONE:
        return "other sites of the same wildcard suffix or address"
    return f"other hosts of {site}" if part == OTHERS else part


def value_of_novelty(novelty: float) -> float:
    """Return how much of a new text a page is, of whose words the share *novelty* is new."""
    return min(1.0, max(0.0, (novelty - NO_NOVELTY) / (FULL_NOVELTY - NO_NOVELTY)))


_encoder, _decoder = msgpack.Encoder(), msgpack.Decoder(SiteWorth)


def pack_worth(worth: SiteWorth) -> bytes:
    """Return the counters as bytes for the store."""
    worth.unsaved = 0
    return _encoder.encode(worth)


def unpack_worth(packed: bytes) -> SiteWorth:
    """Return the counters that `pack_worth` packed; empty ones for b""."""
    return _decoder.decode(packed) if packed else SiteWorth()


def must_store(worth: SiteWorth) -> bool:
    """Return whether the counters have changed enough to be stored again.

    A site with many visits is stored at each sixteenth of them, so a crash forgets at most that.
    """
    return worth.unsaved > worth.totals.visits // 16
