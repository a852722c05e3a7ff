"""Caches that other sites can fill have a size limit, in total and for one site."""

from gossamer.events import DEFAULT_CRAWL, CrawlDefined, Discovery
from gossamer.services.dedup import guesses, links
from gossamer.services.dedup.guesses import Guesses
from gossamer.services.dedup.host_names import HostNames
from gossamer.services.dedup.links import InLinks
from gossamer.settings import DedupSettings
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.links import estimate_sites
from gossamer.web.url import Site

HOSTS, LONG = 5000, "x" * 1900


def test_guesses_of_one_site_fill_only_its_part_of_the_cache() -> None:
    limiter = Guesses(SqliteStore(Database(":memory:")))
    limiter.request(DEFAULT_CRAWL, "http://a.example/script")
    for host in range(HOSTS):
        for guess in range(guesses.INITIAL_GUESSES):
            limiter.request(DEFAULT_CRAWL, f"http://h{host}.trap.example/{guess}{LONG}")
    assert limiter._hosts.bytes <= guesses.SITE_GUESS_CACHE_BYTES + 1000
    assert "http://a.example" in limiter._hosts


def test_links_of_one_site_fill_only_its_part_of_the_sketches() -> None:
    counts = InLinks()
    counts.count_links(DEFAULT_CRAWL, Site("b.example"), ["http://c.example/"])
    many = (f"http://h{n}.example/{LONG}" for n in range(20_000))
    counts.count_links(DEFAULT_CRAWL, Site("trap.example"), many)
    assert counts._sketches.bytes <= links.SITE_IN_LINKS_CACHE_BYTES + 1000
    assert round(estimate_sites(counts.pop(DEFAULT_CRAWL, "http://c.example/"))) == 1


def test_hosts_of_one_site_do_not_evict_rows_of_other_sites() -> None:
    names = HostNames(SqliteStore(Database(":memory:")), DedupSettings())
    crawl = CrawlDefined(at=0.0, scope="any()", max_depth=3)
    names.rewrite(Discovery("http://www.a.example/"), "v", crawl, 0.0)
    for n in range(20_000):
        names.rewrite(Discovery(f"http://h{n}.trap.example/"), "v", crawl, 0.0)
    assert not names.reads_of(["http://www.a.example/"])
