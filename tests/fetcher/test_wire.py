"""Requests in the archive: byte for byte those on the wire, for each kind of request.

Responses that another request of their visit replaces are recorded, too.
"""

import asyncio
from collections import Counter, defaultdict
from pathlib import Path

from fastwarc.warc import WarcRecordType
from msgspec.structs import replace

from gossamer.events import HostCheckedOut, Purpose
from gossamer.web.validators import Validators
from tests.archive.harness import all_records, archive_pages
from tests.fetcher.orders import fetcher, order, work
from tests.fetcher.servers import Server, conditional_page, page, raw, serving
from tests.fetcher.test_conditional import refusing_conditions
from tests.fetcher.test_cookies import wall
from tests.fetcher.test_ranges import refusing

DATE = "Tue, 14 Nov 2023 22:14:20 GMT"
UTF_8_TAG = '"é…"'
RECORDS = ("request", "robots", "redirects", "errors")


async def part(server: Server, writer: asyncio.StreamWriter) -> bool:
    """Answer with the first bytes of the range, and set a cookie in UTF-8."""
    head = b"HTTP/1.1 206 x\r\nContent-Type: text/html\r\nSet-Cookie: name=\xc3\xa9\r\n"
    head += b"Content-Range: bytes 0-4/5\r\nContent-Length: 5\r\n\r\n"
    return await raw(head + b"<p>ab", keep=True)(server, writer)


ANSWERS = {
    "robots": page(b"", 301, Location="/robots-2.txt"),
    "robots-2.txt": page(b"User-agent: *\nDisallow: /no\n", Content_Type="text/plain"),
    "moved?": page(b"over there", 302, Location="/part"),
    "part": part,
    "caf%C3%A9?a=[1]&b=%zz": page(b"<p>odd"),
    "empty": refusing(b"<p>all of it"),
    "a": wall,
    "a?set=1": wall,
    "same": conditional_page(b"<p>x", UTF_8_TAG.encode().decode("latin-1"), DATE),
    "refused": refusing_conditions(412),
    "style.css": page(b"a{}", Content_Type="text/css"),
    "sitemap.xml": page(b"<urlset/>", Content_Type="application/xml"),
    "tdmrep.json": page(b"[]", Content_Type="application/json"),
}
PAGES = ("a", "moved?", "part", "caf%C3%A9?a=[1]&b=%zz", "empty", "missing")
OTHERS = {
    "style.css": Purpose.REQUISITE,
    "sitemap.xml": Purpose.SITEMAP,
    "tdmrep.json": Purpose.USAGE,
    "made-up": Purpose.PROBE,
}
REPEATED = {"/a": [302, 200], "/a?set=1": [302], "/empty": [416, 200], "/refused": [412, 200]}
"""Targets of visits with several requests → the status of each response."""


def orders_for(root: str) -> list[HostCheckedOut]:
    known = Validators(UTF_8_TAG, DATE)
    again = order(f"{root}/same", f"{root}/refused")
    visits = tuple(replace(one, validators=known, conditional=True) for one in again.visits)
    return [
        order(f"{root}/robots.txt", purpose=Purpose.ROBOTS, robots=None),
        order(*(f"{root}/{path}" for path in PAGES)),
        replace(again, visits=visits),
        *(order(f"{root}/{path}", purpose=purpose) for path, purpose in OTHERS.items()),
    ]


async def test_each_request_on_the_wire_is_recorded_once(tmp_path: Path) -> None:
    """Reports yarl #293, psf/requests #2912: the record was not what was on the wire."""
    async with serving(**ANSWERS) as server, fetcher(ranges=True) as processor:
        emitted = await work(processor, *orders_for(server.root))
        wire = [request.head.encode("latin-1") for request in server.requests]
    archive_pages(tmp_path, *emitted.captures, records=RECORDS)
    recorded = [block for _, block in all_records(tmp_path / "warc", WarcRecordType.request)]
    assert Counter(recorded) == Counter(wire)
    answers = defaultdict[str, list[int]](list)
    for headers, block in all_records(tmp_path / "warc", WarcRecordType.response):
        url = headers["WARC-Target-URI"].removeprefix(server.root)
        answers[url].append(int(block.split(b" ")[1]))
    assert {url: answers[url] for url in REPEATED} == REPEATED
    sent = b"".join(recorded)
    for header in (b"Range: bytes=0-", b"If-None-Match: ", b"If-Modified-Since: ", b"Cookie: "):
        assert header in sent, "the flow has every kind of request"
    assert UTF_8_TAG.encode() in sent and "name=é".encode() in sent
