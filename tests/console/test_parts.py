"""`gossamer sites SITE` and `gossamer release`: the parts of a site, and their parked URLs."""

from gossamer.events import DEFAULT_CRAWL, ReleaseRequested
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import HostCrawl, HostRow, HostTotals, NewQueues
from gossamer.services.frontier.tables.sites import (
    ParkedPart,
    ParkedPartsRow,
    SiteCrawl,
    SiteRow,
    SiteWorthRow,
)
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.services.frontier.worth.worth import (
    SiteWorth,
    low_worth_reason,
    pack_worth,
    record_links,
    record_visit,
)
from gossamer.web.url import HostKey, Site
from tests.console.gossamer import Gossamer

SITE, HOST = Site("a.example"), HostKey("http://a.example")
CALENDAR = f"{HOST}/calendar/"


def store_site(command: Gossamer) -> None:
    """Store a site with a parked calendar, and with URLs over its budget."""
    worth = SiteWorth()
    for n in range(20):
        record_visit(worth, f"{HOST}/news/{n}", 0, "", 1, 1.0)
        record_visit(worth, f"{CALENDAR}{n}", 0, "", 1, 0.0)
        record_links(worth, f"{HOST}/news/{n}", 0, [(f"{HOST}/news/{20 + n}", 0)] * (n % 2))
    worth.totals.admitted = 61
    parked = {CALENDAR: ParkedPart(rule="low_worth", since=1.0, urls=7)}
    parked["trap_urls"] = ParkedPart(rule="trap_urls", since=1.0, urls=3)
    command.store_rows(
        SiteRow(SITE, 1, {DEFAULT_CRAWL: SiteCrawl(hosts=1)}),
        HostRow(
            SITE,
            HOST,
            Condition.READY,
            totals=HostTotals(admitted=61),
            crawls={DEFAULT_CRAWL: HostCrawl(NewQueues(queued=21))},
        ),
        SiteWorthRow(SITE, DEFAULT_CRAWL, pack_worth(worth)),
        ParkedPartsRow(DEFAULT_CRAWL, SITE, parked),
    )


def released(command: Gossamer) -> list[tuple[str, tuple[str, ...]]]:
    """Return the site and the parts of each release on the log."""
    found = command.events("urls.admitted")
    return [(event.site, event.parts) for event in found if isinstance(event, ReleaseRequested)]


def test_parts_of_a_site_are_shown_with_worth_and_parked_urls(seeded: Gossamer) -> None:
    sites = seeded.command("sites")
    sites(SITE, status=1)
    store_site(sites)
    sites(SITE)
    found = sites.json(SITE)
    assert (found["parked"], found["visits"], found["unvisited"]) == (10, 40, 21)
    assert 20 < found["new_urls_lately"] < 30, "a link on every fourth page"
    assert {part["name"]: part["parked"] for part in found["parts"]}[CALENDAR] == 7


def test_parked_parts_are_released_by_name_or_all(seeded: Gossamer) -> None:
    release = seeded.command("release")
    release(SITE, status=1)
    store_site(release)
    release(SITE, CALENDAR)
    release(f"{HOST}/page")
    assert released(release) == [(SITE, (CALENDAR,)), (SITE, ())]


def test_unknown_part_is_refused_with_the_names_of_the_parked_ones(seeded: Gossamer) -> None:
    release = seeded.command("release")
    store_site(release)
    release(SITE, f"{HOST}/other/", status=2)
    assert released(release) == []


def test_parked_url_is_parked_with_the_reason(seeded: Gossamer) -> None:
    why, url = seeded.command("why"), f"{CALENDAR}1"
    reason = low_worth_reason(CALENDAR, SITE)
    why.store_rows(UrlRow(DEFAULT_CRAWL, HOST, url, "low_worth", 1.0, reason=reason))
    assert why.json(url)["state"] == "parked"
    why(url)
