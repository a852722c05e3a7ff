"""Who appends to which topic is what the topics say of their producers."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from gossamer.events import ErasureRequested
from gossamer.events.topics import DEAD_LETTERS, TOPICS, URLS_SEEN
from gossamer.log import Message, Record
from gossamer.log.codec import encode
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.store import Store
from services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl

HTML = (("Content-Type", "text/html"),)
WEB = {
    "http://a.test/": Reply(status=200, headers=HTML, body=b"<a href=/moved></a><a href=/no></a>"),
    "http://a.test/moved": Reply(status=301, headers=(("Location", "/"),)),
    "http://c.test/robots.txt": Reply(
        status=301, headers=(("Location", "http://a.test/robots.txt"),)
    ),
}


class Noted(SqliteLog):
    """A log that knows which group's advance appended to which topic."""

    pairs: set[tuple[str, str]]

    def reader(self, group: str, topics: Sequence[str], store: Store) -> SqliteReader:
        """Return a reader whose appends are noted."""
        reader = super().reader(group, topics, store)
        advance = reader.advance

        def noting(records: Iterable[Record], messages: Iterable[Message]) -> bool:
            appended = list(messages)
            self.pairs.update((group, message.topic) for message in appended)
            return advance(records, appended)

        reader.advance = noting  # type: ignore[method-assign]
        return reader


def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
    return 0.1, WEB.get(url, Reply(status=404, headers=HTML))


def test_services_append_to_the_topics_that_name_them_and_to_no_others(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, answer, delay=1.0)
    noted = Noted(crawl.database)
    noted.pairs, crawl.log = set(), noted
    crawl.start()
    for topic in TOPICS.values():
        if topic.consumers:
            crawl.log.append([Message(topic.name, "k", b"garbage{", "k")])
    crawl.sow("http://a.test/", max_depth=0)
    assert crawl.run()
    crawl.sow(max_depth=16)
    assert crawl.run()
    crawl.sow("http://c.test/")  # Its rules lie at a.test, and are known there.
    assert crawl.run()
    crawl.log.append([encode(ErasureRequested(at=crawl.now, site="c.test"))])
    assert crawl.run()
    crawl.archive.close()
    assert noted.pairs == {
        (service, topic.name)
        for topic in TOPICS.values()
        for service in topic.producers
        if service != "operators" and topic is not URLS_SEEN
    }, "a folder has no changelog: its set is a table of the store"
    assert crawl.log.lag("nobody", DEAD_LETTERS.name) >= 5
