"""The evaluation of requests, on hand-made records."""

from tests.synthweb.record import Request
from tests.traps import Harvest, Sites, TrapWeb, harvest_of

SITES = Sites(TrapWeb(traps=("mirror", "calendar"), pages=4, sites=0), 80)


def requests(*urls: str) -> list[Request]:
    found = []
    for at, url in enumerate(urls):
        host, _, path = url.partition("/")
        full = f"http://{host}:80/{path}"
        found.append(Request(at, at, host, f"/{path}", full, 200, "g/1", "", 1))
    return found


def harvest(*urls: str) -> Harvest:
    return harvest_of(requests(*urls), SITES)


def test_first_request_for_each_page_is_no_excess() -> None:
    found = harvest("mirror.test/", "mirror.test/about.html", "calendar.test/")
    assert (found.fetched, found.requests, found.excess_requests) == (3, 3, 0)
    assert found.honest == 4 + 4 + 9


def test_copies_and_repeated_requests_are_in_excess() -> None:
    found = harvest("mirror.test/", "mirror-of-mirror.test/", "mirror.test/")
    assert (found.fetched, found.hosts) == (1, 2)
    assert found.excess == {"copy": 1, "again": 1}
    assert found.examples["copy"] == ["http://mirror-of-mirror.test:80/"]


def test_one_robots_txt_and_one_probe_of_each_host_are_allowed() -> None:
    hosts = ("mirror.test", "mirror-of-mirror.test")
    found = harvest(*(f"{host}/{path}" for host in hosts for path in ("robots.txt", "a" * 32)))
    assert found.excess_requests == 0
    assert harvest("mirror.test/" + "a" * 32, "mirror.test/" + "b" * 32).excess == {"probe": 1}


def test_needed_lists_are_allowed_and_others_are_the_trap() -> None:
    found = harvest("calendar.test/calendar", "calendar.test/calendar?year=2020&month=1")
    assert found.excess == {"trap": 1}
