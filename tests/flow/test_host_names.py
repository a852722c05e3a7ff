"""Two names of one host are visited as one host, as soon as that is proven."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.errors import BadSettings
from gossamer.events import RefetchRequested
from gossamer.log.codec import encode
from gossamer.services.dedup.rows import HostNameRow
from gossamer.services.fetcher.outcome import Reply
from gossamer.services.frontier.tables.urls import UrlRow
from gossamer.settings import DedupSettings
from gossamer.web.url import HostKey, Site, host_key
from tests.flow.test_hazards import metric_counts, report_counts
from tests.flow.virtual import VirtualCrawl, html_page

BARE, WWW, HUB = "http://a.test", HostKey("http://www.a.test"), "http://hub.test"
MIRROR, LIST = "http://mirror.test", "http://list.test"
DAY = 86400.0
Web = Callable[[str], str | Reply | None]
"""URL → the markup of its page, or another answer; None: 404."""


def crawl(
    folder: Path, web: Web, seeds: tuple[str, ...], batch: int = 10, **dedup: object
) -> VirtualCrawl:
    def answer(url: str, now: float) -> tuple[float, Reply]:
        found = web(url)
        if isinstance(found, str):
            found = html_page(f"<title>A page</title>{found}")
        return 0.1, found or Reply(status=404)

    started = VirtualCrawl(folder, answer, batch=batch, dedup=DedupSettings(**dedup))  # type: ignore[arg-type]
    started.define(*seeds)
    return started


def links(host: str, *paths: str) -> str:
    return "".join(f"<a href='{host}{path}'>to there</a>" for path in paths)


def paths(count: int) -> list[str]:
    return [f"/{n}" for n in range(count)]


def path_of(url: str) -> str:
    return url.removeprefix(host_key(url))


def requested_paths(crawl: VirtualCrawl, host: str) -> list[str]:
    urls = [url for _, _, url in crawl.requests if host_key(url) == host]
    return [path_of(url) for url in urls if not url.endswith("/robots.txt")]


def with_hub(web: Web, other: str, count: int = 3) -> Web:
    """Return *web* with a hub that links to pages of the host *other*."""

    def answer(url: str) -> str | Reply | None:
        return links(other, *paths(count)) if host_key(url) == HUB else web(url)

    return answer


def with_list(web: Web, *urls: str) -> Web:
    """Return *web* with a list of *urls*, whose hosts are not named by a seed."""
    listed = "".join(f"<a href='{url}'>to there</a>" for url in urls)
    return lambda url: f"The list {listed}" if host_key(url) == LIST else web(url)


def visit_seeds(ran: VirtualCrawl, *seeds: str) -> None:
    """Add the seeds one by one, each after the crawl of the previous one has finished."""
    for seed in seeds:
        ran.define(seed)
        assert ran.run()


def text_of(subject: str) -> str:
    """Return a text about *subject* that is long enough to be characteristic."""
    words = (f"{subject.strip('/') or 'home'}{n}" for n in range(60))
    return f"The page {subject} {' '.join(words)}"


def same_pages(*hosts: str) -> Web:
    """Return a web with the same content under all *hosts*."""

    def answer(url: str) -> str | None:
        return text_of(path_of(url)) if host_key(url) in hosts and "robots" not in url else None

    return answer


def replicas(crawl: VirtualCrawl) -> dict[str, tuple[str, str]]:
    """Return replica → original and hazard."""
    rows = crawl.rows(HostNameRow)
    return {
        row.host: (row.original, row.rule) for row in rows if row.original == row.counterpart != ""
    }


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second"), [(BARE, WWW), (WWW, BARE)])
def test_names_with_the_same_home_page_are_one_host_under_the_first_name(
    tmp_path: Path, first: str, second: str
) -> None:
    before = metric_counts()["www_alias"]
    ran = crawl(tmp_path, with_hub(same_pages(first, second), second), ())
    visit_seeds(ran, f"{first}/", f"{second}/", f"{HUB}/")
    assert replicas(ran) == {second: (first, "www_alias")}
    assert requested_paths(ran, second) == ["/"], "the seed, and nothing else"
    assert requested_paths(ran, first) == ["/", *paths(3)]
    assert metric_counts()["www_alias"] == before + 1 and report_counts(ran)["www_alias"] == 1


def test_home_page_that_redirects_to_another_name_proves_one_host(tmp_path: Path) -> None:
    secure = "https://www.a.test"

    def web(url: str) -> str | Reply | None:
        if host_key(url) == BARE:
            return Reply(status=301, headers=(("Location", f"{secure}{path_of(url)}"),))
        return same_pages(secure)(url)

    before = metric_counts()["www_alias"]
    ran = crawl(tmp_path, with_hub(web, BARE), ())
    visit_seeds(ran, f"{BARE}/", f"{HUB}/")
    assert replicas(ran) == {BARE: (secure, "www_alias")}
    assert requested_paths(ran, BARE) == ["/"] and requested_paths(ran, secure) == ["/", *paths(3)]
    assert metric_counts()["www_alias"] == before + 1


@pytest.mark.parametrize(("setting", "host"), [("proven", BARE), ("none", BARE), ("assumed", WWW)])
def test_names_with_different_home_pages_are_two_hosts_unless_the_setting_assumes_one(
    tmp_path: Path, setting: str, host: str
) -> None:
    def web(url: str) -> str | None:
        return f"Only {url}" if "robots" not in url and host_key(url) in (WWW, BARE) else None

    ran = crawl(tmp_path, with_hub(web, BARE), (), www_alias=setting)
    visit_seeds(ran, f"{WWW}/", f"{BARE}/", f"{HUB}/")
    assert replicas(ran) == {}
    assert [one for one in (WWW, BARE) if {*paths(3)} <= {*requested_paths(ran, one)}] == [host]


def mirrored_sites(same: int, hub: str = "") -> Callable[[str], str | None]:
    """Return two sites with the same first *same* pages, and a hub."""

    def answer(url: str) -> str | None:
        path, host = path_of(url), host_key(url)
        if path == "/robots.txt":
            return None
        if host == HUB:
            return f"The hub {hub}"
        number = 0 if path == "/" else int(path[1:]) + 1
        own = "" if number < same else f"at{host_key(url)[7:]}"
        return text_of(f"{path}{own}")

    return answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("heuristic", "same", "is_one"),
    [
        ("same_home", 1, True),
        ("same_home_and_1_doc", 1, False),
        ("same_home_and_1_doc", 2, True),
        ("dups60", 8, True),
        ("dups60", 5, False),
        ("dups80", 10, True),
        ("dups80", 7, False),
        ("dups100", 12, True),
        ("dups100", 7, False),
        ("none", 12, False),
    ],
)
def test_replica_is_detected_by_the_heuristic_in_the_settings(
    tmp_path: Path, heuristic: str, same: int, is_one: bool
) -> None:
    before = metric_counts()["duphost"]
    known, fresh = ["/", *paths(11)], ["/20", "/21"]
    sites = mirrored_sites(same, links(MIRROR, *fresh))
    web = with_list(sites, *(f"{MIRROR}{path}" for path in known))
    ran = crawl(tmp_path, web, tuple(f"{BARE}{path}" for path in known), duphost=heuristic)
    assert ran.run()
    visit_seeds(ran, f"{LIST}/")
    assert replicas(ran) == ({MIRROR: (BARE, "duphost")} if is_one else {})
    assert metric_counts()["duphost"] == before + is_one
    ran.define(f"{HUB}/")
    assert ran.run()
    assert requested_paths(ran, MIRROR)[len(known) :] == ([] if is_one else fresh)
    assert requested_paths(ran, BARE)[len(known) :] == (fresh if is_one else [])


def test_host_name_verdict_expires_and_is_revoked_if_the_home_page_changes(tmp_path: Path) -> None:
    homes = {BARE: "Hello", WWW: "Hello"}

    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            return url + links(WWW, f"/of-{path_of(url)[1:]}")
        if url.endswith("robots.txt"):
            return None
        return homes[host_key(url)] if path_of(url) == "/" else f"The page {url}"

    def visited_hosts(number: int) -> list[str]:
        """Return the hosts at which the link on page *number* of the hub was visited."""
        ran.define(f"{HUB}/{number}")
        ran.run(until=ran.now + 60)
        return [host for host in (BARE, WWW) if f"/of-{number}" in requested_paths(ran, host)]

    ran = crawl(tmp_path, web, ())
    visit_seeds(ran, f"{BARE}/", f"{WWW}/")
    assert visited_hosts(1) == [BARE]
    ran.now += 91 * DAY
    assert visited_hosts(2) == [WWW], "the verdict was not renewed"
    refetch(ran, WWW)
    assert visited_hosts(3) == [BARE]
    homes[WWW] = "Goodbye"
    refetch(ran, WWW)
    assert visited_hosts(4) == [BARE], "the other home page may have changed as well"
    refetch(ran, WWW)
    assert visited_hosts(5) == [WWW]


def refetch(ran: VirtualCrawl, host: HostKey) -> None:
    ran.log.append(
        [encode(RefetchRequested(at=ran.now, site=Site("a.test"), host=host, urls=(f"{host}/",)))]
    )
    ran.run(until=ran.now + 60)


def test_listed_replica_is_not_requested_unless_the_scope_excludes_its_original(
    tmp_path: Path,
) -> None:
    pair = f"{MIRROR} {BARE}"
    web = mirrored_sites(12, links(MIRROR, "/1", "/2"))
    ran = crawl(tmp_path / "1", web, (f"{HUB}/",), duphosts=(pair,))
    assert ran.run()
    assert (requested_paths(ran, MIRROR), requested_paths(ran, BARE)) == ([], ["/1", "/2"])
    ran = crawl(tmp_path / "2", web, (), duphosts=(pair,))
    ran.define(f"{HUB}/", scope="not host('a.test')")
    assert ran.run()
    assert (requested_paths(ran, MIRROR), requested_paths(ran, BARE)) == (["/1", "/2"], [])
    with pytest.raises(BadSettings, match="pair"):
        crawl(tmp_path / "3", web, (f"{HUB}/",), duphosts=("mirror.test",))


PAGES = 40


def linked_sites(*hosts: str, own: str = "") -> Callable[[str], str | None]:
    """Return a web with the same 40 pages under all *hosts*. The home page links to all others.

    *own*: the text of a link to another page, on the home page of the last host only.
    """

    def answer(url: str) -> str | None:
        path, host = path_of(url), host_key(url)
        if host not in hosts or path not in ("/", *paths(PAGES), "/own"):
            return None
        to_pages = links("", *paths(PAGES)) if path == "/" else links("", "/")
        has_own = path == "/" and host == hosts[-1] and own
        return text_of(path) + to_pages + (f"<a href='/own'>{own}</a>" if has_own else "")

    return answer


@pytest.mark.parametrize(
    ("own", "requests"),
    [
        pytest.param(" ", 8, id="another link on the home page"),
        pytest.param("Mirror", 11, id="another text on the home page: one order of ten"),
    ],
)
def test_mirror_of_forty_pages_costs_few_requests(tmp_path: Path, own: str, requests: int) -> None:
    ran = crawl(tmp_path, with_list(linked_sites(BARE, MIRROR, own=own), f"{MIRROR}/"), ())
    visit_seeds(ran, f"{BARE}/", f"{LIST}/")
    assert replicas(ran) == {MIRROR: (BARE, "duphost")}
    assert {"/", *paths(PAGES)} <= {*requested_paths(ran, BARE)}
    assert len(requested_paths(ran, MIRROR)) <= requests


def test_host_of_a_seed_is_no_replica_because_of_equal_pages(tmp_path: Path) -> None:
    """A staging host has a page that production does not have."""

    def web(url: str) -> str | None:
        if host_key(url) == BARE and path_of(url) == "/own":
            return None
        ways = links("", "/own") if url == f"{MIRROR}/{PAGES - 1}" else ""
        return page + ways if (page := pages(url)) else None

    pages = linked_sites(BARE, MIRROR)
    ran = crawl(tmp_path, web, ())
    visit_seeds(ran, f"{BARE}/", f"{MIRROR}/")
    assert replicas(ran) == {}
    assert {"/", "/own", *paths(PAGES)} <= {*requested_paths(ran, MIRROR)}


def test_nearly_equal_home_pages_are_no_evidence(tmp_path: Path) -> None:
    """Two branches of a franchise have one template, and some equal pages."""

    def web(url: str) -> str | None:
        page = pages(url)
        return f"{page} {host_key(url)[7:]}" if page and path_of(url) == "/" else page

    pages = mirrored_sites(10)
    known = ["/", *paths(20)]
    listed = with_list(web, *(f"{MIRROR}{path}" for path in known))
    ran = crawl(tmp_path, listed, tuple(f"{BARE}{path}" for path in known), batch=1)
    assert ran.run()
    visit_seeds(ran, f"{LIST}/")
    assert replicas(ran) == {}
    assert {*known} <= {*requested_paths(ran, MIRROR)}


def test_mirrors_that_are_visited_at_the_same_time_are_recognised(tmp_path: Path) -> None:
    web = with_list(linked_sites(BARE, MIRROR), f"{BARE}/", f"{MIRROR}/")
    ran = crawl(tmp_path, web, (f"{LIST}/",))
    assert ran.run()
    requested = {host: requested_paths(ran, host) for host in (BARE, MIRROR)}
    assert {"/", *paths(PAGES)} <= {*requested[BARE], *requested[MIRROR]}
    assert len(requested[BARE]) + len(requested[MIRROR]) <= PAGES + 1 + 8


def test_alias_is_proven_without_home_pages(tmp_path: Path) -> None:
    def web(url: str) -> str | Reply | None:
        if host_key(url) == HUB:
            return links(WWW, *paths(PAGES))
        return None if path_of(url) == "/" else same_pages(BARE, WWW)(url)

    ran = crawl(tmp_path, web, tuple(f"{BARE}{path}" for path in paths(PAGES)))
    assert ran.run()
    visit_seeds(ran, f"{HUB}/")
    assert replicas(ran) == {WWW: (BARE, "www_alias")}
    assert len(requested_paths(ran, WWW)) <= 10, "one order"


@pytest.mark.parametrize("default", ["It works!", text_of("this domain is for sale")])
def test_unrelated_hosts_with_the_same_default_page_are_not_one(
    tmp_path: Path, default: str
) -> None:
    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            return links(MIRROR, *paths(9)) + links(BARE, *paths(9))
        if path_of(url) == "/":
            return default
        return None if "robots" in url else text_of(url.replace("/", "x"))

    ran = crawl(tmp_path, web, ())
    visit_seeds(ran, f"{BARE}/", f"{MIRROR}/", f"{HUB}/")
    assert replicas(ran) == {}
    for host in (BARE, MIRROR):
        assert requested_paths(ran, host) == ["/", *paths(9)]


def test_queued_urls_of_a_replica_are_visited_at_the_original(tmp_path: Path) -> None:
    only_there = [f"/more-{n}" for n in range(30)]

    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            return links(MIRROR, *paths(10), *only_there)
        return None if "robots" in url else text_of(path_of(url))

    ran = crawl(tmp_path, web, tuple(f"{BARE}{path}" for path in ["/", *paths(10)]), batch=1)
    assert ran.run()
    visit_seeds(ran, f"{HUB}/")
    assert replicas(ran) == {MIRROR: (BARE, "duphost")}
    of_mirror, of_original = (requested_paths(ran, host) for host in (MIRROR, BARE))
    assert {*only_there} <= {*of_mirror, *of_original}
    assert len(of_mirror) <= 12 and len(of_mirror) + len(of_original) <= 11 + 10 + 30
    rows = ran.rows(UrlRow)
    refused = [row for row in rows if row.outcome == "duphost"]
    assert {row.url for row in refused} >= {f"{MIRROR}{path}" for path in only_there[5:]}
    assert f"{BARE}{path_of(refused[0].url)} is visited instead" in refused[0].reason


@pytest.mark.slow
@pytest.mark.parametrize("steps", [6, pytest.param(9, marks=pytest.mark.long)])
def test_forwarded_urls_survive_crashes(tmp_path: Path, steps: int) -> None:
    waiting = [f"/more-{n}" for n in range(20)]

    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            return links(MIRROR, *paths(10), *waiting)
        return None if "robots" in url else text_of(path_of(url))

    ran = crawl(tmp_path, web, tuple(f"{BARE}{path}" for path in ["/", *paths(10)]), batch=1)
    assert ran.run()
    ran.define(f"{HUB}/")
    for _ in range(60):
        if ran.run(steps):
            break
        ran.crash()
    assert ran.run()
    assert {*waiting} <= {*requested_paths(ran, BARE), *requested_paths(ran, MIRROR)}
    assert len({*requested_paths(ran, MIRROR)}) <= 12


def test_urls_of_a_replica_are_visited_there_after_its_verdict(tmp_path: Path) -> None:
    waiting, changed = [f"/more-{n}" for n in range(12)], list[str]()

    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            first = links(MIRROR, *paths(10), *waiting)
            return f"The hub {url}" + (first if url == f"{HUB}/" else links(MIRROR, "/late"))
        own = "other" if host_key(url) in changed else ""
        return None if "robots" in url else text_of(f"{path_of(url)}{own}")

    ran = crawl(tmp_path, web, tuple(f"{BARE}{path}" for path in ["/", *paths(10)]), batch=1)
    assert ran.run()
    visit_seeds(ran, f"{HUB}/")
    assert f"{BARE}{waiting[-1]}" in {url for _, _, url in ran.requests}
    assert waiting[-1] not in requested_paths(ran, MIRROR)
    changed.append(MIRROR)
    ran.now += 91 * DAY
    visit_seeds(ran, f"{HUB}/2")
    assert {"/late", *waiting} <= {*requested_paths(ran, MIRROR)}, "the verdict has expired"


REAL, FAKE = "http://www.real-corporation.test", "http://fake.test"


def test_host_that_canonical_links_name_is_the_original_of_the_first_one(tmp_path: Path) -> None:
    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            return links(FAKE, *paths(3))
        canonical = f"<link rel='canonical' href='{REAL}{path_of(url)}'>"
        return None if "robots" in url else canonical + text_of(path_of(url))

    ran = crawl(tmp_path, web, tuple(f"{FAKE}/page-{n}" for n in range(6)))
    assert ran.run()
    assert replicas(ran) == {FAKE: (REAL, "duphost")}
    visit_seeds(ran, f"{HUB}/")
    assert {*paths(3)} <= {*requested_paths(ran, REAL)}
    assert not {*paths(3)} & {*requested_paths(ran, FAKE)}


def test_host_that_other_sites_link_to_is_the_original_of_the_first_one(tmp_path: Path) -> None:
    sites = [f"http://site-{n}.test" for n in range(6)]

    def web(url: str) -> str | None:
        if host_key(url) == HUB:
            return links(FAKE, *paths(3))
        if host_key(url) in sites:
            return url + links(REAL, *(f"/page-{n}" for n in range(10)))
        return None if "robots" in url else text_of(path_of(url))

    ran = crawl(tmp_path, with_list(web, *(f"{FAKE}/page-{n}" for n in range(10))), ())
    visit_seeds(ran, f"{LIST}/", *(f"{site}/" for site in sites))
    assert replicas(ran) == {FAKE: (REAL, "duphost")}
    visit_seeds(ran, f"{HUB}/")
    assert {*paths(3)} <= {*requested_paths(ran, REAL)}
    assert not {*paths(3)} & {*requested_paths(ran, FAKE)}
