"""Parked URLs of a site that are released while another rule excludes them: each is kept under the
rule that excludes it now, its row says so, and it is visited when nothing excludes it any more."""

from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace

from gossamer.events import (
    DEFAULT_CRAWL,
    BlocklistChanged,
    Discovery,
    Event,
    ReleaseRequested,
    UrlsAdmitted,
)
from gossamer.services.frontier.partition.parts import PROBE_WAIT
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.web.robots import RobotsRules
from tests.frontier.simulation import crawl
from tests.frontier.test_parts import HOST, SITE, TrapSite, calendar, parked_calendar
from tests.frontier.test_replay import apply

BLOCK = BlocklistChanged(at=0.0, rule="a.test/cal/*")
NARROW = "not prefix('http://a.test/cal')"
EXCLUSIONS: dict[str, tuple[Event, Event]] = {
    "blacklisted": (BLOCK, BlocklistChanged(at=0.0, rule="a.test/cal/*", lifted=True)),
    "out_of_scope": (crawl(scope=NARROW), crawl()),
    "trap_depth": (crawl(max_depth=0), crawl()),
}
"""Rule → the event after which it excludes the calendar, and the event that ends this."""
URLS = {f"{HOST}{path}" for path in calendar(48)}


def rules(site: TrapSite, urls: Iterable[str]) -> set[str]:
    """Return the rules by which the rows of *urls* say that they were refused."""
    rows = site.sim.store.table(UrlRow).get_many((DEFAULT_CRAWL, HOST), [*urls])
    return {str(row.outcome) for row in rows}


def admit_released(site: TrapSite) -> None:
    """Admit the URLs that the frontier has sent to the URL-seen test, as dedup does."""
    released, site.sim.released = site.sim.released, []
    for event in released:
        site.sim.admit_links(*event.urls, via=event.via, repeated=True)


def release(site: TrapSite) -> None:
    site.sim.handle(ReleaseRequested(at=site.sim.now, site=SITE))
    site.run(600.0)


def wait_for_probe(site: TrapSite) -> None:
    site.run(PROBE_WAIT + 600.0)


@pytest.mark.parametrize("take_out", [release, wait_for_probe])
@pytest.mark.parametrize("rule", EXCLUSIONS)
def test_url_that_is_released_while_a_rule_excludes_it_is_visited_later(
    rule: str, take_out: Callable[[TrapSite], None]
) -> None:
    site = parked_calendar()
    exclude, include = EXCLUSIONS[rule]
    waiting = URLS.difference(site.visited("/cal/"))
    site.sim.handle(exclude)
    take_out(site)
    site.sim.start()
    assert not waiting.intersection(site.visited("/cal/"))
    site.sim.handle(include)
    site.run(600.0)
    admit_released(site)
    site.has_news = True
    release(site)
    assert {*site.visited("/cal/")} == URLS
    assert len(URLS) == len(site.visited("/cal/"))


@pytest.mark.parametrize("rule", EXCLUSIONS)
def test_row_of_a_released_url_names_the_rule_that_excludes_it(rule: str) -> None:
    site = parked_calendar()
    waiting = URLS.difference(site.visited("/cal/"))
    site.sim.handle(EXCLUSIONS[rule][0])
    release(site)
    assert rules(site, waiting) == {rule}
    assert not site.parked()


def test_row_of_a_url_names_the_limit_that_excludes_it_next() -> None:
    site = parked_calendar()
    waiting = URLS.difference(site.visited("/cal/"))
    site.sim.handle(BLOCK)
    release(site)
    site.sim.handle(crawl(scope=NARROW))
    site.sim.handle(EXCLUSIONS["blacklisted"][1])
    site.run(600.0)
    assert rules(site, waiting) == {"out_of_scope"}
    site.sim.handle(crawl())
    site.run(600.0)
    assert {url.url for event in site.sim.released for url in event.urls} == waiting


def test_url_that_robots_txt_forbids_is_refused_by_it_when_it_is_released() -> None:
    site = parked_calendar()
    waiting = URLS.difference(site.visited("/cal/"))
    now = site.sim.now
    forbids = RobotsRules(lines="3 - /cal/", fetched_at=now, expires_at=now + 1e5)
    learn_robots(site, forbids)
    wait_for_probe(site)
    refused = {url for url in waiting if rules(site, [url]) == {"robots_excluded"}}
    assert len(refused) + sum(site.parked().values()) == len(waiting)
    assert refused
    learn_robots(site, RobotsRules(fetched_at=now, expires_at=site.sim.now + 1e6))
    release(site)
    assert waiting - refused <= {*site.visited("/cal/")}
    assert not refused.intersection(site.visited("/cal/"))


def learn_robots(site: TrapSite, found: RobotsRules) -> None:
    """Let the frontier know *found*, as after a visit to robots.txt."""
    partition = site.sim.partition(SITE)
    host = partition.find(SITE, HOST)
    before = partition.robots(host)
    assert before
    partition.learn_robots(host, replace(before, rules=found))


@pytest.mark.parametrize("is_torn", [False, True])
def test_url_of_a_record_that_comes_again_is_parked_if_a_rule_excludes_it_now(
    is_torn: bool,
) -> None:
    site = TrapSite()
    url = f"{HOST}/cal/1"
    found = (Discovery(url, depth=1),)
    event = UrlsAdmitted(at=site.sim.now, site=SITE, via=f"1.1.0@{HOST}/", urls=found)
    apply(site.sim, [event])
    if is_torn:  # The row of the site is written, that of the host is not.
        site.sim.store.table(HostRow).erase(SITE, HOST)
        site.sim.store.flush()
    site.sim.start()
    site.sim.handle(BLOCK)
    apply(site.sim, [event])
    site.run(600.0)
    assert rules(site, [url]) == {"blacklisted"}
    site.sim.handle(EXCLUSIONS["blacklisted"][1])
    site.run(600.0)
    admit_released(site)
    site.run(600.0)
    assert site.visited("/cal/") == [url]
