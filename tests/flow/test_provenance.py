"""The origin of a URL is in every event and row about it, from the seed to the outcome."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gossamer import events
from gossamer.events import DEFAULT_CRAWL, Event, Outcome, SeedAdded
from gossamer.events.topics import PAGES
from gossamer.log.codec import decode, encode
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.services.frontier.tables import plans, urls
from gossamer.services.frontier.tables.plans import PlanRow
from gossamer.services.frontier.tables.urls import Origin, QueuedUrl, RequisiteRow, UrlRow
from gossamer.settings import ArchiveSettings
from gossamer.web.url import fingerprint, host_key
from tests.flow.virtual import START, VirtualCrawl

CRAWL = "default"
ORIGIN_FIELDS = {"depth", "origin"}
"""A struct with one of these fields has the origin of a URL."""
SEED, PAGE, FLAKY, MOVED = (f"http://a.test/{path}" for path in ("", "page", "flaky", "moved"))
TARGET, DOWN, IMAGE = "http://b.test/target", "http://down.test/", "http://a.test/image"
LINKS = {SEED: (PAGE, FLAKY, MOVED), PAGE: (DOWN,)}

EXPECTED: dict[str, dict[str, object]] = {
    SEED: {"depth": 3, "hops": 0, "via": "a list of mine", "duplicates": 0},
    PAGE: {"depth": 4, "hops": 0, "via": SEED},
    FLAKY: {"depth": 4, "hops": 0, "via": SEED},
    MOVED: {"depth": 4, "hops": 0, "via": SEED},
    TARGET: {"depth": 4, "hops": 1, "via": MOVED},
    DOWN: {"depth": 5, "hops": 0, "via": PAGE},
    IMAGE: {"depth": 5, "hops": 0, "via": PAGE},
}


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    """Answer as each page requires. The host that is down does not serve its robots.txt either."""
    if url.startswith(DOWN):
        return 0.1, Failure(outcome=Outcome.HOST_DOWN, reason="refused", started_at=now, took=0.1)
    status, headers = 200, (("Content-Type", "text/html"),)
    if url.endswith("/robots.txt"):
        status = 404
    if url == MOVED:
        status, headers = 302, (("Location", TARGET),)
    if url == FLAKY and now < START + 100:
        status = 500
    links = "".join(f'<a href="{link}">a link</a>' for link in LINKS.get(url, ()))
    links += f"<img src={IMAGE}>" if url == PAGE else ""
    body = f"<title>{url}</title><h1>This is {url}</h1>{links}".encode()
    return 0.1, Reply(status=status, headers=headers, body=body)


def run_crawl(folder: Path) -> tuple[VirtualCrawl, list[Event]]:
    """Return a finished crawl and all of its events."""
    archive = ArchiveSettings(requisites="all")
    crawl = VirtualCrawl(folder, web, retries=1, batch=2, archive=archive)
    events = list[Event]()
    for service in crawl.services:
        _record_events(service, events)
    crawl.define()
    seed = SeedAdded(url=SEED, crawl=CRAWL, depth=3, via=str(EXPECTED[SEED]["via"]))
    crawl.log.append([encode(seed)])
    assert crawl.run()
    crawl.archive.close()
    read = (decode(record) for record in crawl.records(PAGES.name))
    return crawl, [*events, *(event for event in read if isinstance(event, Event))]


def _record_events(service: Any, events: list[Event]) -> None:
    handle = service.handle

    def record_and_handle(event: Event, now: float) -> Any:
        events.append(event)
        return handle(event, now)

    service.handle = record_and_handle


def structs_with_origin(part: object) -> Iterator[Any]:
    """Yield every struct within *part* that has the origin of a page's URL."""
    if isinstance(part, tuple):
        for one in part:
            yield from structs_with_origin(one)
    if isinstance(part, msgspec.Struct):
        if ORIGIN_FIELDS & {*part.__struct_fields__} and not part.url.endswith("/robots.txt"):  # type: ignore[attr-defined]
            yield part
        for name in part.__struct_fields__:
            yield from structs_with_origin(getattr(part, name))


def stored_rows(crawl: VirtualCrawl) -> Iterator[PlanRow | QueuedUrl | RequisiteRow | UrlRow]:
    """Yield the rows of all URLs, with the buckets of queues that are not deleted yet.

    Pages have a plan although their policy is `none`: another policy may plan them.
    """
    store = crawl._store()
    for url in EXPECTED.keys() - {IMAGE}:
        yield store.table(UrlRow).get((DEFAULT_CRAWL, host_key(url)), url)
    yield from store.table(RequisiteRow).everything()
    yield from store.table(QueuedUrl).everything()
    yield from store.table(PlanRow).everything()


def assert_origin(struct: Any) -> None:
    """Assert that the origin in *struct* is the expected one."""
    expected = {**EXPECTED[struct.url], "trace": fingerprint(struct.url), "crawl": CRAWL}
    values = msgspec.structs.asdict(struct)
    if "origin" in values:
        values |= msgspec.structs.asdict(values["origin"])
    for name in expected.keys() & values.keys():
        found = values[name]
        if name == "via" and "@" in found:
            found = found.partition("@")[2]  # The id of a visit is `epoch.order.index@url`.
        assert found == expected[name], f"{name} of {struct}"


def test_origin_is_complete_in_all_events_and_rows(tmp_path: Path) -> None:
    crawl, recorded = run_crawl(tmp_path)
    crawls = {one.crawl for one in recorded if not isinstance(one, events.CrawlDefined)}
    assert crawls == {CRAWL}
    found_structs = [*structs_with_origin(tuple(recorded)), *stored_rows(crawl)]
    for struct in found_structs:
        assert_origin(struct)
    kinds = [kind for module in (events, plans, urls) for kind in vars(module).values()]
    structs = [k for k in kinds if isinstance(k, type) and issubclass(k, msgspec.Struct)]
    assert {type(one) for one in found_structs} == {
        k for k in structs if ORIGIN_FIELDS & {*k.__struct_fields__}
    } - {Origin}


def test_retried_visit_has_its_attempt_number(tmp_path: Path) -> None:
    crawl, recorded = run_crawl(tmp_path)
    ended = [event.visit for event in recorded if isinstance(event, events.VisitEnded)]
    assert [visit.attempt for visit in ended if visit.url == FLAKY] == [0, 1]
    rows = [*stored_rows(crawl)]
    known = {row.url: (row.earlier, row.attempt) for row in rows if isinstance(row, UrlRow)}
    assert known == dict.fromkeys((SEED, PAGE, FLAKY, MOVED, TARGET, DOWN), (1, 0))
    queued = [row.attempt for row in rows if isinstance(row, QueuedUrl) and row.url == FLAKY]
    assert queued == [0, 1]
