"""A body whose Content-Encoding cannot be undone, from the fetcher to `pages` and the archive."""

import zlib
from pathlib import Path

from fastwarc.warc import WarcRecordType

from gossamer.events import Page, PageDeduplicated, Verdict
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.archive.harness import files, records
from tests.flow.test_not_modified import OrderedCrawl

HOST = "http://a.test"
CODED = zlib.compress(b"<title>Coded</title><p>" + b"Words of a page. " * 200)
BODIES = {
    f"{HOST}/": b"<title>Home</title><a href=/coded>Coded</a>",
    f"{HOST}/coded": CODED,
}


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    if url not in BODIES:
        return 0.1, Reply(status=404)
    headers = (("Content-Type", "text/html"), ("Content-Encoding", "x-deflate"))
    return 0.1, Reply(status=200, headers=headers, body=BODIES[url])


def test_coded_body_is_archived_and_not_published(tmp_path: Path) -> None:
    """Report donsetch #290: it was published as a text of rubbish."""
    crawl = OrderedCrawl(tmp_path, web)
    crawl.define(f"{HOST}/")
    assert crawl.run()
    assert [page.title for page in crawl.all(Page)] == ["Home"]
    verdicts = {event.visit.url: event.verdict for event in crawl.all(PageDeduplicated)}
    assert verdicts == {f"{HOST}/": Verdict.FIRST, f"{HOST}/coded": Verdict.UNREADABLE}
    crawl.archive.close()
    [file] = files(tmp_path)
    blocks = [block for _, block in records(file, WarcRecordType.response)]
    assert any(block.endswith(CODED) for block in blocks), "as received"
