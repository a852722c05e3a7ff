"""One host: what it waits for and until when, its queue, its timeline, and its robots.txt."""

import pytest
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import (
    BlocklistChanged,
    Discovery,
    HostOverridden,
    Outcome,
    UrlsAdmitted,
)
from gossamer.inspection.answers import robots as robots_module
from gossamer.inspection.answers.host_details import explain_host, read_queue, read_timeline
from gossamer.inspection.answers.robots import read_robots
from gossamer.inspection.crawls.crawl import NotFound
from gossamer.log.codec import encode
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import RobotsRow
from gossamer.web.robots import RobotsRules, parse_robots
from gossamer.web.url import HostKey, site_of
from tests.frontier.simulation import Simulation
from tests.inspection.simulated import opened
from tests.support.transcripts import Transcript

HOST = HostKey("http://a.example")
URLS = [f"{HOST}/{number}" for number in range(5)]


def test_delayed_host_names_the_delay_and_its_end(transcript: Transcript) -> None:
    sim = Simulation(batch=1)
    sim.admit(*URLS)
    crawl = opened(sim)
    while (found := explain_host(crawl, "a.example", sim.now)).host.condition != Condition.DELAYED:
        sim.run(steps=1)
    assert found.until == found.host.ready_at > sim.now
    transcript.add("delayed", [found.answer])
    assert [gate.gate for gate in found.closed_gates] == ["delay"]
    assert found.robots and found.robots.rules == 0


def test_backing_off_host_names_the_failure() -> None:
    sim = Simulation(lambda url: {"outcome": Outcome.HOST_DOWN, "reason": "connection refused"})
    sim.admit(*URLS)
    sim.run(until=sim.now + 60.0)
    found = explain_host(opened(sim), f"{HOST}/0", sim.now)
    assert found.until == found.host.ready_at > sim.now
    assert "connection refused" in found.answer
    assert found.host.backoff_cause == Outcome.HOST_DOWN


def test_paused_crawl_leaves_the_time_unknown(transcript: Transcript) -> None:
    sim = Simulation()
    sim.admit(*URLS)
    crawl = opened(sim)
    crawl.log.append([encode(replace(sim.definition, paused=True))])
    found = explain_host(crawl, HOST, sim.now)
    transcript.add("paused", [found.answer])
    assert found.until is None


def test_blocklist_and_settings_are_named(transcript: Transcript) -> None:
    sim = Simulation()
    sim.admit(*URLS)
    crawl = opened(sim)
    crawl.log.append([encode(HostOverridden(at=sim.now, host="a.example", off=True))])
    found = explain_host(crawl, HOST, sim.now)
    assert found.host_override and found.host_override.off
    assert "overrides" in [gate.gate for gate in found.closed_gates]
    crawl.log.append([encode(BlocklistChanged(at=sim.now, rule="a.example"))])
    found = explain_host(crawl, HOST, sim.now)
    transcript.add("blocked", [found.answer])


def test_finished_host_waits_for_nothing_and_an_unknown_one_is_not_found() -> None:
    sim = Simulation()
    sim.admit(*URLS)
    sim.run()
    crawl = opened(sim)
    assert explain_host(crawl, HOST, sim.now).answer == "Nothing is queued."
    with pytest.raises(NotFound, match=r"no URL of http://b\.example"):
        explain_host(crawl, "http://b.example", sim.now)
    with pytest.raises(BadSettings):
        explain_host(crawl, "http://", sim.now)


def test_pages_of_the_queue_are_the_whole_queue_in_order() -> None:
    sim = Simulation()
    urls = [f"{HOST}/{number}" for number in range(250)]
    sim.admit(*urls[:120], priority=5)
    sim.admit(*urls[120:], priority=-5)
    crawl = opened(sim)
    found, after, pages = [], None, 0
    while page := read_queue(crawl, HOST, after, 40):
        found += [item.url for item in page.items]
        after, pages = page.next, pages + 1
        if after is None:
            break
    assert pages == 7
    assert len(found) == len(set(found)) == 250 == explain_host(crawl, HOST, sim.now).host.queued
    first = {item.url: item.rank for item in read_queue(crawl, HOST, None, 250).items}
    assert found == [*first] and [*first.values()] == sorted(first.values(), key=lambda r: r or 0)
    sim.run(steps=3)
    assert sim.pages()[0] == found[0]
    with pytest.raises(BadSettings, match="cursor"):
        read_queue(crawl, HOST, "nonsense")


@pytest.mark.parametrize(
    ("via", "page"), [("seed@seeds/0/3", ""), (f"1.2.0@{HOST}/page", f"{HOST}/page")]
)
def test_queued_url_names_the_page_that_it_was_found_on(via: str, page: str) -> None:
    sim, url = Simulation(), URLS[0]
    event = UrlsAdmitted(at=sim.now, site=site_of(url), via=via, urls=(Discovery(url),))
    sim.handle(event)
    [item] = read_queue(opened(sim), HOST).items
    assert item.found_on == page


def test_timeline_has_the_visits_newest_first() -> None:
    sim = Simulation(lambda url: {"outcome": Outcome.GONE, "status": 404} if "3" in url else {})
    sim.admit(*URLS)
    sim.run()
    found = read_timeline(opened(sim), "a.example")
    assert [visit.url for visit in found.visits] == sim.pages()[::-1]
    assert {visit.text for visit in found.visits} == {"page", "404 Not Found"}
    assert not found.is_partial
    assert len(read_timeline(opened(sim), "a.example", 2).visits) == 2


def store_robots(sim: Simulation, rules: RobotsRules) -> None:
    sim.store.table(RobotsRow).put(RobotsRow(HOST, rules))
    sim.store.flush()


def test_robots_txt_names_the_line_that_decides(
    monkeypatch: pytest.MonkeyPatch, transcript: Transcript
) -> None:
    sim = Simulation()
    body = b"User-agent: *\nDisallow: /private\nAllow: /private/open\nCrawl-delay: 7\n"
    store_robots(sim, parse_robots(body, "gossamer", sim.now, 0.0, f"{HOST}/robots.txt").rules)
    crawl = opened(sim)
    found = read_robots(crawl, f"{HOST}/private/x")
    assert found.allowed is False
    transcript.add("forbidden by robots.txt", [found.answer])
    assert [line.line for line in found.lines if line.decides] == [2]
    assert found.summary.rules == 2 and found.summary.crawl_delay == 7.0
    assert read_robots(crawl, f"{HOST}/private/open").allowed
    assert read_robots(crawl, HOST).allowed is None
    assert not found.text and "not archived" in found.no_text
    monkeypatch.setattr(robots_module, "MAX_RULES", 1)
    lines = read_robots(crawl, f"{HOST}/private/open").lines
    assert [(line.line, line.decides) for line in lines] == [(2, False), (3, True)]
    with pytest.raises(NotFound):
        read_robots(crawl, "b.example")
