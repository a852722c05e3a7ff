"""Suffixes and addresses with sites without end: when links to their unknown sites are parked."""

import pytest

from gossamer.events import DEFAULT_CRAWL
from gossamer.services.frontier.partition.parts import Parts
from gossamer.services.frontier.partition.workbench import FrontierCaches
from gossamer.services.frontier.worth.zones import MAX_ZONES, Zones
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import Site

SUFFIX = "hosting.example"
OTHER_CRAWL = "other"


def visit_sites(zones: Zones, sites: int, links: int, new: float = 0.0) -> None:
    """Visit unknown *sites* of the suffix, each with *links* to unknown ones."""
    for _ in range(sites):
        zones.record_first_visit(DEFAULT_CRAWL, [SUFFIX], new)
        zones.get(DEFAULT_CRAWL, SUFFIX).counts.growth += links


@pytest.mark.parametrize(
    ("links", "new", "is_low"),
    [
        pytest.param(3, 0.0, True, id="each site leads to three more"),
        pytest.param(1, 0.0, False, id="a network of sites with one text"),
        pytest.param(0, 0.0, False, id="sites of a list"),
        pytest.param(3, 1.0, False, id="sites with texts of their own"),
    ],
)
def test_links_of_good_pages_are_worth_little_only_in_a_suffix_without_end(
    links: int, new: float, is_low: bool
) -> None:
    zones = Zones()
    zones.get(DEFAULT_CRAWL, SUFFIX).has_wildcard = True
    visit_sites(zones, 20, links, new)
    worth = zones.lasting_prior(DEFAULT_CRAWL, SUFFIX, "", duplicates=0)
    assert (worth < 0.25) is is_low


def test_suffix_without_a_wildcard_says_nothing() -> None:
    zones = Zones()
    visit_sites(zones, 20, links=3)
    assert zones.lasting_prior(DEFAULT_CRAWL, SUFFIX, "", duplicates=5) == 1.0


def test_address_says_something_only_of_links_of_copies() -> None:
    zones = Zones()
    for _ in range(50):
        zones.record_first_visit(DEFAULT_CRAWL, ["192.0.2.1"], 0.0)
    assert zones.lasting_prior(DEFAULT_CRAWL, SUFFIX, "192.0.2.1", duplicates=1) == 1.0
    assert zones.lasting_prior(DEFAULT_CRAWL, SUFFIX, "192.0.2.1", duplicates=2) < 0.1


def test_partitions_of_a_frontier_share_what_they_learn_and_crawls_do_not() -> None:
    caches, store = FrontierCaches(), SqliteStore(Database(":memory:"))

    def open_parts(crawl: str) -> Parts:
        return Parts(crawl, store, caches.open_partition(), lambda *_: None, lambda *_: None)

    one, two, other = (open_parts(crawl) for crawl in (DEFAULT_CRAWL, DEFAULT_CRAWL, OTHER_CRAWL))
    one.record_suffix(Site(f"a.{SUFFIX}"))
    visit_sites(caches.open_partition().zones, 20, links=3)
    unknown = Site(f"b.{SUFFIX}")
    assert two.estimate(unknown, f"http://{unknown}/", 0).low_part is not None
    assert other.estimate(unknown, f"http://{unknown}/", 0).low_part is None


def test_oldest_zone_is_forgotten() -> None:
    zones = Zones()
    visit_sites(zones, 20, links=3)
    for number in range(MAX_ZONES):
        zones.get(DEFAULT_CRAWL, f"192.0.2.{number}")
    assert zones.get(DEFAULT_CRAWL, SUFFIX).counts.visits == 0
