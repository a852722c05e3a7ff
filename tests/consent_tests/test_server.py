"""A web of consent over sockets: statements, walls, and the record."""

from collections.abc import Iterator

import pytest

from tests.consent import ConsentWeb, RunningConsent
from tests.consent.__main__ import arguments
from tests.consent.statements import HOME, WORKS
from tests.consent.walls import LICENSE_PATH, MARK, WALLS
from tests.consent.web import ROBOTS_PATH, TDMREP_PATH, Combination
from tests.synthweb_tests.talk import ask_udp, get, query


@pytest.fixture(scope="module")
def web() -> Iterator[RunningConsent]:
    with RunningConsent(ConsentWeb()) as running:
        yield running


def host_of(web: RunningConsent, combination: Combination) -> str:
    return next(name for name, one in web.hosts.combinations.items() if one == combination)


def test_each_host_has_an_address_of_its_own(web: RunningConsent) -> None:
    found = {ask_udp(web.nameserver, query(name))[-4:] for name in web.hosts.names}
    assert len(found) == len(web.hosts.names) == 208 + 2 * len(WALLS)


def test_robots_txt_has_its_statement_and_missing_one_is_404(web: RunningConsent) -> None:
    host = host_of(web, Combination(robots="usage no"))
    assert b"Content-Usage: train-ai=n" in get(web.port, host, ROBOTS_PATH)[1]
    host = host_of(web, Combination())
    for path in (ROBOTS_PATH, TDMREP_PATH, LICENSE_PATH, "/nothing"):
        assert get(web.port, host, path)[0].status == 404


def test_pages_have_headers_and_meta_elements(web: RunningConsent) -> None:
    host = host_of(web, Combination(header="reserved with policy"))
    for path in (HOME, WORKS):
        response, _ = get(web.port, host, path)
        assert response.getheader("tdm-reservation") == "1"
        assert response.getheader("tdm-policy") == web.hosts.url(host, "/policy.json")
    host = host_of(web, Combination(meta="noai"))
    assert b'<meta name="robots" content="noai, noimageai">' in get(web.port, host, HOME)[1]


def test_robots_txt_names_the_license_file_of_its_host(web: RunningConsent) -> None:
    host = host_of(web, Combination(license="priced"))
    named = f"License: {web.hosts.url(host, LICENSE_PATH)}\n".encode()
    assert get(web.port, host, ROBOTS_PATH)[1].startswith(named)
    response, body = get(web.port, host, LICENSE_PATH)
    assert response.getheader("Content-Type") == "application/rsl+xml"
    assert b'<amount currency="USD">0.01</amount>' in body


@pytest.mark.parametrize("name", WALLS)
def test_wall_is_in_front_of_pages_or_in_place_of_robots_txt(
    name: str, web: RunningConsent
) -> None:
    host, other = f"{name}.test", f"{name}-robots.test"
    status = WALLS[name].answer().status
    bodies = {get(web.port, host, path)[1] for path in ("/", "/first.html", "/nothing")}
    assert [MARK.encode() in body for body in bodies] == [True]
    assert get(web.port, host, "/")[0].status == status
    assert MARK.encode() not in get(web.port, host, ROBOTS_PATH)[1]
    response, body = get(web.port, other, ROBOTS_PATH)
    assert (response.status, MARK.encode() in body) == (status, True)
    response, body = get(web.port, other, "/first.html")
    assert (response.status, MARK.encode() in body) == (200, False)


def test_options_rebuild_any_web() -> None:
    for web in (ConsentWeb(), ConsentWeb(seed=3, combinations=5, key="key.pem")):
        assert arguments(["--record", "x", *web.flags()])[0] == web


def test_record_is_evaluated() -> None:
    with RunningConsent(ConsentWeb(combinations=3)) as web:
        for _ in range(2):
            get(web.port, "payment.test", "/")
            get(web.port, "anubis.test", "/")
        get(web.port, "anubis-robots.test", "/")
        conduct = web.conduct()
    assert conduct.pursued == {web.hosts.url("payment.test", "/"): 2}
    assert conduct.unruled == [web.hosts.url("anubis-robots.test", "/")]
