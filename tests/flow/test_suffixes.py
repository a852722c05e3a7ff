"""A crawl continues with a newer Public Suffix List: hosts are of other sites, and nothing is lost.

The lists are the published ones of November 2024 and of October 2026.
"""

import zlib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from gossamer.console.cli.main import main
from gossamer.errors import GossamerError
from gossamer.events import SiteOverridden
from gossamer.inspection.basics import folder as folder_module
from gossamer.inspection.basics.folder import Folder
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog
from gossamer.procedures.copying import Side
from gossamer.procedures.suffixes import apply_suffixes
from gossamer.runtime import identity
from gossamer.runtime.identity import check_identity, identify
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.partition.parked import ParkedRow
from gossamer.services.frontier.tables.hosts import HostRow
from gossamer.services.frontier.tables.sites import ParkedPartsRow, SiteRow
from gossamer.services.frontier.totals.tally import TallyRow
from gossamer.sqlite import Database
from gossamer.web.suffixes import SuffixList, packaged_list, use_list
from gossamer.web.url import site_of
from tests.flow.torn import Died, Fate
from tests.flow.virtual import START, VirtualCrawl, Web

DIFFERENCES = Path(__file__).with_name("public_suffix_list_2024.diff")
HOUR = 3600.0
DELAY = 5.0
PAGES = 4
"""Pages of each host."""
SEED = "http://start.test/0"


def read_differences(mark: str) -> list[str]:
    lines = DIFFERENCES.read_text().splitlines()
    return [line[1:] for line in lines if line.startswith(mark)]


@cache
def older_list() -> SuffixList:
    rules = zlib.decompress(packaged_list().packed).decode().splitlines()
    rules = [one for one in rules if one not in {*read_differences("-")}]
    return SuffixList(
        "2024-11-27", zlib.compress("\n".join(rules + read_differences("+")).encode())
    )


def changed_suffixes() -> list[str]:
    """Return some suffixes that only one of the lists has."""
    plain = [
        [one for one in read_differences(mark) if "*" not in one and one.count(".") == 1]
        for mark in "+-"
    ]
    return [one for found in plain for one in found[:: len(found) // 3] if one.isascii()]


HOSTS = [f"{name}.{suffix}" for suffix in changed_suffixes() for name in ("one", "www.two")]
LINKS = {
    f"http://{host}/{number}": [
        f"http://{host}/{(number + 1) % PAGES}",
        f"http://{HOSTS[(at + 1) % len(HOSTS)]}/{number}",
    ]
    for at, host in enumerate(HOSTS)
    for number in range(PAGES)
} | {SEED: [f"http://{HOSTS[at]}/0" for at in range(0, len(HOSTS), 3)]}


def web(url: str, now: float, text: str = "") -> tuple[float, Reply | Failure]:
    """Answer with a page that has a text of its own, unless *text* is given."""
    if url not in LINKS:
        return 0.1, Reply(status=404)
    words = text or " ".join(f"{word}{url}" for word in ("page", "about", "things", "of"))
    anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in LINKS[url])
    body = f"<html><title>{text or url}</title><body><p>{words}</p>{anchors}".encode()
    headers = (("Content-Type", "text/html; charset=utf-8"),)
    return 0.1, Reply(status=200, headers=headers, body=body)


def equal_pages(url: str, now: float) -> tuple[float, Reply | Failure]:
    return web(url, now, "the same text")


@pytest.fixture(autouse=True)
def _older(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Begin crawls with the list of 2024."""
    older = older_list()
    monkeypatch.setattr(identity, "packaged_list", lambda: older)
    use_list(older)
    yield
    use_list(packaged_list())


def begin(
    folder: Path, fate: Fate | None = None, web: Web = web, **options: object
) -> VirtualCrawl:
    crawl = VirtualCrawl(folder, web, fate, delay=DELAY, **options)
    identify(crawl.log, crawl._store(), START)
    crawl.start()
    crawl.define(SEED, revisit="fixed:1h")
    return crawl


def side_of(crawl: VirtualCrawl) -> Side:
    is_folder = not crawl.has_changelog
    return Side("the crawl", crawl.log, crawl._store(), is_folder, crawl.log.partitions)


def apply(crawl: VirtualCrawl) -> list[str]:
    lines = [*apply_suffixes(side_of(crawl), crawl.now)]
    crawl.crash()
    return lines


def all_tallies(crawl: VirtualCrawl) -> list[TallyRow]:
    return crawl.rows(TallyRow)


def test_lists_differ_for_all_hosts_of_the_test() -> None:
    before = [site_of(f"http://{host}/") for host in HOSTS]
    use_list(packaged_list())
    assert all(site_of(f"http://{h}/") != s for h, s in zip(HOSTS, before, strict=True))
    assert len(HOSTS) >= 12


@pytest.mark.parametrize(
    ("seconds", "partitions"),
    [
        (21.0, None),
        (4.0, 12),
        *(pytest.param(*one, marks=pytest.mark.long) for one in ((4.0, None), (60.0, None))),
        *(pytest.param(*one, marks=pytest.mark.long) for one in ((21.0, 12), (60.0, 12))),
    ],
)
def test_crawl_continues_where_it_was(
    seconds: float, partitions: int | None, tmp_path: Path
) -> None:
    crawl = begin(tmp_path, partitions=partitions)
    crawl.run(until=START + seconds)
    hosts = {url.split("/")[2] for _, _, url in crawl.requests}
    assert apply(crawl)[0].startswith("sites: changed for")
    crawl.run(until=START + HOUR / 2)
    visits = Counter(url for _, _, url in crawl.requests if url in LINKS)
    assert visits.keys() == LINKS.keys()
    # Requests that are in flight when a crawl stops are repeated: at most one for each host.
    assert sum(visits.values()) <= len(LINKS) + len(hosts)
    assert min(crawl.gaps()) > 0.97 * DELAY


def test_pages_are_revisited_at_their_times(tmp_path: Path) -> None:
    times = list[dict[str, float]]()
    for name, change in (("changed", apply), ("same", VirtualCrawl.crash)):
        use_list(older_list())
        crawl = begin(tmp_path / name)
        crawl.run(until=START + 600)
        change(crawl)
        crawl.run(until=START + 1.5 * HOUR)
        times.append({url: start for start, _, url in crawl.requests if start > START + 600})
    changed, same = times
    assert changed.keys() == same.keys() >= LINKS.keys()
    assert all(abs(changed[url] - same[url]) < 60 for url in LINKS)


def test_hosts_and_totals_are_those_of_the_new_sites(tmp_path: Path) -> None:
    crawl = begin(tmp_path)
    crawl.run(until=START + 12)
    apply(crawl)
    store = crawl._store()
    hosts = [*store.table(HostRow).everything()]
    assert {row.host: row.site for row in hosts} == {
        row.host: site_of(f"{row.host}/") for row in hosts
    }
    counts = Counter(row.site for row in hosts)
    assert {row.site: row.hosts for row in store.table(SiteRow).everything()} == counts
    crawl.run(until=START + 900)
    assert sum(row.queued for row in all_tallies(crawl)) == 0


def test_settings_of_a_site_hold_for_the_sites_that_it_becomes(tmp_path: Path) -> None:
    crawl = begin(tmp_path)
    host = next(h for h in HOSTS if h.startswith("www.two.") and site_of(f"http://{h}/") != h[4:])
    crawl.log.append([encode(SiteOverridden(at=START, site=site_of(f"http://{host}/"), off=True))])
    crawl.run(until=START + 60)
    apply(crawl)
    crawl.run(until=START + 900)
    assert not [url for _, _, url in crawl.requests if url.startswith(f"http://{host}/")]


def test_second_apply_changes_nothing(tmp_path: Path) -> None:
    crawl = begin(tmp_path)
    crawl.run(until=START + 30)
    apply(crawl)
    assert apply(crawl) == [
        f"the crawl has the suffix list of {packaged_list().version}: nothing to do"
    ]


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 40))]
)
def test_crash_before_any_write_is_repaired_by_a_second_call(seed: int, tmp_path: Path) -> None:
    fate = Fate(seed)
    crawl = begin(tmp_path, fate)
    crawl.run(until=START + 30)
    fate.left = fate.random.randrange(150)
    with pytest.raises(Died):
        apply(crawl)
    fate.left = None
    with pytest.raises(GossamerError, match="run gossamer suffixes apply again"):
        check_identity(crawl.log, crawl._store())
    apply(crawl)
    check_identity(crawl.log, crawl._store())
    crawl.run(until=START + HOUR / 2)
    visits = Counter(url for _, _, url in crawl.requests if url in LINKS)
    assert visits.keys() == LINKS.keys()
    assert min(crawl.gaps()) > 0.97 * DELAY


def test_urls_that_a_budget_has_parked_are_parked_at_their_new_sites(tmp_path: Path) -> None:
    crawl = begin(tmp_path, web=equal_pages, url_budget=1)
    crawl.run(until=START + 300)
    found = requested(crawl) | parked(crawl)
    assert parked(crawl) - requested(crawl)
    apply(crawl)
    crawl.run(until=START + HOUR / 2)
    assert found <= requested(crawl) | parked(crawl)
    rows = crawl.rows(ParkedPartsRow)
    assert {row.site for row in rows} <= {site_of(url) for url in LINKS}
    assert sum(sum(row.parked.values()) for row in all_tallies(crawl)) >= len(parked(crawl))


def test_command_changes_a_folder_that_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folder_module, "LOCK_TIMEOUT", 0.0)
    folder = Folder(tmp_path / "data")
    folder.make()
    crawl = VirtualCrawl(folder.warc, web, delay=DELAY)
    crawl.database = Database(folder.database)
    crawl.log = SqliteLog(crawl.database)
    crawl.crash()
    identify(crawl.log, crawl._store(), START)
    crawl.define(SEED)
    crawl.run(until=START + 30)
    crawl.archive.release()
    command = ["suffixes", "apply", "--data", str(folder.path)]
    assert main(command) == 0
    assert "The crawl has the suffix list of 2026" in capsys.readouterr().out
    crawl.crash()
    crawl.run(until=START + HOUR / 2)
    assert requested(crawl) == LINKS.keys()


def test_folder_of_a_running_crawl_is_not_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(folder_module, "LOCK_TIMEOUT", 0.0)
    folder = Folder(tmp_path / "data")
    opened = folder.create()
    identify(opened.log, opened.store, START)
    folder.lock()
    assert main(["suffixes", "apply", "--data", str(folder.path)]) == 1
    assert "is running" in capsys.readouterr().err


def requested(crawl: VirtualCrawl) -> set[str]:
    return {url for _, _, url in crawl.requests if url in LINKS}


def parked(crawl: VirtualCrawl) -> set[str]:
    rows = crawl.rows(ParkedRow)
    return {found.url for row in rows for found in row.urls}
