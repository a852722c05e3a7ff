"""A PDF among pages is linked to, published, and followed like a page."""

from pathlib import Path

from gossamer.events import Page
from gossamer.events.topics import PAGES
from gossamer.services.fetcher.outcome import Failure, Reply
from tests.flow.virtual import VirtualCrawl
from tests.parser.pdfs import pdf

FILES = {
    "http://a.test/": ("text/html", b"<title>Home</title><a href=/paper>The paper</a>"),
    "http://a.test/paper": (
        "application/pdf",
        pdf("Words of the paper", link="/data", info="/Title(A paper)/Author(Ann Author)"),
    ),
    "http://a.test/data": ("text/html", b"<title>Data</title>"),
}


def web(url: str, now: float) -> tuple[float, Reply | Failure]:
    kind, body = FILES.get(url, ("text/html", b""))
    status, headers = 200 if body else 404, (("Content-Type", kind),)
    return 0.2, Reply(status=status, headers=headers, body=body)


def test_pdf_is_published_and_its_links_are_followed(tmp_path: Path) -> None:
    crawl = VirtualCrawl(tmp_path, web, delay=1.0)
    crawl.define("http://a.test/")
    assert crawl.run()
    found = {page.url: page for page in crawl.events(PAGES.name, Page)}
    assert found.keys() == FILES.keys()
    paper = found["http://a.test/paper"]
    assert (paper.title, paper.author) == ("A paper", "Ann Author")
    assert paper.links == ("http://a.test/data",)
