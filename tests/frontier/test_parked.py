"""Links outside the scope are parked in the store until the scope becomes wider."""

from gossamer.events import BlocklistChanged, Discovery, LinksParked, UrlsDiscovered
from gossamer.store.sqlite import SqliteTable
from gossamer.web.url import Site
from services.frontier.partition.parked import BUCKET_ROWS, ParkedRow
from tests.frontier.simulation import Simulation, crawl


def test_wider_scope_releases_parked_links_of_all_buckets() -> None:
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    links = [f"http://b.test/{n}" for n in range(2 * BUCKET_ROWS + 10)]
    park(sim, *links)
    sim.handle(crawl(scope="any()"))
    assert sorted(released_urls(sim)) == sorted(links)


def test_lifted_rule_reads_only_urls_parked_by_it(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    park(sim, *(f"http://outside.test/{n}" for n in range(3 * BUCKET_ROWS)))
    rules = ("a.test/x/*", "a.test/y/*")
    for rule in rules:
        sim.handle(BlocklistChanged(at=sim.now, rule=rule))
    park(sim, *(f"http://a.test/{part}/{n}" for part in "xy" for n in range(BUCKET_ROWS)))
    scans, scan = list[str](), SqliteTable.scan

    def scan_and_record(table, partition, *more):  # type: ignore[no-untyped-def]
        if table._row is ParkedRow:
            scans.append(partition[1])
        return scan(table, partition, *more)

    monkeypatch.setattr(SqliteTable, "scan", scan_and_record)
    sim.handle(BlocklistChanged(at=sim.now, rule=rules[0], lifted=True))
    assert sorted(released_urls(sim)) == sorted(f"http://a.test/x/{n}" for n in range(BUCKET_ROWS))
    assert scans
    assert all(rules[0] in partition for partition in scans)


def test_url_excluded_by_two_limits_waits_for_both() -> None:
    sim = Simulation()
    sim.handle(crawl(scope="host('a.test')"))
    url = "http://b.test/x"
    sim.handle(BlocklistChanged(at=sim.now, rule="b.test"))
    park(sim, url)
    sim.handle(BlocklistChanged(at=sim.now, rule="b.test", lifted=True))
    assert released_urls(sim) == []
    sim.start()
    sim.handle(crawl(scope="any()"))
    assert released_urls(sim) == [url]


def park(sim: Simulation, *urls: str) -> None:
    """Park *urls*, each discovered by a visit of its own."""
    for url in urls:
        found = (Discovery(url, 1),)
        event = LinksParked(at=sim.now, site=Site("a.test"), via=f"visit of {url}", urls=found)
        assert [*sim.frontier.handle(event, sim.now)] == []


def released_urls(sim: Simulation) -> list[str]:
    """Return the URLs that the frontier has sent to the URL-seen test."""
    found = list[str]()
    while (due := sim.frontier.due()) is not None and due <= sim.now:
        for event in sim.frontier.wake(sim.now):
            if isinstance(event, UrlsDiscovered):
                found += [link.url for link in event.urls]
        sim.frontier.settle()
        sim.store.flush()
    return found
