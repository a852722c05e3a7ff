"""Sentences that the pages of the console make, in states of a crawl: each claim is true there.

`VISITS` are pages in states, most of which are those of the table for the commands. `CLAIMS` are
phrases that may occur on the pages only if a fact holds. The API answers in this process, at the
virtual time of the state, which the browser has too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from playwright.async_api import Browser, Page, Route

from gossamer import clock
from gossamer.console.api.lags import LagSampler
from gossamer.crawl import blocklist_of
from gossamer.events import (
    BlocklistChanged,
    ChangeRecorded,
    CrawlDefined,
    DeadLetter,
    Outcome,
    Speed,
    SpeedSet,
)
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import FAILURES
from gossamer.inspection.answers.failures import read_failure_groups
from gossamer.inspection.answers.host_details import read_queue
from gossamer.inspection.answers.overview import read_overview
from gossamer.inspection.answers.robots import read_robots
from gossamer.inspection.basics.lag_times import read_offsets
from gossamer.inspection.crawls.audit import ChangeFilter, read_changes
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.crawls.dead_letters import iterate_letters
from gossamer.inspection.crawls.erasures import read_erasures
from gossamer.inspection.hosts.host_index import IndexPage
from gossamer.inspection.hosts.hosts import Host, HostQuery, read_host, read_hosts
from gossamer.inspection.hosts.parts import read_parts
from gossamer.inspection.progress.progress import read_progress
from gossamer.inspection.progress.report import Report, read_report
from gossamer.inspection.progress.status import read_status
from gossamer.inspection.urls.urls import UrlExplanation, UrlState, explain_url
from gossamer.policies import DAY, NEVER
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.robots.reader import parse_robots
from tests.console.served import BASE, TOKEN, make_api
from tests.frontier.simulation import START
from tests.inspection.test_sentences import DEEP, HOST, SITE, STATES, URL, State

from .console import PATIENCE

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="session")]

OF_HOST, OF_URL, OF_DEEP = f"host?host={HOST}", f"url?url={URL}", f"url?url={DEEP}"
OTHER = "crawl=other"
"""The part of a route that names the second crawl."""
BUTTONS = ("Fetch now", "Fetch again", "Retry", "Block")
"""Buttons whose dialogs say what happens to a URL or a host."""
PRESSED = {"paused", "blocked", "backing off", "missing", "revisits of a removed crawl"}
"""States in which these buttons are pressed."""
READ_PAGE = """() => document.querySelector("main:not([aria-busy]) h1")
  && ![...document.querySelectorAll("main .hint")].some((one) => one.textContent === "Loading…")
  && document.querySelector("main").innerText"""


def limited(**limit: Any) -> State:
    """Return a crawl with a limit of the speed."""
    return State(control=(SpeedSet(at=START, speeds=(Speed(**limit),)),))


def long_robots(url: str) -> dict[str, object]:
    """Return a robots.txt whose last line of 250 disallows the last URL."""
    lines = [*(f"Disallow: /{number}x" for number in range(249)), "Disallow: /deep"]
    text = "\n".join(("User-agent: *", *lines))
    file = parse_robots(text.encode(), "gossamer", START, 86400.0)
    return {"robots": file.rules} if url.endswith("/robots.txt") else {}


def flawed(url: str) -> dict[str, object]:
    """Return a page whose body lacks its end."""
    return {} if url.endswith("/robots.txt") else {"hazards": (Hazard.CUT_SHORT,)}


def change_of(crawl: str) -> ChangeRecorded:
    return ChangeRecorded(
        crawl=crawl, at=START, id="1", actor="ann", source="api", action="pause", subject=crawl
    )


LETTER = DeadLetter(
    at=START, service="parser", topic="pages.fetched", partition=0, offset=7, key="k",
    reason="a fault", value=b"v",
)  # fmt: skip
SECOND = CrawlDefined(crawl="other", at=START, scope="any()", max_depth=16)
OWN_STATES = {
    "long robots.txt": State(answer=long_robots),
    "flawed pages": State(answer=flawed),
    "limit of bytes": limited(when="", bytes=1e6),
    "limit within an hour": limited(when="22:15-22:45", pages=1.0),
    "blocked network": State(control=(BlocklistChanged(at=START, rule="192.0.2.0/24"),)),
    "dead letter": State(control=(LETTER,)),
    "change": State(control=(change_of("default"),)),
    "two crawls": State(control=(SECOND, change_of("default"))),
    "removed second crawl": State(
        control=(CrawlDefined(crawl="other", at=START, scope="any()", max_depth=16, removed=True),
                 change_of("other")),
    ),
}  # fmt: skip
VISITS = {
    "nothing queued yet": (
        "overview",
        OF_URL,
        "report",
        "speed",
        "audit",
        "dead-letters",
        "erasures",
    ),
    "first visit running": ("overview", OF_HOST, f"site?site={SITE}"),
    "in its delay": ("overview", OF_HOST, f"site?site={SITE}", OF_URL, "blocklist"),
    "backing off": ("overview", OF_HOST, f"site?site={SITE}", "failures"),
    "paused": ("overview", OF_HOST, OF_URL),
    "blocked": (OF_HOST, OF_URL, "failures", "blocklist"),
    "missing": ("overview", "failures", f"site?site={SITE}", OF_URL, "report"),
    "too deep": ("overview", "failures", OF_DEEP),
    "refused by low_worth": (OF_DEEP,),
    "duplicate": (OF_DEEP,),
    "erased": (OF_DEEP,),
    "finished": ("overview", OF_HOST, f"site?site={SITE}", OF_URL),
    "good pages": ("overview", f"site?site={SITE}"),
    "revisits": ("overview", OF_URL),
    "revisits due under a budget, and stopped": ("overview", OF_URL),
    "revisits of a removed crawl": ("overview", OF_URL),
    "revisits ended by the policy": ("overview", OF_URL),
    "flawed pages": ("failures",),
    "page limit": ("overview",),
    "long robots.txt": (f"{OF_HOST}&url={DEEP}",),
    "limit of bytes": ("overview", "speed"),
    "limit within an hour": ("speed",),
    "blocked network": ("blocklist",),
    "dead letter": ("dead-letters", "dead-letters?service=frontier"),
    "change": ("audit", "audit?actor=bob"),
    "two crawls": (f"{OF_HOST}&{OTHER}", f"audit?{OTHER}"),
    "removed second crawl": ("audit",),
}  # fmt: skip
"""Name of a state → the pages that are opened in it."""


@dataclass(frozen=True)
class Shown:
    """A page in a state, and the facts about the crawl that it is about."""

    crawl: OpenCrawl
    now: float
    route: str

    def visited(self) -> list[UrlRow]:
        """Return the rows of the visited URLs of the crawl."""
        rows = self.crawl.store().table(UrlRow).everything()
        return [row for row in rows if row.crawl == self.crawl.id and (row.earlier or row.attempt)]

    def has_fetched(self) -> bool:
        """Return whether a page was fetched in the last day."""
        pages = (row for row in self.visited() if row.outcome == Outcome.PAGE)
        return any(row.at > self.now - DAY for row in pages)

    def has_compared(self) -> bool:
        """Return whether a page of the last day was compared with other texts."""
        hours = read_status(self.crawl).progress.hours
        return any((int(hour) + 1) * 3600.0 > self.now - DAY for hour in hours)

    def count_failed(self) -> int:
        outcomes = read_status(self.crawl).progress.outcomes
        return sum(outcomes[outcome] for outcome in FAILURES)

    def count_refused(self) -> int:
        return sum(read_status(self.crawl).progress.refused.values())

    def count_visits(self) -> int:
        """Return the visits of all crawls, to a robots.txt too."""
        progress = read_progress(self.crawl, self.crawl.crawls())
        return sum(progress.outcomes.values())

    def host(self) -> Host:
        found = read_host(self.crawl, HOST)
        assert found
        return found

    def definition(self) -> CrawlDefined:
        found = self.crawl.definition()
        assert found
        return found

    def speeds(self) -> tuple[Speed, ...]:
        return read_status(self.crawl).speed.speeds

    def url(self) -> UrlExplanation:
        return explain_url(self.crawl, self.route.partition("=")[2])

    def report(self) -> Report:
        return read_report(self.crawl)

    def was_visited(self) -> bool:
        """Return whether the URL of the page was visited."""
        visit = self.url().visit
        return visit is not None and visit.was_visited

    def is_retried(self) -> bool:
        """Return whether a retry would have an effect."""
        if self.route.startswith("url"):
            return self.url().state is UrlState.FAILED
        return self.host().condition is Condition.BACKING_OFF

    def is_visited(self) -> bool:
        """Return whether a request for a visit would be followed by one."""
        is_idle = self.definition().paused or self.definition().removed
        return not is_idle and not blocklist_of(self.crawl.log).of_url(URL)


CLAIMS: dict[str, Callable[[Shown], bool]] = {
    r"^No page in the last 24 hours": lambda shown: not shown.has_fetched(),
    r"^No new, changed or unchanged page in the last 24": lambda shown: not shown.has_compared(),
    r"^Pages an hour \(UTC\)": Shown.has_compared,
    r"[Nn]eeds planned revisits": lambda shown: (
        read_overview(shown.crawl).expected_freshness is None
    ),
    r"known (when|until) most pages": lambda shown: shown.definition().revisit != NEVER,
    r"no URL was refused": lambda shown: (
        explain_url(shown.crawl, DEEP).state not in (UrlState.PARKED, UrlState.REFUSED)
    ),
    r"^No failure is counted": lambda shown: not shown.count_failed(),
    r"^Failed visits and refused": lambda shown: shown.count_failed() + shown.count_refused() > 0,
    r"^Failed visits, flawed pages": lambda shown: bool(read_failure_groups(shown.crawl)),
    r"^fixed:1h": lambda shown: shown.definition().revisit == "fixed:1h",
    r"^No host yet": lambda shown: not read_hosts(shown.crawl),
    r"^No service has consumed": lambda shown: not any(read_offsets(shown.crawl.log).values()),
    r"no limit of pages": lambda shown: (
        not shown.definition().max_pages and all(one.pages is None for one in shown.speeds())
    ),
    r"no limit of pages, visits or speed|^No limit at any time": lambda shown: not shown.speeds(),
    r" now, until ": lambda shown: any(one.when for one in shown.speeds()),
    r"^No (part|visit|response).* yet\.": lambda shown: not shown.count_visits(),
    r"^No visit to show": lambda shown: not shown.count_visits(),
    r"^None is counted": lambda shown: not shown.report().statuses or not shown.report().types,
    r"^None was met": lambda shown: not any(one.is_met for one in shown.report().hazards),
    r"^No day of this period": lambda shown: not shown.report().days,
    r"^No first visit is counted": lambda shown: not read_parts(shown.crawl, SITE).visits,
    r"^No visit to a URL of this crawl is stored": lambda shown: not shown.visited(),
    r"^No visit is stored": lambda shown: not shown.was_visited(),
    r"^No visit is in its history": lambda shown: not shown.url().history,
    r"^Last visit$": Shown.was_visited,
    r"^Refused$": lambda shown: shown.route == "report" or not shown.was_visited(),
    r"^Planned for$": lambda shown: not shown.definition().removed,
    r"^robots.txt was not read yet": lambda shown: not shown.host().visits,
    r"^Nothing is queued\.": lambda shown: not shown.host().queued,
    r"^Nothing of this crawl is queued": lambda shown: not [*read_queue(shown.crawl, HOST).items],
    r"every record was read": lambda shown: False,
    r"^There are no dead letters": lambda shown: not [*iterate_letters(shown.crawl.log)],
    r"^No dead letter matches": lambda shown: bool([*iterate_letters(shown.crawl.log)]),
    r"^No change is recorded": lambda shown: not read_changes(shown.crawl, ChangeFilter()).items,
    r"^No change matches": lambda shown: bool(read_changes(shown.crawl, ChangeFilter()).items),
    r"^Nothing was erased": lambda shown: not read_erasures(shown.crawl),
    r"← decides": lambda shown: not read_robots(shown.crawl, DEEP).allowed,
    r"^201 of 250 lines shown": lambda shown: read_robots(shown.crawl, HOST).summary.rules == 250,
    r"^The running crawl visits them": Shown.is_retried,
    r"^Nothing is retried": lambda shown: not shown.is_retried(),
    r"^Nothing is blocked": lambda shown: not blocklist_of(shown.crawl.log).rules,
    r"^No rule forbids it\.": lambda shown: not blocklist_of(shown.crawl.log).rules,
    r"^No rule forbids it, unless": lambda shown: not blocklist_of(shown.crawl.log).of_url(URL),
    r"^It is (visited before|queued again, and is visited)": Shown.is_visited,
    r"failed URLs are queued": lambda shown: False,
    r"queued URLs are skipped": lambda shown: False,
    r"its backoff ends|it is retried now": lambda shown: (
        shown.host().condition is Condition.BACKING_OFF
    ),
}
"""Phrase → whether it is true on a page."""
UNTRUE = {
    r"^No page in the last 24 hours",
    r"known (when|until) most pages",
    r"no URL was refused",
    r"^Failed visits and refused",
    r"^No (part|visit|response).* yet\.",
    r"^No visit is stored",
    r"every record was read",
    r"^No rule forbids it\.",
    r"^It is (visited before|queued again, and is visited)",
    r"failed URLs are queued",
    r"queued URLs are skipped",
}
"""Claims that are false in one of the states, so that no page makes them."""


class Api:
    """The API of the console, on a crawl that is open in this process."""

    def __init__(self, data: Path) -> None:
        self.crawl: OpenCrawl
        app: Any = make_api(data)
        self._state = app.state
        lane = SimpleNamespace(read=self._read)
        app.state.readers = SimpleNamespace(points=lane, scans=lane)
        app.state.hosts = SimpleNamespace(search=self._search)
        self._client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app=app),
            base_url=BASE,
            headers={"Authorization": f"Bearer {TOKEN}"},
        )

    def show(self, crawl: OpenCrawl) -> None:
        """Answer with *crawl* from now on."""
        self.crawl = crawl
        self._state.lags = LagSampler()

    async def _read(self, read: Callable[[OpenCrawl], Any]) -> Any:
        return read(self.crawl)

    async def _search(
        self, reader: Any, query: HostQuery, after: str | None, limit: int
    ) -> IndexPage[Host]:
        found = tuple(read_hosts(self.crawl, query, limit))
        return IndexPage(items=found, next=None, total=len(found))

    async def answer(self, route: Route) -> None:
        """Answer a request of the browser."""
        request = route.request
        if "/v1/live?" in request.url:
            await route.abort()  # The stream would not end.
            return
        kind = request.headers.get("content-type", "")
        found = await self._client.request(
            request.method,
            request.url,
            content=request.post_data_buffer,
            headers={"Content-Type": kind} if kind else {},
        )
        await route.fulfill(
            status=found.status_code, headers=dict(found.headers), body=found.content
        )


def open_state(name: str) -> tuple[OpenCrawl, float]:
    """Return the crawl of a state, which may be one of several, and the time."""
    return (OWN_STATES.get(name) or STATES[name]).open()


async def read_page(page: Page, route: str, is_pressed: bool) -> list[str]:
    """Return the lines of a page, and with *is_pressed* of the dialogs of its buttons."""
    await page.evaluate("document.querySelector('main')?.replaceChildren()")
    await page.goto(f"{BASE}/#/{route}")
    if route == "blocklist":
        await page.get_by_label("Is this URL blocked?").fill(URL)
        await page.get_by_role("button", name="Check").click()
        await page.wait_for_function("() => document.querySelector('form [role=status]').innerText")
    text = await (await page.wait_for_function(READ_PAGE)).json_value()
    texts = [str(text)]
    if is_pressed and route.startswith(("host?", "url?")):
        texts += [await read_dialog(page, name) for name in BUTTONS]
    return [line for text in texts for line in text.splitlines()]


async def read_dialog(page: Page, name: str) -> str:
    """Return the text of the dialog of a button; "" if the page has no such button."""
    button = page.get_by_role("main").get_by_role("button", name=name, exact=True)
    if not await button.count():
        return ""
    await button.click()
    dialog = page.get_by_role("dialog")
    await dialog.locator(".effect p").first.wait_for()
    text = await dialog.inner_text()
    await page.keyboard.press("Escape")
    await dialog.wait_for(state="detached")
    return text


async def test_sentences_of_pages_are_true_in_each_state(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, api = {name: open_state(name) for name in VISITS}, Api(tmp_path)
    false, made = list[str](), set[str]()
    context = await browser.new_context()
    try:
        await context.route("**/*", api.answer)
        page = await context.new_page()
        page.set_default_timeout(PATIENCE)
        for name, routes in VISITS.items():
            crawl, now = opened[name]
            api.show(crawl)
            monkeypatch.setattr(clock, "now", lambda now=now: now)
            await page.clock.set_fixed_time(now)
            # The console reads the list of crawls when it is opened.
            await page.goto("about:blank")
            for route in routes:
                shown = Shown(crawl.of("other" if OTHER in route else "default"), now, route)
                for line in await read_page(page, route, name in PRESSED):
                    claims = [claim for claim in CLAIMS if re.search(claim, line)]
                    made.update(claims)
                    false += [
                        f"{name}: {route}: {line}" for one in claims if not CLAIMS[one](shown)
                    ]
    finally:
        await context.close()
    assert not false, "\n".join(false)
    assert CLAIMS.keys() - made == UNTRUE
