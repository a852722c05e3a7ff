"""The producers of each topic are the services that append to it."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec import to_builtins
from msgspec.structs import replace

from gossamer.events import BlocklistChanged, ChangeExpires, ErasureRequested, Event
from gossamer.events.topics import DEAD_LETTERS, TOPICS, URLS_SEEN
from gossamer.log import Message, Record
from gossamer.log.codec import encode, key_of
from gossamer.log.sqlite import SqliteLog, SqliteReader
from gossamer.services.fetcher.outcome import Failure, Reply
from gossamer.store import Store
from gossamer.web.url import Site
from tests.flow.virtual import VirtualCrawl

HTML = (("Content-Type", "text/html"),)
WEB = {
    "http://d.test/": Reply(status=200, headers=HTML, body=b"<a href=/next>next</a>"),
    "http://a.test/": Reply(status=200, headers=HTML, body=b"<a href=/moved></a><a href=/no></a>"),
    "http://a.test/moved": Reply(status=301, headers=(("Location", "/"),)),
    "http://c.test/robots.txt": Reply(
        status=301, headers=(("Location", "http://a.test/robots.txt"),)
    ),
}


class RecordingLog(SqliteLog):
    """A log that records which group appended to which topic."""

    pairs: set[tuple[str, str]]

    def reader(self, group: str, topics: Sequence[str], store: Store) -> SqliteReader:
        """Return a reader whose appends are recorded."""
        reader = super().reader(group, topics, store)
        advance = reader.advance

        def record_and_advance(records: Iterable[Record], messages: Iterable[Message]) -> bool:
            appended = list(messages)
            self.pairs.update((group, message.topic) for message in appended)
            return advance(records, appended)

        reader.advance = record_and_advance  # type: ignore[method-assign]
        return reader


def answer(url: str, now: float) -> tuple[float, Reply | Failure]:
    return 0.1, WEB.get(url, Reply(status=404, headers=HTML))


def _block_for_a_minute(rule: str, now: float) -> list[Event]:
    """Return the events of a rule that expires, which the frontier then lifts."""
    block = BlocklistChanged(at=now, rule=rule)
    expiry = ChangeExpires(
        at=now,
        setting=key_of(block),
        set_at=now,
        expires_at=now + 60,
        before=to_builtins(replace(block, lifted=True)),
        after=to_builtins(block),
        actor="ann@laptop",
        change="1",
    )
    return [expiry, block]


def test_each_service_appends_only_to_topics_that_list_it_as_a_producer(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, answer, delay=1.0)
    recording_log = RecordingLog(crawl.database)
    recording_log.pairs, crawl.log = set(), recording_log
    crawl.start()
    for topic in TOPICS.values():
        if topic.consumers:
            crawl.log.append([Message(topic.name, "k", b"garbage{", "k")])
    crawl.define("http://a.test/", max_depth=0)
    assert crawl.run()
    crawl.define(max_depth=16)
    assert crawl.run()
    crawl.define("http://c.test/")  # Its robots.txt redirects to a.test, whose rules are stored.
    assert crawl.run()
    rules = tmp_path / "rules.py"
    rules.write_text("def follow(link, page): return False")
    for digest in ("one", "other"):  # Pages with refused links are requested again.
        crawl.define("http://d.test/", rules=str(rules), rules_digest=digest)
        assert crawl.run()
    crawl.log.append([encode(ErasureRequested(at=crawl.now, site=Site("c.test")))])
    crawl.log.append(map(encode, _block_for_a_minute("b.test", crawl.now)))
    assert crawl.run()
    crawl.archive.close()
    assert recording_log.pairs == {
        (service, topic.name)
        for topic in TOPICS.values()
        for service in topic.producers
        if service not in ("operators", "console") and topic is not URLS_SEEN
    }, "a folder has no changelog: its URL-seen set is a table"
    assert crawl.log.lag("nobody", DEAD_LETTERS.name) >= 5
