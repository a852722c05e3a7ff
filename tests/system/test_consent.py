"""Crawls of a web of consent: every verdict is right, no wall is passed or kept, and only asked
requests are signed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.consent import ConsentWeb, Hosts, wrong_verdicts
from tests.consent.statements import HOME, WORKS
from tests.consent.truth import DISALLOWED
from tests.consent.walls import PRICE, Kind
from tests.consent.web import Combination
from tests.support.once import once

from .assertions import CLOCKS
from .consent_crawls import (
    ALL_PURPOSES,
    DELAY,
    STRICT,
    STRICT_PURPOSES,
    ConsentCrawl,
    crawl_consent,
)
from .crawl import GOSSAMER, run

COMBINATIONS = {"open": 208, "strict": 100}
"""Crawl → its hosts with statements. By day each statement is alone at a host, and few random
combinations follow."""
FEW = 10
STATED = "Content-Usage: train-ai=n"
STATED_LINE = 3
MAX_ROBOTS = 3
"""The number of requests for a robots.txt behind a wall in a crawl of minutes."""

CRAWLS = [pytest.param("open_crawl", marks=pytest.mark.long), "strict_crawl"]

Found = dict[str, Any]


def host_of(hosts: Hosts, **forms: str) -> str:
    """Return the host with this combination."""
    return next(name for name, one in hosts.combinations.items() if one == Combination(**forms))


def crawl_once(
    name: str, crawl: str, shared_folder: Path, read: Callable[[ConsentCrawl], Found]
) -> Found:
    """Crawl with a section of the settings, or return that crawl of another test process, as
    *read* returns it."""

    def make() -> Found:
        with crawl_consent(COMBINATIONS[name], crawl) as it:
            return {**read(it), "combinations": COMBINATIONS[name]}

    found: Found = once(shared_folder / f"consent-{name}.json", make)
    return found


def examine(it: ConsentCrawl) -> Found:
    """Return a crawl as JSON, with what commands say about some of its URLs."""
    hosts = it.web.hosts
    stated = hosts.url(host_of(hosts, robots="usage no"), HOME)
    usage = run([GOSSAMER, "usage", "--data", str(it.crawl.data), stated])
    why = {
        "stated": it.crawl.why(stated),
        "payment": it.crawl.why(hosts.url("payment.test", "/")),
        "challenge": it.crawl.why(hosts.url("anubis.test", "/")),
    }
    return {**it.as_json(), "why": why, "usage": [usage.code, usage.out, usage.err]}


@pytest.fixture(scope="module")
def open_crawl(shared_folder: Path) -> Found:
    """A crawl for all purposes that publishes every page, made once in a run of tests."""
    return crawl_once("open", ALL_PURPOSES, shared_folder, examine)


@pytest.fixture(scope="module")
def strict_crawl(shared_folder: Path) -> Found:
    """A crawl that obeys what sites disallow, made once in a run of tests."""
    return crawl_once("strict", STRICT, shared_folder, ConsentCrawl.as_json)


def hosts_of(found: Found) -> Hosts:
    """Return the truth of a crawled web."""
    return Hosts(ConsentWeb(combinations=found["combinations"]), found["port"])


def published(found: Found) -> set[str]:
    return {page["url"] for page in found["pages"]}


def urls_behind(hosts: Hosts, *kinds: Kind) -> set[str]:
    """Return the URLs of pages behind walls, and of hosts whose robots.txt is behind one."""
    return {url for url, walled in hosts.walled_urls.items() if walled.wall.kind in kinds}


def admitted_urls(hosts: Hosts) -> set[str]:
    """Return the URLs that a signed request may see."""
    return {url for url, walled in hosts.walled_urls.items() if walled.wall.admits_signed}


# Verdicts


@pytest.mark.long
def test_every_page_is_published_with_the_right_verdicts(open_crawl: Found) -> None:
    hosts = hosts_of(open_crawl)
    assert set(hosts.pages) - published(open_crawl) == set()
    assert wrong_verdicts(open_crawl["pages"], hosts.pages) == {}


@pytest.mark.long
def test_verdict_names_its_source_and_the_exact_place(open_crawl: Found) -> None:
    hosts = hosts_of(open_crawl)
    usages = {page["url"]: page["usage"] for page in open_crawl["pages"]}
    usage = usages[hosts.url(host_of(hosts, robots="usage no"), HOME)]
    (by,) = usage["train-ai"]["by"]
    assert (by["source"], by["place"]) == ("robots.txt", f"line {STATED_LINE}")
    assert by["text"] == STATED
    for forms, source in (
        ({"header": "reserved"}, "header"),
        ({"meta": "reserved"}, "meta"),
        ({"tdmrep": "reserved"}, "tdmrep.json"),
        ({"license": "search only"}, "license"),
    ):
        usage = usages[hosts.url(host_of(hosts, **forms), WORKS)]
        assert [by["source"] for by in usage["train-ai"]["by"]] == [source]


@pytest.mark.long
def test_license_is_published_with_its_price(open_crawl: Found) -> None:
    hosts = hosts_of(open_crawl)
    host = host_of(hosts, license="priced")
    (page,) = [page for page in open_crawl["pages"] if page["url"] == hosts.url(host, HOME)]
    licenses = [one["license"] for one in page["usage_statements"] if one.get("license")]
    assert {one["url"] for one in licenses} == {hosts.url(host, "/license.xml")}
    assert any("ai-train" in one.get("prohibits", ()) for one in licenses)
    payments = [one["payment"] for one in licenses if one.get("payment", {}).get("amount")]
    assert [(one["amount"], one["currency"]) for one in payments] == [("0.01", "USD")]


@pytest.mark.long
def test_why_and_usage_name_the_line_of_robots_txt(open_crawl: Found) -> None:
    assert f"robots.txt line {STATED_LINE}: {STATED}" in open_crawl["why"]["stated"]
    code, out, err = open_crawl["usage"]
    assert (code, err) == (0, "")
    assert f"line {STATED_LINE}" in out
    assert "train-ai" in out


# Purposes


@pytest.mark.slow
def test_page_that_disallows_a_purpose_is_not_requested_or_not_kept(strict_crawl: Found) -> None:
    hosts = hosts_of(strict_crawl)
    by_files = {
        url
        for url in hosts.pages
        for combination, path in [hosts.combination(url)]
        if DISALLOWED in purposes_of(combination.verdicts_before(path))
    }
    disallowed = {
        url for url, verdicts in hosts.pages.items() if DISALLOWED in purposes_of(verdicts)
    }
    assert by_files and by_files < disallowed < set(hosts.pages)
    assert set(strict_crawl["conduct"]["pages"]) == set(hosts.pages) - by_files
    for found in (published(strict_crawl), set(strict_crawl["archived"])):
        assert found & set(hosts.pages) == set(hosts.pages) - disallowed


def purposes_of(verdicts: dict[str, str]) -> set[str]:
    """Return the verdicts on the purposes of the strict crawl."""
    return {verdicts[purpose] for purpose in STRICT_PURPOSES}


# Walls


@pytest.mark.slow
@pytest.mark.parametrize("crawl", CRAWLS)
def test_no_wall_is_published_archived_or_requested_after_its_final_refusal(
    crawl: str, request: pytest.FixtureRequest
) -> None:
    found = request.getfixturevalue(crawl)
    assert found["conduct"]["pursued"] == found["conduct"]["repeated"] == {}
    hosts = hosts_of(found)
    walled = urls_behind(hosts, Kind.CHALLENGE, Kind.PAYMENT, Kind.LICENSE)
    assert published(found) & walled == set()
    assert found["walls"] == []
    assert set(found["archived"]) & walled == set()


@pytest.mark.long
def test_no_wall_is_read_as_robots_txt(open_crawl: Found) -> None:
    assert open_crawl["conduct"]["unruled"] == []
    hosts = hosts_of(open_crawl)
    robots = open_crawl["conduct"]["robots"]
    behind = [host for host, walled in hosts.walled.items() if walled.at_robots]
    assert {host for host in behind if not 1 <= robots.get(host, 0) <= MAX_ROBOTS} == set()


@pytest.mark.long
def test_why_names_the_wall_and_its_price(open_crawl: Found) -> None:
    assert PRICE in open_crawl["why"]["payment"]
    assert "Anubis" in open_crawl["why"]["challenge"]


# Requests


@pytest.mark.long
def test_usage_files_are_requested_once_before_the_pages_and_at_the_pace_of_pages(
    open_crawl: Found,
) -> None:
    conduct = open_crawl["conduct"]
    assert (conduct["late_files"], conduct["missing_files"]) == ([], [])
    assert [url for url, requests in conduct["files"].items() if requests > 1] == []
    assert conduct["overlaps"] == 0
    assert {host: gap for host, gap in conduct["gaps"].items() if gap < DELAY - CLOCKS} == {}


@pytest.mark.long
def test_signed_requests_are_valid_asked_for_admitted_and_not_sent_in_vain(
    open_crawl: Found,
) -> None:
    conduct = open_crawl["conduct"]
    assert conduct["badly_signed"] == []
    assert conduct["signed_unasked"] == []
    admitted = admitted_urls(hosts_of(open_crawl))
    assert admitted - published(open_crawl) == set()
    assert {*conduct["signed"]} >= {"signature-401.test", "signature-403.test"}
    assert conduct["signed"].get("signature-vain.test") == 1


@pytest.mark.long
def test_every_or_no_request_is_signed_if_settings_say_so() -> None:
    with crawl_consent(FEW, ALL_PURPOSES, sign="always") as it:
        requests = it.web.requests()
        assert {request.note for request in requests} == {"signed"}
        assert any(request.path == "/robots.txt" for request in requests)
    with crawl_consent(FEW, ALL_PURPOSES, sign="never") as it:
        assert it.conduct.signed == {}
        admitted = admitted_urls(it.web.hosts)
        walled = {url for url in admitted if not it.web.hosts.walled_urls[url].at_robots}
        assert it.published & walled == set()
