"""A web of traps over sockets: names, answers and the record."""

import time
from collections.abc import Iterator

import pytest

from tests.synthweb_tests.talk import ask_udp, get, query
from tests.traps import TRAPS, RunningTraps, TrapWeb
from tests.traps.__main__ import arguments

WEB = TrapWeb(seed=5, traps=("wildcard", "wildcard-suffix", "tarpit"), pages=6, sites=2)


@pytest.fixture(scope="module")
def web() -> Iterator[RunningTraps]:
    with RunningTraps(WEB) as running:
        yield running


def address(web: RunningTraps, name: str) -> bytes:
    """Return the address of a name; empty for none."""
    answer = ask_udp(web.nameserver, query(name))
    return answer[-4:] if answer[7] else b""


def test_all_names_of_a_zone_have_the_address_of_their_site(web: RunningTraps) -> None:
    assert address(web, "any.wildcard.test") == address(web, "wildcard.test") == b"\x7f\2\0\1"
    assert address(web, "a.github.io") == address(web, "b.github.io") == b"\x7f\2\0\2"
    assert address(web, "github.io") == address(web, "nobody.test") == b""


def test_served_pages_are_those_of_the_truth(web: RunningTraps) -> None:
    for host in ("wildcard.test", "tarpit.test"):
        response, body = get(web.port, host, "/about.html")
        assert response.status == 200
        assert body == web.sites.to(host, "/about.html").body
    assert get(web.port, "tarpit.test", "/nothing")[0].status == 404


def test_tarpit_takes_a_second_for_a_page(web: RunningTraps) -> None:
    began = time.monotonic()
    _, body = get(web.port, "tarpit.test", "/maze/any")
    assert time.monotonic() - began >= 0.9
    assert body == web.sites.to("tarpit.test", "/maze/any").body


def test_record_is_evaluated() -> None:
    with RunningTraps(WEB) as web:
        for host in ("wildcard.test", "any.wildcard.test"):
            get(web.port, host, "/")
        assert web.harvest().excess == {"copy": 1}
        assert web.harvests()["wildcard"].fetched == 1


def test_options_rebuild_any_web() -> None:
    for web in (TrapWeb(), WEB, TrapWeb(traps=tuple(TRAPS), site_pages=9)):
        assert arguments(["--record", "x", *web.flags()])[0] == web
