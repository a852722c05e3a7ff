"""Responses for the parser, and documents that are costly to read."""

from gossamer.events import PageFetched, PageParsed, Purpose, Visit
from gossamer.log import Record
from gossamer.log.codec import decode, encode
from gossamer.services.parser.options import Options
from gossamer.services.parser.page import parse
from gossamer.web.url import HostKey, Site, canonicalize

URL = "http://www.example.org/dir/page?q"
OPTIONS = Options(
    product="gossamer",
    text="main",
    simhash_words=50,
    decoded_limit=2 << 20,
    pdf_limit=20 << 20,
    sitemap_limit=50 << 20,
    ratio_limit=1000,
    links_limit=10_000,
    links_bytes=2 << 20,
    entries_limit=50_000,
)
NOW = 2000.0

QUADRATIC = b"<svg><foreignObject><script><a title='</script>" + b"<div>" * 200_000 + b"'>"
"""The scan takes text of this element for markup, and the rest of the document for an attribute."""
HOG = b"<p><a href=x>some</a> words and more " * 50_000


def page_response(
    body: bytes = b"",
    *headers: tuple[str, str],
    status: int = 200,
    url: str = URL,
    purpose: Purpose = Purpose.PAGE,
) -> PageFetched:
    """Return a response; an HTML page unless *headers* are given."""
    return PageFetched(
        at=1000.0,
        site=Site("example.org"),
        host=HostKey("http://www.example.org"),
        visit=Visit(f"1.1.0@{url}", url, purpose=purpose),
        started_at=999.0,
        took=0.5,
        status=status,
        headers=headers or (("Content-Type", "text/html"),),
        body=body,
    )


def parse_response(body: str | bytes, *headers: tuple[str, str], status: int = 200) -> PageParsed:
    """Return the result of reading a response."""
    encoded = body.encode() if isinstance(body, str) else body
    return parse(page_response(encoded, *headers, status=status), OPTIONS, NOW)


def targets(parsed: PageParsed) -> list[str]:
    """Return the URLs of the links."""
    return [link.url for link in parsed.links]


def check_invariants(parsed: PageParsed) -> None:
    """Check invariants of every result."""
    assert [link.url for link in parsed.links] == [canonicalize(url) for url in targets(parsed)]
    assert len(set(targets(parsed))) == len(parsed.links)
    assert len(set(parsed.hazards)) == len(parsed.hazards)
    message = encode(parsed)
    assert decode(Record(message.topic, 0, 0, message.key, message.value)) == parsed
