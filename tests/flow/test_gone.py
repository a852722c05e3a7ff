"""Documents that are gone: from the fetcher's response to the tombstone, through random crashes."""

from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.events import DEFAULT_CRAWL, PageFetched, Tombstone, Verdict, Visit
from gossamer.events.topics import PAGES
from gossamer.log.codec import encode, split_key, tombstone
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables.urls import HistoryRow, VerdictRow
from gossamer.web.url import Site, host_key, site_of
from tests.flow.torn import Fate
from tests.flow.virtual import START, VirtualCrawl

HTML = ("Content-Type", "text/html")
SITE = "http://a.test"
SEED, LATER = f"{SITE}/", START + 1e6
PATHS = ("moved", "removed", "hidden", "missing", "refused", "stays")
ANSWERS: dict[str, list[Reply]] = {
    "moved": [Reply(status=301, headers=(("Location", "/new"),))],
    "removed": [Reply(status=410)],
    "hidden": [Reply(status=200, headers=(HTML, ("X-Robots-Tag", "noindex")), body=b"words")],
    "missing": [Reply(status=404), Reply(status=404)],
    "refused": [Reply(status=403), Reply(status=403)],
    "never": [Reply(status=410)],
}
"""The answers of each path to later visits."""
REASONS = {"moved": "moved", "removed": "removed", "hidden": "noindex", "missing": "missing"}


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    path = url.removeprefix(SEED)
    links = "".join(f"<a href=/{path}>a link</a>" for path in PATHS) if not path else ""
    known = not path or path in PATHS
    body = f"<title>{path}</title>This is {path} {links}".encode()
    status = 200 if known else 404
    return 0.1, Reply(status=status, headers=(HTML,), body=body)


def later_visits() -> Iterable[PageFetched]:
    """Yield the fetcher's events of later visits."""
    for path, replies in ANSWERS.items():
        for number, reply in enumerate(replies):
            url, at = f"{SEED}{path}", LATER + number * 86400.0
            yield PageFetched(
                at=at,
                site=site_of(url),
                host=host_key(url),
                visit=Visit(f"9.{number}.0@{url}", url),
                started_at=at,
                took=0.1,
                status=reply.status,
                headers=reply.headers,
                body=reply.body,
            )


@pytest.mark.slow
@pytest.mark.parametrize("examples", [12, pytest.param(40, marks=pytest.mark.long)])
def test_tombstones_have_their_reasons_through_crashes(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(
        before=st.lists(st.integers(0, 60), max_size=3),
        after=st.lists(st.integers(0, 20), max_size=6),
        seed=st.integers(0, 1 << 16),
    )
    def check(before: list[int], after: list[int], seed: int) -> None:
        with TemporaryDirectory() as folder:
            crawl = VirtualCrawl(Path(folder), web, Fate(seed), lease_slack=10.0)
            crawl.define(SEED)
            crawl.die(*before)
            assert crawl.run()
            later = [*later_visits()]
            crawl.now = max(page.started_at for page in later)
            crawl.log.append([encode(page) for page in later])
            crawl.die(*after)
            assert crawl.run()
            crawl.archive.close()
        newest = {split_key(record.key)[1]: record for record in crawl.records(PAGES.name)}
        gone = {
            url.removeprefix(SEED): tombstone(record)
            for url, record in newest.items()
            if not record.value
        }
        assert {path: one.reason for path, one in gone.items()} == REASONS
        assert gone["moved"] == Tombstone(
            DEFAULT_CRAWL,
            f"{SEED}moved",
            Site(""),
            verdict=Verdict.REDIRECT,
            redirects_to=f"{SEED}new",
            reason="moved",
            at=LATER,
            status=301,
            trace="",
        )
        there = {url.removeprefix(SEED) for url, record in newest.items() if record.value}
        assert there == {"", "stays", "refused"}

    check()


@pytest.mark.slow
def test_history_of_a_gone_page_has_the_verdict_of_its_tombstone(tmp_path: Path) -> None:
    def vanishing(url: str, now: float) -> tuple[float, Reply | Failure]:
        path = url.removeprefix(SEED)
        if now < START + 86400.0 or path not in ("missing", "moved"):
            return web(url, now)
        location = (("Location", "/new"),) if path == "moved" else ()
        status = 301 if location else 404
        return 0.1, Reply(status=status, headers=location)

    crawl = VirtualCrawl(tmp_path, vanishing)
    crawl.define(SEED, revisit="fixed:1d")
    crawl.run(until=START + 4 * 86400.0)
    store, verdicts = crawl._store(), {}
    for path in ("missing", "moved"):
        visits = store.table(HistoryRow).scan((DEFAULT_CRAWL, f"{SEED}{path}"))
        verdicts[path] = [(row.outcome, row.verdict) for row in reversed(visits)]
        last = store.table(VerdictRow).get((DEFAULT_CRAWL, SITE), f"{SEED}{path}")
        assert last and (last.verdict, last.redirects_to) == (
            ("redirect", f"{SEED}new") if path == "moved" else ("gone", "")
        )
    assert verdicts["missing"][:3] == [("page", "first"), ("gone", ""), ("gone", "gone")]
    assert verdicts["moved"][:2] == [("page", "first"), ("page", "unchanged")]
    assert verdicts["moved"][2] == ("redirect", "redirect")
    tombstones = {
        split_key(record.key)[1]: tombstone(record)
        for record in crawl.records(PAGES.name)
        if not record.value
    }
    assert tombstones[f"{SEED}missing"].verdict == "gone"
    assert tombstones[f"{SEED}moved"].redirects_to == f"{SEED}new"
