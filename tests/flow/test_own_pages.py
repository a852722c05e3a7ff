"""Two crawls of overlapping hosts: each consumer gets the pages and captures of its own crawl."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gossamer.events import DEFAULT_CRAWL, PageArchived, RefetchRequested, SeedAdded
from gossamer.events.topics import DEAD_LETTERS, PAGES, PAGES_ARCHIVED
from gossamer.log.codec import crawl_of, decode, encode, split_key
from gossamer.services.archive.segments import is_of_crawl
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.archive.harness import files, records
from tests.flow.virtual import VirtualCrawl

SHARED, OF_A, OF_B = "http://shared.test", "http://a.test", "http://b.test"
A, B = DEFAULT_CRAWL, "b"
HOSTS = {A: (SHARED, OF_A), B: (SHARED, OF_B)}
SCOPES = {A: "domain('shared.test', 'a.test')", B: "domain('shared.test', 'b.test')"}
COUNT = 8
HTML = (("Content-Type", "text/html"),)


def web(is_gone: Callable[[], bool]) -> Callable[[str, float], tuple[float, Reply | Failure]]:
    """Return a Web in which each page links to two others, and one of the shared host may be
    gone."""

    def serve(url: str, now: float) -> tuple[float, Reply | Failure]:
        host, _, name = url.rpartition("/")
        if not name.isdigit() or (url == f"{SHARED}/1" and is_gone()):
            return 0.1, Reply(status=410)
        links = (f"{host}/{n}" for n in (2 * int(name) + 1, 2 * int(name) + 2) if n < COUNT)
        anchors = "".join(f'<p><a href="{link}">a link</a></p>' for link in links)
        body = f"<html><title>{url}</title><body><h1>This is {url}</h1>{anchors}".encode()
        return 0.1, Reply(status=200, headers=HTML, body=body)

    return serve


@pytest.fixture
def crawl(tmp_path: Path) -> VirtualCrawl:
    """Both crawls have ended, B with a topic of its own, and then found a shared page gone."""
    gone = list[str]()
    crawl = VirtualCrawl(tmp_path, web(lambda: bool(gone)))
    for name, hosts in HOSTS.items():
        crawl.define(scope=SCOPES[name], crawl=name, own_topic=name == B)
        seeds = (SeedAdded(url=f"{host}/0", crawl=name) for host in hosts)
        crawl.log.append(map(encode, seeds))
    assert crawl.run()
    gone.append(f"{SHARED}/1")
    again = {"site": "shared.test", "host": SHARED, "urls": (f"{SHARED}/1",)}
    crawl.log.append([encode(RefetchRequested(at=crawl.now, crawl=B, **again))])  # type: ignore[arg-type]
    assert crawl.run()
    crawl.archive.close()
    return crawl


def urls(name: str) -> set[str]:
    return {f"{host}/{number}" for host in HOSTS[name] for number in range(COUNT)}


def test_each_topic_has_the_documents_of_its_crawl(crawl: VirtualCrawl) -> None:
    assert crawl.records(DEAD_LETTERS.name) == []
    for name, topic in ((A, PAGES.name), (B, f"pages.{B}")):
        newest = {split_key(record.key): record for record in crawl.records(topic)}
        assert newest.keys() == {(name, url) for url in urls(name)}
        for record in newest.values():
            assert dict(record.headers)["crawl"] == name
            assert not record.value or decode(record).crawl == name
        # The page is gone for the crawl that has visited it again. The other one still has it.
        gone = {url for (_, url), record in newest.items() if not record.value}
        assert gone == ({f"{SHARED}/1"} if name == B else set())


def test_each_file_has_the_captures_of_its_crawl(crawl: VirtualCrawl, tmp_path: Path) -> None:
    captures = [decode(record) for record in crawl.records(PAGES_ARCHIVED.name)]
    for record in crawl.records(PAGES_ARCHIVED.name):
        assert crawl_of(record) == dict(record.headers)["crawl"] == decode(record).crawl
    for name in HOSTS:
        of_crawl = [one for one in captures if isinstance(one, PageArchived) and one.crawl == name]
        assert {one.url for one in of_crawl} == urls(name)
        assert all(is_of_crawl(one.file, name) for one in of_crawl)
        targets = {
            headers.get("WARC-Target-URI", "")
            for path in files(tmp_path)
            if is_of_crawl(path.name, name)
            for headers, _ in records(path)
        }
        assert {url for url in targets if url.rpartition("/")[2].isdigit()} == urls(name)
