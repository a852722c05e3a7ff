"""The index of hosts: pages of a sorted, filtered list, over several scans."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import BadSettings, Unavailable
from gossamer.events import DEFAULT_CRAWL
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import OpenCrawl
from gossamer.inspection.hosts import host_index
from gossamer.inspection.hosts.host_index import HostIndex, fill_index, write_index
from gossamer.inspection.hosts.hosts import (
    HostQuery,
    HostSort,
    SiteQuery,
    SiteSort,
    SiteSums,
    host_reader,
    read_hosts,
    read_sites,
    read_some_hosts,
)
from gossamer.log.sqlite import SqliteLog
from gossamer.services.frontier.tables.conditions import Condition
from gossamer.services.frontier.tables.hosts import (
    HostCrawl,
    HostRow,
    HostTotals,
    NewQueues,
    Politeness,
)
from gossamer.services.frontier.tables.sites import SiteCrawl, SiteRow
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import HostKey, Site, site_of
from tests.support.rows import put_rows

BUSY, IDLE, BACKING_OFF = Condition.DELAYED, Condition.IDLE, Condition.BACKING_OFF


def host(
    name: str,
    queued: int = 0,
    condition: Condition = IDLE,
    pages: int = 0,
    crawls: Iterable[str] = (DEFAULT_CRAWL,),
) -> HostRow:
    key = f"https://{name}"
    return HostRow(
        site_of(f"{key}/"),
        HostKey(key),
        condition,
        backoff_cause="host_down" if condition is BACKING_OFF else None,
        crawls=dict.fromkeys(crawls, HostCrawl(NewQueues(queued=queued))),
        totals=HostTotals(pages=pages, visits=2 * pages),
        politeness=Politeness(delay=1.0 + pages, last_took=0.0),
    )


rows_of_hosts = st.lists(
    st.builds(
        host,
        st.from_regex(r"[a-c]{1,3}\.(x|y%|z_)?[ab]\.example", fullmatch=True),
        st.integers(0, 3),
        st.sampled_from([BUSY, IDLE, BACKING_OFF]),
        st.integers(0, 2),
        st.sets(st.sampled_from([DEFAULT_CRAWL, "news"]), min_size=1),
    ),
    max_size=25,
    unique_by=lambda row: row.host,
)
queries = st.builds(
    HostQuery,
    search=st.one_of(
        st.sampled_from(["", "a", "b.", "a.example", "HTTPS://a", 'a"b', "%", "_", "x"]),
        st.text(max_size=5),
    ),
    condition=st.sampled_from([None, BUSY, BACKING_OFF]),
    cause=st.sampled_from([None, "host_down"]),
    site=st.sampled_from([None, "a.example"]),
    crawl=st.sampled_from([None, "news", "other"]),
    sort=st.sampled_from(HostSort),
    is_ascending=st.booleans(),
)
rows_of_sites = st.lists(
    st.builds(
        lambda name, refused, crawls: SiteRow(
            name, crawls=dict.fromkeys(crawls, SiteCrawl(refused={"trap_urls": refused}))
        ),
        st.sampled_from(["a.example", "b.example", "c.example"]),
        st.integers(0, 2),
        st.sets(st.sampled_from([DEFAULT_CRAWL, "news"])),
    ),
    max_size=3,
    unique_by=lambda row: row.site,
)
site_queries = st.builds(
    SiteQuery,
    search=st.one_of(st.sampled_from(["", "a", "B.", "a.example", "%", "_"]), st.text(max_size=5)),
    crawl=st.sampled_from([None, "news", "other"]),
    sort=st.sampled_from(SiteSort),
    is_ascending=st.booleans(),
)


def walk(index: HostIndex, query: HostQuery, limit: int) -> list[str]:
    found, after = list[str](), None
    while True:
        page = index.find_hosts(query, after, limit)
        assert len(page.items) <= limit
        found += [key for _, key in page.items]
        if (after := page.next) is None:
            assert page.total == len(found)
            return found


@given(rows_of_hosts, queries, st.integers(1, 9), st.sampled_from([0, 5, 20_000]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_pages_together_are_the_list_that_the_store_has(
    tmp_path: Path, rows: list[HostRow], query: HostQuery, limit: int, matches: int
) -> None:
    crawl = make_crawl(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_index, "MAX_MATCHES", matches)
        write_index(tmp_path / "hosts", rows, 5.0, show=host_reader(crawl, crawl.store()))
        index = HostIndex(tmp_path / "hosts")
        found = walk(index, query, limit)
        index.close()
    assert found == [one.host for one in read_hosts(crawl, query)]


def test_listed_hosts_are_searched_chosen_and_sorted() -> None:
    rows = [
        host("b.example", 3, crawls=["news"]),
        host("a.example", 5, BACKING_OFF),
        host("www.a.example", 5),
    ]
    crawl = make_crawl(rows)
    for query, names in (
        (HostQuery(), ["www.a", "a", "b"]),
        (HostQuery(is_ascending=True), ["b", "a", "www.a"]),
        (HostQuery(search="WWW."), ["www.a"]),
        (HostQuery(site=Site("a.example")), ["www.a", "a"]),
        (HostQuery(crawl="news"), ["b"]),
        (HostQuery(condition=BACKING_OFF), ["a"]),
        (HostQuery(cause="host_down"), ["a"]),
        (HostQuery(sort=HostSort.HOST), ["www.a", "b", "a"]),
    ):
        found = [one.host for one in read_hosts(crawl, query)]
        assert found == [f"https://{name}.example" for name in names], query


def test_all_hosts_of_a_large_site_are_listed() -> None:
    rows = [host(f"{n}.a.example", n) for n in range(1500)]
    (longest,) = read_hosts(make_crawl(rows), HostQuery(site=Site("a.example")), 1)
    assert longest.queued == 1499


@given(rows_of_hosts, rows_of_sites, site_queries, st.sampled_from([0, 20_000]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_pages_of_sites_together_are_the_list_that_the_store_has(
    tmp_path: Path, rows: list[HostRow], sites: list[SiteRow], query: SiteQuery, matches: int
) -> None:
    found, after = list[SiteSums](), None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_index, "MAX_MATCHES", matches)
        write_index(tmp_path / "hosts", rows, 5.0, sites)
        index = HostIndex(tmp_path / "hosts")
        while True:
            page = index.find_sites(query, after, 2)
            found += page.items
            if (after := page.next) is None:
                break
        index.close()
    assert len(found) == page.total
    listed = read_sites(make_crawl([*rows, *sites]), query)
    assert found == [
        SiteSums(**{name: getattr(one, name) for name in SiteSums.__struct_fields__})
        for one in listed
    ]
    assert all(one.refused_urls == sum(one.refused.values()) for one in listed)


def test_listed_sites_are_searched_chosen_and_sorted() -> None:
    refused = SiteCrawl(refused={"trap_urls": 7})
    rows: list[HostRow | SiteRow] = [
        host("b.example", 9, crawls=["news"]),
        host("a.example", 2, BACKING_OFF),
        host("www.a.example", 3),
        SiteRow(Site("c.example"), crawls={"news": refused}),
    ]
    crawl = make_crawl(rows)
    for query, names in (
        (SiteQuery(), ["a", "b", "c"]),
        (SiteQuery(sort=SiteSort.QUEUED), ["b", "a", "c"]),
        (SiteQuery(sort=SiteSort.REFUSED), ["c", "b", "a"]),
        (SiteQuery(sort=SiteSort.SITE, is_ascending=True), ["a", "b", "c"]),
        (SiteQuery(search="B.EX"), ["b"]),
        (SiteQuery(crawl="news"), ["b", "c"]),
        (SiteQuery(search="%"), []),
    ):
        found = [one.site for one in read_sites(crawl, query)]
        assert found == [f"{name}.example" for name in names], query
    (first, *_) = read_sites(crawl)
    assert (first.hosts, first.queued, first.backing_off) == (2, 5, 1)


def make_crawl(rows: Iterable[HostRow | SiteRow]) -> OpenCrawl:
    database = Database(":memory:")
    store = SqliteStore(database)
    put_rows(store, *rows)
    return OpenCrawl("hosts", SqliteLog(database), lambda: store)


def test_shown_hosts_are_current_and_erased_ones_are_left_out(tmp_path: Path) -> None:
    write_index(tmp_path / "hosts", [host("a.example", 9), host("b.example", 5)], 5.0)
    crawl = make_crawl([host("a.example", 1, BUSY)])
    page = HostIndex(tmp_path / "hosts").find_hosts(HostQuery())
    hosts = read_some_hosts(crawl, page.items)
    assert [(one.host, one.queued, one.condition) for one in hosts] == [
        ("https://a.example", 1, BUSY)
    ]
    assert (page.total, page.as_of) == (2, 5.0)


def test_search_goes_on_in_the_index_of_a_newer_scan(tmp_path: Path) -> None:
    rows = [host(f"{n:02}.example", n) for n in range(20)]
    write_index(tmp_path / "hosts", rows, 5.0)
    index, query = HostIndex(tmp_path / "hosts"), HostQuery()
    first = index.find_hosts(query, None, 10)
    # The last host of the page and one of the next page were erased, and another one was found.
    kept = [row for n, row in enumerate(rows) if n not in (10, 7)]
    write_index(tmp_path / "hosts", [*kept, host("new.example", 99)], 6.0)
    rest = index.find_hosts(query, first.next, 100)
    assert [key for _, key in first.items] == [f"https://{n:02}.example" for n in range(19, 9, -1)]
    assert [key for _, key in rest.items] == [
        f"https://{n:02}.example" for n in (9, 8, 6, 5, 4, 3, 2, 1, 0)
    ]
    assert (rest.next, rest.as_of) == (None, 6.0)


def test_index_of_a_folder_is_filled_from_its_table(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    opened = folder.create()
    opened.store.table(HostRow).put(host("a.example", 3))
    opened.store.flush()
    opened.database.close()
    index = HostIndex(tmp_path / "hosts")
    with pytest.raises(Unavailable, match="being read"):
        index.find_hosts(HostQuery())
    fill_index(tmp_path / "hosts", folder.path, None)
    assert index.find_hosts(HostQuery()).items == (("a.example", "https://a.example"),)


@pytest.mark.parametrize(
    "cursor", ["", "x", "[1]", "[1, 2]", '[[], "a"]', "{}", "null", '[1e30, "a"]', '[1, "\\ud800"]']
)
def test_invalid_cursors_are_refused(tmp_path: Path, cursor: str) -> None:
    write_index(tmp_path / "hosts", [host("a.example")], 5.0)
    with pytest.raises(BadSettings, match="cursor"):
        HostIndex(tmp_path / "hosts").find_hosts(HostQuery(), cursor)
    with pytest.raises(BadSettings, match="cursor"):
        HostIndex(tmp_path / "hosts").find_sites(after=cursor)


def test_work_of_a_search_is_linear_in_the_number_of_hosts(tmp_path: Path) -> None:
    path, index, size = tmp_path / "hosts.db", HostIndex(tmp_path / "hosts.db"), 1500
    sites = [
        SiteRow(Site(f"{n}.example"), crawls={DEFAULT_CRAWL: SiteCrawl()}) for n in range(size)
    ]
    write_index(path, (host(f"{n}.example", n) for n in range(size)), 1.0, sites)
    index.scan_seconds()
    thousands = 0

    def count() -> None:
        nonlocal thousands
        thousands += 1

    index._open().set_progress_handler(count, 1000)
    found = index.find_hosts(HostQuery(crawl=DEFAULT_CRAWL))
    assert found.total == index.find_sites(SiteQuery(crawl=DEFAULT_CRAWL)).total == size
    assert index.find_hosts(HostQuery(crawl=DEFAULT_CRAWL, search="zz")).total == 0
    assert thousands < size / 5, "at most 100 steps for each host and site"
    index.close()
