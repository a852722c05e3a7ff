"""Large bodies reach the archive as blobs."""

import random
from pathlib import Path

from gossamer.events import DeadLetter
from tests.archive.harness import Crawl, only_file, page, records

LARGE = random.Random(1).randbytes(2_000_000)


def test_large_body_is_archived_whole(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.fetch(page(1, LARGE), page(2))
    assert len(crawl.blobs.names()) == 1
    crawl.work()
    crawl.end()
    bodies = [content for _, content in records(only_file(crawl.folder)) if LARGE in content]
    assert len(bodies) == 1


def test_page_without_its_blob_is_a_dead_letter_and_others_are_archived(tmp_path: Path) -> None:
    crawl = Crawl(tmp_path)
    crawl.fetch(page(1), page(2, LARGE), page(3))
    for name in crawl.blobs.names():
        crawl.blobs.remove(name)
    crawl.work()
    (letter,) = crawl.events("dead.letters")
    assert isinstance(letter, DeadLetter) and "missing" in letter.reason
    assert {event.url for event in crawl.events()} == {page(1).visit.url, page(3).visit.url}
    crawl.end()
