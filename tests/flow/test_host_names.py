"""Two names of one host are visited as one host, as soon as that is proven."""

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from gossamer.errors import BadSettings
from gossamer.events import RefetchRequested
from gossamer.log.codec import encode
from gossamer.settings import DedupSettings
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import host_key
from services.dedup.rows import HostNameRow
from services.fetcher.outcome import Reply
from tests.flow.test_flow import HTML
from tests.flow.test_hazards import metric_counts, report_counts
from tests.flow.virtual import VirtualCrawl

BARE, WWW, HUB = "http://a.test", "http://www.a.test", "http://hub.test"
MIRROR = "http://mirror.test"
DAY = 86400.0
Web = Callable[[str], str | Reply | None]
"""URL → the markup of its page, or another answer; None: 404."""


def crawl(folder: Path, web: Web, seeds: tuple[str, ...], **dedup: object) -> VirtualCrawl:
    def answer(url: str, now: float) -> tuple[float, Reply]:
        found = web(url)
        if isinstance(found, str):
            found = Reply(status=200, headers=HTML, body=f"<title>A page</title>{found}".encode())
        return 0.1, replace(found or Reply(status=404), started_at=now, took=0.1)

    started = VirtualCrawl(folder, answer, dedup=DedupSettings(**dedup))  # type: ignore[arg-type]
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


def visit_seeds(ran: VirtualCrawl, *seeds: str) -> None:
    """Add the seeds one by one, each after the crawl of the previous one has finished."""
    for seed in seeds:
        ran.define(seed)
        assert ran.run()


def same_pages(*hosts: str) -> Web:
    """Return a web with the same content under all *hosts*."""

    def answer(url: str) -> str | None:
        return (
            f"The page {path_of(url)}" if host_key(url) in hosts and "robots" not in url else None
        )

    return answer


def replicas(crawl: VirtualCrawl) -> dict[str, tuple[str, str]]:
    """Return replica → original and hazard."""
    rows = SqliteStore(crawl.database).table(HostNameRow).everything()
    return {row.host: (row.original, row.rule) for row in rows if row.rule}


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


def mirrored_sites(same: int, hub: str = "") -> Web:
    """Return two sites with the same first *same* pages, and a hub."""

    def answer(url: str) -> str | None:
        path, host = path_of(url), host_key(url)
        if path == "/robots.txt":
            return None
        if host == HUB:
            return f"The hub {hub}"
        number = 0 if path == "/" else int(path[1:]) + 1
        own = "" if number < same else f"at {host}"
        return f"The page {path} {own}"

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
        ("dups100", 9, False),
        ("none", 12, False),
    ],
)
def test_replica_is_detected_by_the_heuristic_in_the_settings(
    tmp_path: Path, heuristic: str, same: int, is_one: bool
) -> None:
    before = metric_counts()["duphost"]
    known, fresh = ["/", *paths(11)], ["/20", "/21"]
    web = mirrored_sites(same, links(MIRROR, *fresh))
    ran = crawl(tmp_path, web, tuple(f"{BARE}{path}" for path in known), duphost=heuristic)
    assert ran.run()
    ran.define(*(f"{MIRROR}{path}" for path in known))
    assert ran.run()
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


def refetch(ran: VirtualCrawl, host: str) -> None:
    ran.log.append(
        [encode(RefetchRequested(at=ran.now, site="a.test", host=host, urls=(f"{host}/",)))]
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
