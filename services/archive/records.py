"""Makes WARC 1.1 records (ISO 28500:2017) of captures, in memory.

Each record is returned as the bytes of one gzip member (annex D of the standard). Record ids derive
from the visit, so a page that is archived twice after a crash has the same ids.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from io import BytesIO
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from isal import igzip
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from gossamer.events import PageFetched
from gossamer.web.http import Headers, all_values, payload_digest
from gossamer.web.url import host_key, is_address
from gossamer.web.usage import judge

WARC = "WARC/1.1"
COMPRESSION_LEVEL = 2
"""Level of isal's deflate: an eighth of the time of zlib's level 9, for a sixth more bytes."""
SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
"""The profile of a revisit record for a 304."""
SOFTWARE = f"gossamer/{version('gossamer')}"
FIELDS = "application/warc-fields"
ORIGINAL_PREFIX = "X-Crawler-"
"""Prefix of headers that do not describe the body as stored."""
BODILESS_STATUSES = frozenset({204, 304})
"""Statuses with a Content-Length that describes a body that is not sent (RFC 9110, 8.6)."""

Fields = list[tuple[str, str]]

_breaks = re.compile("[\0\r\n]+")


class Body(NamedTuple):
    """The record that has the body of a capture."""

    record_id: str = ""
    """WARC-Record-ID of the response with the body."""
    fetched_at: float = 0.0
    """Time of that response; 0 if it is unknown."""
    digest: str = ""
    """WARC-Payload-Digest of the body as received."""


@dataclass(frozen=True)
class Capture:
    """The records of one page, in the order of the file."""

    kind: str
    """Type of the first record: `response`, or `revisit` after a 304."""
    response: bytes
    request: bytes
    metadata: bytes
    body: Body
    """The body of this response, or of the one that a revisit record refers to."""


def is_revisit(page: PageFetched) -> bool:
    """Return whether *page* is a 304 to a conditional request."""
    return page.status == 304 and bool(page.visit.conditions)


def capture(page: PageFetched, file: str, earlier: Body | None = None) -> Capture:
    """Return the records of *page* in *file*.

    *earlier*: the body that a 304 omits, if it is known. Raise ValueError or OverflowError if the
    URL or the time of *page* is invalid.
    """
    kind = "revisit" if is_revisit(page) else "response"
    identity = _identity(page, kind)
    if kind == "revisit":
        body = earlier or Body()
    else:
        body = Body(identity, page.started_at, payload_digest(page.body))
    info = ("WARC-Warcinfo-ID", _warcinfo_id(file))
    concurrent = ("WARC-Concurrent-To", identity)
    about = [info, *(_reference(page, body) if kind == "revisit" else [])]
    if body.digest:
        about.append(("WARC-Payload-Digest", body.digest))
    return Capture(
        kind=kind,
        response=_response(page, kind, about),
        request=_record(
            page,
            "request",
            _request_block(page),
            [info, concurrent, ("WARC-Payload-Digest", payload_digest(b""))],
            "application/http; msgtype=request",
        ),
        metadata=_record(page, "metadata", _fields(_metadata(page)), [info, concurrent], FIELDS),
        body=body,
    )


def warcinfo(crawl: str, file: str, now: float, contact: str) -> bytes:
    """Return the first record of *file*, which has pages of *crawl*; *now* in epoch seconds."""
    fields = [
        ("software", SOFTWARE),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", SPECIFICATION),
        ("robots", "obey"),
        ("operator", contact),
        ("isPartOf", crawl),
    ]
    block = _fields([field for field in fields if field[1]])
    about = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", _warcinfo_id(file)),
        ("WARC-Date", date(now)),
        ("WARC-Filename", file),
    ]
    return _member(about, block, FIELDS)


def date(at: float) -> str:
    """Return *at*, in epoch seconds, as a WARC 1.1 date in microseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def _reference(page: PageFetched, body: Body) -> Fields:
    # See the standard, 6.7.3. The three WARC-Refers-To fields are those of 6.7.2.
    found = [("WARC-Profile", NOT_MODIFIED)]
    if body.record_id:
        found.append(("WARC-Refers-To", body.record_id))
    if body.fetched_at:
        found.append(("WARC-Refers-To-Target-URI", page.visit.url))
        found.append(("WARC-Refers-To-Date", date(body.fetched_at)))
    return found


def _response(page: PageFetched, kind: str, about: Fields) -> bytes:
    if page.truncated:
        about = [*about, ("WARC-Truncated", page.truncated)]
    head = _head(f"HTTP/{page.http_version} {page.status} {page.reason}", _stored_headers(page))
    return _record(page, kind, head + page.body, about, "application/http; msgtype=response")


def _request_block(page: PageFetched) -> bytes:
    url = page.visit.url
    return _head(f"GET {url[len(host_key(url)) :]} HTTP/1.1", page.request_headers)


def _stored_headers(page: PageFetched) -> Headers:
    # The HTTP client removes the transfer coding (chunks) and stops at the size limit. The framing
    # headers are then wrong, and would mislead readers, so they are renamed, as other crawlers do.
    # The content coding is not removed, so its header is right.
    stored = tuple(
        (ORIGINAL_PREFIX + name if _misleads(name, value, page) else name, value)
        for name, value in page.headers
    )
    has_length = bool(all_values(stored, "content-length"))
    if stored == page.headers or has_length or page.status in BODILESS_STATUSES:
        return stored
    return (*stored, ("Content-Length", str(len(page.body))))


def _misleads(name: str, value: str, page: PageFetched) -> bool:
    match name.strip().lower():
        case "transfer-encoding":
            return True
        case "content-length":
            return page.status not in BODILESS_STATUSES and value.strip() != str(len(page.body))
    return False


def _metadata(page: PageFetched) -> Fields:
    visit = page.visit
    _, _, discoverer = visit.via.partition("@")
    by_page = discoverer.startswith(("http://", "https://"))
    return [
        ("visit", visit.id),
        ("via", discoverer if by_page else visit.via),
        ("viaVisit", visit.via if by_page else ""),
        ("purpose", visit.purpose),
        ("depth", str(visit.depth)),
        ("hops", str(visit.hops)),
        ("attempt", str(visit.attempt)),
        ("fetchTimeMs", str(round(page.took * 1000))),
        *(("hazard", hazard) for hazard in page.hazards),
        *(("usageStatement", str(statement)) for statement in page.usage_statements),
        *(
            ("usage", f"{category}: {judgement.word}")
            for category, judgement in judge(page.usage_statements).items()
            if judgement.by
        ),
    ]


def _record(page: PageFetched, kind: str, block: bytes, about: Fields, content_type: str) -> bytes:
    common = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", _identity(page, kind)),
        ("WARC-Date", date(page.started_at)),
        ("WARC-Target-URI", page.visit.url),
    ]
    if is_address(page.address):
        common.append(("WARC-IP-Address", page.address.strip("[]")))
    return _member(common + about, block, content_type)


def _member(about: Fields, block: bytes, content_type: str) -> bytes:
    headers = StatusAndHeaders("", [(name, _line(value)) for name, value in about], WARC)
    # The block is passed as bytes, since warcio rewrites HTTP headers that are not ASCII. For a
    # revisit record warcio would write only parsed headers, so it is told another type. The header
    # WARC-Type is not affected.
    kind = about[0][1] if about[0][1] != "revisit" else "warcinfo"
    record = ArcWarcRecord("warc", kind, headers, BytesIO(block), None, content_type, len(block))
    out = BytesIO()
    WARCWriter(out, gzip=False, warc_version=WARC).write_record(record)
    return igzip.compress(out.getvalue(), COMPRESSION_LEVEL, mtime=0)


def _identity(page: PageFetched, kind: str) -> str:
    # Every crawl numbers its visits from one. The time makes the id unique across crawls.
    return _urn(f"{page.crawl} {page.visit.id} {page.started_at!r} {kind}")


def _warcinfo_id(file: str) -> str:
    return _urn(f"{file} warcinfo")


def _urn(name: str) -> str:
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, name)}>"


def _head(first: str, headers: Headers) -> bytes:
    lines = [first, *(f"{name}: {value}" for name, value in headers)]
    return b"".join(_bytes(_line(line)) + b"\r\n" for line in lines) + b"\r\n"


def _fields(fields: Fields) -> bytes:
    return "".join(f"{name}: {_line(value)}\r\n" for name, value in fields if value).encode()


def _line(text: str) -> str:
    # A line break in a value would start another header, or end the head.
    return _breaks.sub(" ", text)


def _bytes(text: str) -> bytes:
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()
