"""The totals of each day in a partition, from which `gossamer report` is made.

The counts of the present day, of bounded size, are in the row of all totals of the crawl in the
partition (`tally.py`), which is written together with the hosts. At the end of the day they get a
row of their own, also if the frontier was down then.
Totals of a longer time are sums over days. A site is counted at the first hazard of a kind that it
meets, so that the sums count it once, too. A site is *productive* while most of its last pages had
new texts: URLs that a limit stops there were probably worth a visit.
"""

from collections.abc import Callable, Collection, Iterable
from enum import StrEnum
from typing import NamedTuple

from msgspec import field

from gossamer.events import Outcome, PageDeduplicated, Purpose, Verdict, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES
from gossamer.services.frontier.tables.harvest import has_new_text
from gossamer.services.frontier.tables.totals import Totals, add, copy, count
from gossamer.store import ColumnGroup, Row, Store
from gossamer.web.url import Site


class Downloads(NamedTuple):
    """Responses of one kind."""

    responses: int = 0
    received: int = 0
    """Bytes of their bodies, as received."""


class HazardCount(NamedTuple):
    """How often a hazard was met on a day."""

    urls: int = 0
    """URLs that met it. A retried or revisited URL may count again."""
    sites: int = 0
    """Sites that met it for the first time."""
    productive_urls: int = 0
    """URLs that met it, of sites whose last pages mostly had new texts."""
    links: int = 0
    """Links that were parked because of it. A link counts on each page."""
    productive_links: int = 0
    """Parked links on pages of sites whose last pages mostly had new texts."""


class HazardExample(NamedTuple):
    """A URL that met a hazard."""

    url: str
    site: Site


class FreshnessSums(ColumnGroup, frozen=True):
    """The sums from which the expected freshness of a crawl's copies is computed, at one time."""

    planned: int = 0
    """URLs with a plan."""
    pages: float = 0.0
    """Visited pages."""
    unseen: float = 0.0
    """Pages that were visited once, so that nothing is known about their changes."""
    weights: float = 0.0
    """The sum of the weights of pages with planned visits."""
    fresh: float = 0.0
    """The sum of weights times expected freshness."""
    age: float = 0.0
    """The sum of weights times expected age in days."""


class DailyTallyRow(Totals, omit_defaults=True):  # type: ignore[misc]
    """Totals of a crawl in a partition on a day that is over, for `gossamer report`."""

    table = "daily_tallies"
    partition_key, sort_key = ("crawl", "partition"), "at"
    kept_for, aged_by = "frontier.report_age", "at"
    about = ()

    crawl: str
    partition: str
    at: float
    """The beginning of the day, in UTC. A count belongs to the day on which the frontier made it.
    """
    admitted: int = 0
    """URLs that were admitted, without sitemaps."""
    refused: dict[str, int] = field(default_factory=dict)
    """Rule → URLs that it refused."""
    sites: int = 0
    """Sites whose first URL was admitted or met a hazard on the day."""
    visits: int = 0
    """Visits that sent a request."""
    pages: int = 0
    """Visits that ended with a page."""
    shared: int = 0
    """Pages that were taken from another crawl, without a request."""
    statuses: dict[str, Downloads] = field(default_factory=dict)
    """Status code → responses. Visits without a response are under their outcome, and rare statuses
    under `other`."""
    requisites: Downloads = Downloads()
    """Responses to visits to requisites. They are in no other count of visits."""
    types: dict[str, Downloads] = field(default_factory=dict)
    """Media type → 2xx responses, without robots.txt files. Rare types are under `other`."""
    verdicts: dict[str, int] = field(default_factory=dict)
    """Verdict → pages."""
    new_texts: int = 0
    """Pages whose text no other page had before, and changed pages. Listings do not count."""
    hazards: dict[str, HazardCount] = field(default_factory=dict)
    """Hazard → how often it was met."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Stage of a visit (`gossamer.services.frontier.totals.daily.Stage`) → seconds of all visits
    together."""
    freshness: FreshnessSums = FreshnessSums()
    """The sums after the last count of the day. They do not add up over days."""


class HazardExamplesRow(Row, frozen=True):
    """A few URLs of a partition that met a hazard, for `gossamer report`."""

    table = "hazard_examples"
    partition_key, sort_key = ("crawl", "partition"), "hazard"
    about = ("urls",)

    crawl: str
    partition: str
    hazard: str
    at: float
    """When the newest example was added."""
    urls: tuple[HazardExample, ...] = ()
    """The newest example first."""


DAY = 86400.0
MAX_STATUSES = 40
MAX_TYPES = 40
"""Status codes and media types that are counted separately on a day."""
MAX_TYPE_LENGTH = 80
"""Characters of a media type that is counted separately."""
OTHER = "other"
MAX_EXAMPLES = 3
"""Example URLs of a hazard in a partition."""
MAX_LATEST_PAGES = 8
"""The last pages of a site that decide whether it is productive."""
MIN_LATEST_PAGES = 4
COPY_VERDICTS = frozenset({Verdict.DUPLICATE, Verdict.NEAR_DUPLICATE})


class Stage(StrEnum):
    """What the time of a visit was spent on."""

    DNS = "dns"
    LIMITED = "limited"
    CONNECT = "connect"
    FIRST_BYTE = "first_byte"
    BODY = "body"
    PARSE = "parse"
    DEDUP = "dedup"
    VISIT = "visit"
    """The whole request: from `connect` to `body`, with the wait for limiters in between."""
    DELAY = "delay"
    """The courtesy delay of a host that had more URLs."""


def note_page(latest: tuple[bool, ...], event: PageDeduplicated) -> tuple[bool, ...]:
    """Return *latest*, of the last pages of a site, with the page of *event* if it tells whether
    the site has new texts."""
    if event.visit.purpose is not Purpose.PAGE:
        return latest
    is_new = has_new_text(event)
    if not is_new and event.verdict not in COPY_VERDICTS:
        return latest
    return (*latest[1 - MAX_LATEST_PAGES :], is_new)


def is_productive(latest: Collection[bool]) -> bool:
    """Return whether most of the *latest* pages of a site had new texts."""
    return len(latest) >= MIN_LATEST_PAGES and 2 * sum(latest) > len(latest)


def day_of(now: float) -> float:
    """Return the start of the day of *now*, in epoch seconds."""
    return now // DAY * DAY


class DailyTally:
    """The totals of the present day, and the examples of hazards."""

    def __init__(
        self, crawl: str, partition: str, store: Store, now: float, last: DailyTallyRow | None
    ) -> None:
        """*last*: the day that was counted last, which may be over."""
        self._example_rows = store.table(HazardExamplesRow)
        self._keys = crawl, partition
        self._examples = {row.hazard: row for row in self._example_rows.scan(self._keys)}
        self._now, self.is_closed = now, False
        """`is_closed`: whether nothing is stored any more, because the crawl is removed."""
        self._rows, self.freshness = store.table(DailyTallyRow), FreshnessSums()
        """`freshness`: the present sums, which the row gets when counts are written."""
        self.row = last or self._read_day(day_of(now))
        self.open_day(now)

    def _read_day(self, at: float) -> DailyTallyRow:
        found = self._rows.get(self._keys, at)
        return copy(found) if found else DailyTallyRow(*self._keys, at)

    @property
    def row_if_any(self) -> DailyTallyRow | None:
        """The row of the day; None if nothing was counted yet."""
        return self.row if self.row != DailyTallyRow(*self._keys, self.row.at) else None

    def open_day(self, now: float) -> None:
        """Count what follows on the day of *now*. Put the day before into the store."""
        self._now = now
        if not 0 <= now - self.row.at < DAY:
            if self.row_if_any and not self.is_closed:
                self._rows.put(self.row)
            self.row = self._read_day(day_of(now))

    def count_admitted(self, urls: int) -> None:
        """Count *urls* that were admitted."""
        self.row.admitted += urls

    def count_refused(self, rule: Hazard) -> None:
        """Count a URL that *rule* refuses."""
        count(self.row.refused, rule, 1)

    def count_site(self) -> None:
        """Count a site with its first URL."""
        self.row.sites += 1

    def count_visit(self, event: VisitEnded) -> None:
        """Count a visit that ended: its response, and the time that it took. A shared visit is a
        page without a response."""
        if event.visit.shared:
            self.row.pages += 1
            self.row.shared += 1
            return
        if event.visit.purpose is Purpose.REQUISITE:
            if event.started_at:
                self.row.requisites = add(self.row.requisites, Downloads(1, event.received))
            return
        if event.started_at:
            self.row.visits += 1
            self._add_seconds(Stage.VISIT, event.took)
        if event.status or event.started_at or OUTCOMES[event.outcome].health.is_failing:
            name = str(event.status or event.outcome)
            _add_download(self.row.statuses, name, event.received, MAX_STATUSES)
        self.row.pages += event.outcome is Outcome.PAGE and event.visit.purpose is Purpose.PAGE
        if event.content_type and event.visit.purpose.is_read:
            name = event.content_type if len(event.content_type) <= MAX_TYPE_LENGTH else OTHER
            _add_download(self.row.types, name, event.received, MAX_TYPES)
        timing = event.timing
        self._add_seconds(Stage.DNS, timing.dns)
        self._add_seconds(Stage.LIMITED, timing.limited)
        self._add_seconds(Stage.CONNECT, timing.connect)
        self._add_seconds(Stage.FIRST_BYTE, timing.first_byte)
        self._add_seconds(Stage.BODY, timing.body)

    def count_verdict(self, event: PageDeduplicated) -> None:
        """Count a verdict, and the time that led to it."""
        count(self.row.verdicts, event.verdict, 1)
        is_page = event.visit.purpose is Purpose.PAGE
        self.row.new_texts += is_page and has_new_text(event)
        self._add_seconds(Stage.PARSE, event.parse_seconds)
        self._add_seconds(Stage.DEDUP, event.dedup_seconds)

    def count_delay(self, seconds: float) -> None:
        """Count the *seconds* that a host with more URLs waits for its courtesy delay."""
        self._add_seconds(Stage.DELAY, seconds)

    def count_hazards(
        self,
        url: str,
        site: Site,
        hazards: Iterable[str],
        first: Collection[str],
        productive: bool,
    ) -> None:
        """Count the *hazards* that *url* met. The site meets the hazards *first* for the first
        time; *productive*: most of its last pages had new texts."""
        for name in hazards:
            met = HazardCount(urls=1, sites=int(name in first), productive_urls=int(productive))
            count(self.row.hazards, name, met)
            self.add_example(name, HazardExample(url, site))

    def count_parked(self, hazard: Hazard, links: int, first: bool, productive: bool) -> None:
        """Count *links* of a page that are parked because of *hazard*.

        *first* and *productive* are as in `count_hazards`.
        """
        met = HazardCount(sites=int(first), links=links, productive_links=links * productive)
        count(self.row.hazards, hazard, met)

    def _add_seconds(self, stage: Stage, seconds: float) -> None:
        if seconds:
            count(self.row.seconds, stage, seconds)

    def add_example(self, hazard: str, example: HazardExample) -> None:
        """Add *example* if there is space, or if it is of another site than the examples. Once a
        day, the newest example replaces the oldest."""
        keys = *self._keys, hazard
        row = self._examples.get(hazard) or HazardExamplesRow(*keys, self._now)
        sites = {one.site for one in row.urls}
        is_old = self._now - row.at >= DAY
        is_full = len(row.urls) == MAX_EXAMPLES
        if is_full and not is_old and (example.site in sites or len(sites) == MAX_EXAMPLES):
            return
        others = [one for one in row.urls if one.url != example.url]
        if len(others) == MAX_EXAMPLES:
            repeated = [one for one in others if [two.site for two in others].count(one.site) > 1]
            others.remove((repeated or others)[-1])
        row = HazardExamplesRow(*keys, self._now, (example, *others))
        self._examples[hazard] = row
        self._put_example(row)

    def remove_examples(self, is_removed: Callable[[str], bool]) -> None:
        """Remove the examples for whose URLs or sites *is_removed* returns True."""
        for hazard, row in [*self._examples.items()]:
            left = row.without(is_removed)
            if left and left is not row:
                self._examples[hazard] = left
                self._put_example(left)

    def _put_example(self, row: HazardExamplesRow) -> None:
        if not self.is_closed:
            self._example_rows.put(row)

    def drop(self) -> None:
        """Drop the rows of all days, and all examples."""
        self._rows.drop(self._keys)
        self._example_rows.drop(self._keys)


def _add_download(
    downloads: dict[str, Downloads], name: str, received: int, max_names: int
) -> None:
    if name not in downloads and len(downloads) >= max_names:
        name = OTHER
    count(downloads, name, Downloads(1, received))
