"""Virtual visits to a web, by a policy through its real modules. For `bench.freshness`."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from random import Random

from bench.webs import DAY, Page, Web, internal_links
from gossamer.services.dedup.links import MAX_NEW_LINKS
from gossamer.services.frontier.revisit import (
    CrawlState,
    Evidence,
    Hint,
    Kind,
    PageState,
    Plan,
    Policy,
    SiteState,
    States,
    Visit,
)
from gossamer.services.frontier.revisit.price import next_token_at, refill_tokens, spend_token


class Freshness:
    """The freshness of all copies from *begin* to *end*."""

    def __init__(self, begin: float, end: float) -> None:
        self.begin, self.end = begin, end
        self.total = self.fresh = self.aged = 0.0

    def add(self, page: Page, visit: float, until: float) -> None:
        """Add a copy of *page* made at *visit* and replaced at *until*."""
        begin, until = max(visit, self.begin), min(until, self.end)
        if until <= begin:
            return
        later = bisect_right(page.changes, visit)
        changed = page.changes[later] if later < len(page.changes) else until
        stale = max(changed, begin)
        self.total += page.weight * (until - begin)
        self.fresh += page.weight * max(0.0, min(stale, until) - begin)
        if changed < until:
            self.aged += page.weight * ((until - changed) ** 2 - (stale - changed) ** 2) / 2

    @property
    def freshness(self) -> float:
        """The fraction of the time in which copies were fresh, weighted by page."""
        return self.fresh / self.total if self.total else 0.0

    @property
    def age(self) -> float:
        """The mean age of copies in days, over all time."""
        return self.aged / self.total / DAY if self.total else 0.0


@dataclass
class Result:
    """The result of a policy or of a plan."""

    freshness: float
    age: float
    visits: int
    lost_visits: int
    """Visits to pages that change too fast: the best constant rates never visit them."""
    first_day: float
    """Freshness in the first day, in which pages are discovered."""
    weeks: list[float]
    """Freshness by week from the start."""
    expected: float = 0.0
    """The freshness that the crawl itself estimates."""
    expected_age: float = 0.0
    """The mean age that the crawl itself estimates, in days."""


class Tally:
    """Freshness after the warm-up, in the first day, and by week."""

    def __init__(self, web: Web, warm: float, lost: set[str]) -> None:
        self._after = web.begin + warm * DAY
        self._whole = Freshness(self._after, web.end)
        weeks = int((web.end - web.begin) / (7 * DAY))
        self._weeks = [
            Freshness(web.begin + n * 7 * DAY, web.begin + (n + 1) * 7 * DAY) for n in range(weeks)
        ]
        self._first_day = Freshness(web.begin, web.begin + DAY)
        self._begin, self._lost = web.begin, lost
        self._visits = self._lost_visits = 0
        self._count = self._fresh = self._age = 0.0

    def expect(self, crawl: CrawlState, at: float) -> None:
        """Add the estimates of *crawl* at a time."""
        if at >= self._after and crawl.weights:
            self._count += 1
            self._fresh += crawl.fresh / crawl.weights
            self._age += crawl.age / crawl.weights

    def add(self, page: Page, visit: float, until: float) -> None:
        """Add a visit, and the copy that it made."""
        if visit >= self._after:
            self._visits += 1
            self._lost_visits += page.url in self._lost
        self._whole.add(page, visit, until)
        self._first_day.add(page, visit, until)
        first, last = (int((at - self._begin) / (7 * DAY)) for at in (visit, until))
        for week in self._weeks[max(0, first) : last + 1]:
            week.add(page, visit, until)

    def result(self) -> Result:
        """Return the result."""
        return Result(
            self._whole.freshness,
            self._whole.age,
            self._visits,
            self._lost_visits,
            self._first_day.freshness,
            [week.freshness for week in self._weeks],
            self._fresh / max(1.0, self._count),
            self._age / max(1.0, self._count),
        )


class Crawl:
    """A small frontier: due visits, one at a time a site, one token a visit."""

    def __init__(self, web: Web, policy: Policy, budget: float) -> None:
        self._web, self._policy = web, policy
        self._crawl = CrawlState(budget=budget)
        self._sites = {
            page.site: SiteState(limit=DAY / web.delays.get(page.site, 60.0)) for page in web.pages
        }
        self._pages = [PageState(weight=page.weight) for page in web.pages]
        self._links = [*internal_links(web)]
        self._free_at = dict.fromkeys(self._sites, 0.0)
        self._due: dict[str, list[tuple[float, int]]] = {site: [] for site in self._sites}
        self._hosts: list[tuple[float, str]] = []
        self._listed: dict[str, float] = {}
        self._of_site: dict[str, list[int]] = {}
        self._listed_by: dict[str, list[int]] = {}
        for number, page in enumerate(web.pages):
            if page.site in web.sitemaps:
                self._of_site.setdefault(page.site, []).append(number)
            if page.site in web.lists:
                self._listed_by.setdefault(page.site, []).append(number)
        self._random = Random(1)

    def run(self, tally: Tally) -> Result:
        """Make all visits; return their result."""
        web = self._web
        last = [0.0] * len(web.pages)
        for at, number in self.visits():
            if last[number]:
                tally.add(web.pages[number], last[number], at)
            last[number] = at
            tally.expect(self._crawl, at)
        for page, at in zip(web.pages, last, strict=True):
            if at:
                tally.add(page, at, web.end)
        return tally.result()

    def visits(self) -> Iterator[tuple[float, int]]:
        """Yield time and page of each visit: at first when the page is discovered, then as
        planned."""
        found = sorted((page.first, n) for n, page in enumerate(self._web.pages))
        read = [(self._web.begin + DAY, site) for site in sorted(self._of_site)]
        now, reading, finding = self._web.begin, 0, 0
        while now < self._web.end:
            now = self._next_at(now)
            if finding < len(found) and found[finding][0] <= now:
                now, number = found[finding]
                finding += 1
            elif read and read[reading][0] <= now:
                now, site = read[reading]
                self._read_sitemap(site, now)
                read[reading] = (now + DAY, site)
                reading = (reading + 1) % len(read)
                continue
            elif now < self._web.end:
                number = self._most_overdue(now)
                if self._is_left_out(number, now):
                    continue
                self._crawl = spend_token(self._crawl)
                site = self._web.pages[number].site
                self._free_at[site] = now + self._web.delays.get(site, 60.0)
                self._list(site)
            else:
                return
            yield now, number
            self._visit(number, now)

    def _next_at(self, now: float) -> float:
        """Return the time at which the next planned visit is due, permitted and within the
        budget."""
        self._crawl = refill_tokens(self._crawl, now)
        while self._hosts:
            at, site = self._hosts[0]
            if self._listed[site] == at:
                return max(now, at, next_token_at(self._crawl))
            heappop(self._hosts)
        return self._web.end

    def _list(self, site: str) -> None:
        """Add *site* to the queue at the time of its first due page."""
        due = self._due[site]
        at = max(due[0][0], self._free_at[site]) if due else self._web.end
        if self._listed.get(site) != at:
            self._listed[site] = at
            heappush(self._hosts, (at, site))

    def _most_overdue(self, now: float) -> int:
        _, site = self._hosts[0]
        self._crawl = refill_tokens(self._crawl, now)
        _, number = heappop(self._due[site])
        self._list(site)
        return number

    def _is_left_out(self, number: int, now: float) -> bool:
        """Return whether the policy skips a due visit and makes another plan."""
        page, state = self._web.pages[number], self._pages[number]
        states = States(state, self._sites[page.site], self._crawl)
        if decision := self._policy.at_due(states, page.url, now):
            self._keep(number, *decision)
        return decision is not None

    def _visit(self, number: int, now: float) -> None:
        page, state = self._web.pages[number], self._pages[number]
        seen = bisect_right(page.changes, state.at)
        changed = bool(state.visits) and seen < bisect_right(page.changes, now)
        states = States(state, self._sites[page.site], self._crawl)
        visit = Visit(
            page.url,
            now,
            changed,
            evidence=self._last_modified(page, now),
            internal_links=self._links[number],
        )
        self._keep(number, *self._policy.record_visit(states, visit))
        of_site = self._listed_by.get(page.site, [])
        if changed and number in of_site[:1]:
            self._read_links(of_site[1:], state.at, now)

    def _read_links(self, numbers: list[int], since: float, now: float) -> None:
        """Read a site's first page: its new links since the last visit are hints."""
        site = self._web.pages[numbers[0]].site
        new = [n for n in numbers if self._has_changed(n, since, now)][:MAX_NEW_LINKS]
        if not self._web.lists[site]:
            new = self._random.sample(numbers, 3)
        for number in new:
            state = self._pages[number]
            if state.visits:
                hint = Hint(self._web.pages[number].url, now, Evidence(Kind.LINK, now))
                states = States(state, self._sites[site], self._crawl)
                self._keep(number, *self._policy.record_hint(states, hint))

    def _has_changed(self, number: int, since: float, now: float) -> bool:
        changes = self._web.pages[number].changes
        return bisect_right(changes, now) > bisect_right(changes, since)

    def _last_modified(self, page: Page, now: float) -> tuple[Evidence, ...]:
        if page.site not in self._web.sitemaps:
            return ()
        return (Evidence(Kind.LAST_MODIFIED, self._date_of(page, now)),)

    def _date_of(self, page: Page, now: float) -> float:
        """Return the Last-Modified date of *page*; its site may lie."""
        if not self._web.sitemaps[page.site]:
            return now
        changes = bisect_right(page.changes, now)
        return page.changes[changes - 1] if changes else page.first - DAY

    def _read_sitemap(self, site: str, now: float) -> None:
        """Read a site's sitemap: pages that changed since their last visit are hints."""
        for number in self._of_site[site]:
            page, state = self._web.pages[number], self._pages[number]
            if not state.visits:
                continue
            hint = Hint(page.url, now, Evidence(Kind.SITEMAP, self._date_of(page, now)))
            states = States(state, self._sites[site], self._crawl)
            self._keep(number, *self._policy.record_hint(states, hint))

    def _keep(self, number: int, states: States, plan: Plan) -> None:
        site = self._web.pages[number].site
        before = self._pages[number].due_at
        self._pages[number], self._sites[site], self._crawl = states
        due = self._due[site]
        if plan.at != before or not states.page.due_at:
            due[:] = [entry for entry in due if entry[1] != number]
            if plan.at is not None:
                due.append((plan.at, number))
            due.sort()
        self._list(site)
