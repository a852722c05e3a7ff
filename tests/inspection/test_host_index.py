"""The index of hosts: pages of a sorted, filtered list, over several scans."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gossamer.errors import BadSettings, Unavailable
from gossamer.events import DEFAULT_CRAWL
from gossamer.log.sqlite import SqliteLog
from gossamer.sqlite import Database
from gossamer.store.sqlite import SqliteStore
from gossamer.web.url import site_of
from inspection import host_index
from inspection.crawl import OpenCrawl
from inspection.folder import Folder, Opened
from inspection.host_index import (
    HostIndex,
    HostQuery,
    HostSort,
    IndexedSite,
    SiteSort,
    fill_index,
    search_hosts,
    write_index,
)
from inspection.hosts import Host, host_of
from services.frontier.conditions import Condition
from services.frontier.rows import HostCrawl, HostRow, HostTotals, NewQueues, Politeness

BUSY, IDLE, BACKING_OFF = Condition.DELAYED, Condition.IDLE, Condition.BACKING_OFF


def host(name: str, queued: int = 0, condition: Condition = IDLE, pages: int = 0) -> HostRow:
    key = f"https://{name}"
    return HostRow(
        site_of(f"{key}/"),
        key,
        condition,
        backoff_cause="host_down" if condition is BACKING_OFF else None,
        crawls={DEFAULT_CRAWL: HostCrawl(NewQueues(queued=queued))},
        totals=HostTotals(pages=pages, visits=2 * pages),
        politeness=Politeness(delay=1.0 + pages),
    )


rows_of_hosts = st.lists(
    st.builds(
        host,
        st.from_regex(r"[a-c]{1,3}\.(x|y%|z_)?[ab]\.example", fullmatch=True),
        st.integers(0, 3),
        st.sampled_from([BUSY, IDLE, BACKING_OFF]),
        st.integers(0, 2),
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
    site=st.sampled_from(["", "a.example"]),
    sort=st.sampled_from(HostSort),
    is_ascending=st.booleans(),
)


def walk(index: HostIndex, query: HostQuery, limit: int) -> list[str]:
    found, after = list[str](), None
    while True:
        keys, page = index.find_hosts(query, after, limit)
        assert len(keys) <= limit
        found += [key for _, key in keys]
        if (after := page.next) is None:
            assert page.total == len(found)
            return found


def is_chosen(one: Host, query: HostQuery) -> bool:
    return (
        query.search.strip().lower() in one.host
        and query.condition in (None, one.condition)
        and query.cause in (None, one.backoff_cause)
        and query.site in ("", one.site)
    )


@given(rows_of_hosts, queries, st.integers(1, 9), st.sampled_from([0, 5, 20_000]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_pages_together_are_the_sorted_list(
    tmp_path: Path, rows: list[HostRow], query: HostQuery, limit: int, matches: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_index, "MAX_MATCHES", matches)
        write_index(tmp_path / "hosts", rows, 5.0)
        index = HostIndex(tmp_path / "hosts")
        found = walk(index, query, limit)
        index.close()
    chosen = [one for one in map(host_of, rows) if is_chosen(one, query)]
    by: Callable[[Host], Any] = lambda one: (getattr(one, query.sort.value), one.host)  # noqa: E731
    assert found == [one.host for one in sorted(chosen, key=by, reverse=not query.is_ascending)]


@pytest.mark.parametrize("sort", SiteSort)
@pytest.mark.parametrize("is_ascending", [True, False])
def test_pages_of_sites_together_are_the_sorted_list(
    tmp_path: Path, sort: SiteSort, is_ascending: bool
) -> None:
    names = [f"{n % 3}.{n % 7}site.example" for n in range(40)]
    rows = {
        name: host(name, n % 4, BACKING_OFF if n % 5 else IDLE, n) for n, name in enumerate(names)
    }
    write_index(tmp_path / "hosts", rows.values(), 5.0)
    index, found, after = HostIndex(tmp_path / "hosts"), list[IndexedSite](), None
    while True:
        page = index.find_sites("", sort, is_ascending, after, 2)
        found += page.sites
        if (after := page.next) is None:
            break
    assert sum(site.hosts for site in found) == len(rows)
    assert len({site.site for site in found}) == len(found) == page.total
    keys = [(getattr(site, sort.value), site.site) for site in found]
    assert keys == sorted(keys, reverse=not is_ascending)
    assert [site.site for site in index.find_sites("3SITE").sites] == ["3site.example"]
    for search in ("%", "\0", "\ud800", "nothing"):
        assert index.find_sites(search).sites == ()


def make_crawl(rows: Iterable[HostRow]) -> OpenCrawl:
    database = Database(":memory:")
    store = SqliteStore(database)
    for row in rows:
        store.table(HostRow).put(row)
    store.flush()
    return OpenCrawl("hosts", SqliteLog(database), lambda: store)


def test_shown_hosts_are_current_and_erased_ones_are_left_out(tmp_path: Path) -> None:
    write_index(tmp_path / "hosts", [host("a.example", 9), host("b.example", 5)], 5.0)
    crawl = make_crawl([host("a.example", 1, BUSY)])
    page = search_hosts(crawl, HostIndex(tmp_path / "hosts"), HostQuery())
    assert [(one.host, one.queued, one.condition) for one in page.hosts] == [
        ("https://a.example", 1, BUSY)
    ]
    assert (page.total, page.as_of) == (2, 5.0)


def test_search_goes_on_in_the_index_of_a_newer_scan(tmp_path: Path) -> None:
    rows = [host(f"{n:02}.example", n) for n in range(20)]
    write_index(tmp_path / "hosts", rows, 5.0)
    index, query = HostIndex(tmp_path / "hosts"), HostQuery()
    first, page = index.find_hosts(query, None, 10)
    # The last host of the page and one of the next page were erased, and another one was found.
    kept = [row for n, row in enumerate(rows) if n not in (10, 7)]
    write_index(tmp_path / "hosts", [*kept, host("new.example", 99)], 6.0)
    rest, last = index.find_hosts(query, page.next, 100)
    assert [key for _, key in first] == [f"https://{n:02}.example" for n in range(19, 9, -1)]
    assert [key for _, key in rest] == [
        f"https://{n:02}.example" for n in (9, 8, 6, 5, 4, 3, 2, 1, 0)
    ]
    assert (last.next, last.as_of) == (None, 6.0)


def test_summary_counts_conditions_and_causes(tmp_path: Path) -> None:
    rows = [host("a.example", 1, BUSY), host("b.a.example", 1, BACKING_OFF), host("c.example")]
    write_index(tmp_path / "hosts", rows, 5.0)
    found = HostIndex(tmp_path / "hosts").summarize()
    assert (found.hosts, found.sites, found.causes) == (3, 2, {"host_down": 1})
    assert found.conditions == {BUSY: 1, BACKING_OFF: 1, IDLE: 1}


def test_index_of_a_folder_is_filled_from_its_table(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "data")
    folder.make()
    opened = Opened(folder)
    opened.store.table(HostRow).put(host("a.example", 3))
    opened.store.flush()
    opened.database.close()
    index = HostIndex(tmp_path / "hosts")
    with pytest.raises(Unavailable, match="being read"):
        index.find_hosts(HostQuery())
    fill_index(tmp_path / "hosts", folder.path, None)
    assert index.find_hosts(HostQuery())[0] == [("a.example", "https://a.example")]


@pytest.mark.parametrize(
    "cursor", ["", "x", "[1]", "[1, 2]", '[[], "a"]', "{}", "null", '[1e30, "a"]', '[1, "\\ud800"]']
)
def test_invalid_cursors_are_refused(tmp_path: Path, cursor: str) -> None:
    write_index(tmp_path / "hosts", [host("a.example")], 5.0)
    with pytest.raises(BadSettings, match="cursor"):
        HostIndex(tmp_path / "hosts").find_hosts(HostQuery(), cursor)
    with pytest.raises(BadSettings, match="cursor"):
        HostIndex(tmp_path / "hosts").find_sites(after=cursor)
