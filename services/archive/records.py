"""Makes WARC 1.1 records (ISO 28500:2017) of captures, in memory.

Each record is returned as the bytes of one gzip member (annex D of the standard) or of one zstd
frame (WARC-zstd 1.0, without a dictionary). The suffix of the file decides. Record ids derive from
the visit, so a page that is archived twice after a crash has the same ids.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.metadata import version
from typing import NamedTuple
from uuid import NAMESPACE_URL, uuid5

from backports import zstd
from isal import igzip

from gossamer.events import CrawlDefined, PageFetched
from gossamer.web.http import Headers, all_values, first_value, payload_digest
from gossamer.web.url import host_key, host_name, is_address
from gossamer.web.usage import judge

WARC = "WARC/1.1"
COMPRESSION_LEVEL = 2
"""Level of isal's deflate: an eighth of the time of zlib's level 9, for a sixth more bytes."""
ZSTD_SUFFIX = ".zst"
ZSTD_OPTIONS = {
    int(zstd.CompressionParameter.compression_level): 3,
    int(zstd.CompressionParameter.checksum_flag): 1,
}
"""Each frame needs its size, which is the default, and a checksum (WARC-zstd 1.0, section 4.1)."""
SPECIFICATION = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
"""The profile of a revisit record for a 304."""
IDENTICAL_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
"""The profile of a revisit record for a body that is in the archive already."""
MIN_SHARED_BYTES = 1024
"""Minimum size of a body that is stored once. A reference takes as many bytes of a file as 250
bytes of HTML, and each body that may be referred to takes a row in the store."""
SOFTWARE = f"gossamer/{version('gossamer')}"
FIELDS = "application/warc-fields"
REQUEST = "application/http; msgtype=request"
RESPONSE = "application/http; msgtype=response"
ORIGINAL_PREFIX = "X-Crawler-"
"""Prefix of headers that do not describe the body as stored."""
PROTOCOLS = frozenset(
    {"http/0.9", "http/1.0", "http/1.1", "tls/1.0", "tls/1.1", "tls/1.2", "tls/1.3"}
)
"""Words of WARC-Protocol. The version that a server states may be any."""
VERSIONS = frozenset({"1.0", "1.1"})
"""Versions of a status line in text. pywb does not show a record with another one, and HTTP/2 has
no such line, so that other crawlers write the last one."""
BODILESS_STATUSES = frozenset({204, 304})
"""Statuses with a Content-Length that describes a body that is not sent (RFC 9110, 8.6)."""

PAYLOAD_KINDS = frozenset({"metadata", "resource"})
"""Types of records whose whole block is the payload."""
NO_PAYLOAD = payload_digest(b"")

Fields = list[tuple[str, str]]

_breaks = re.compile("[\0\r\n]+")


class Body(NamedTuple):
    """The record that has the body of a capture."""

    record_id: str = ""
    """WARC-Record-ID of the response with the body."""
    url: str = ""
    """URL of that response."""
    fetched_at: float = 0.0
    """Time of that response; 0 if it is unknown."""
    digest: str = ""
    """WARC-Payload-Digest of the body as received."""


@dataclass(frozen=True)
class Capture:
    """The records of one page, in the order of the file."""

    kind: str
    """Type of the first record: `response`, or `revisit` if the body is in an earlier record."""
    response: bytes
    others: bytes
    """The request and the metadata, as far as they are wanted."""
    body: Body
    """The body of this response, or of the one that a revisit record refers to."""
    head: bytes
    """The HTTP head in the first record."""


def is_not_modified(page: PageFetched) -> bool:
    """Return whether *page* is a 304 to a conditional request, and not to one that was repeated
    because the 304 had no reason."""
    return page.status == 304 and bool(page.visit.conditions) and not page.intermediate


def is_shared(page: PageFetched) -> bool:
    """Return whether the body of *page* is stored only once: the whole body of a page
    or a requisite, of `MIN_SHARED_BYTES` at least.

    A truncated body is not the payload that the server sent, so its digest proves nothing.
    """
    return (
        page.status == 200
        and page.visit.purpose.is_collected
        and not page.truncated
        and len(page.body) >= MIN_SHARED_BYTES
    )


def capture(
    page: PageFetched, file: str, digest: str, earlier: Body | None, wanted: frozenset[str]
) -> Capture:
    """Return the *wanted* records of *page* in *file*.

    *digest*: that of the body of *page*. *earlier*: the record with the body that a revisit record
    omits, if it is known; a page that is not a 304 has a revisit record if it is. Raise ValueError
    or OverflowError if the URL or the time of *page* is invalid.
    """
    kind = "revisit" if earlier or is_not_modified(page) else "response"
    common, identity = _common(page), _identity(page, kind)
    body = Body(identity, page.visit.url, page.started_at, digest)
    if kind == "revisit":
        body = earlier or Body()
    info = ("WARC-Warcinfo-ID", _warcinfo_id(file))
    beside = [info, ("WARC-Concurrent-To", identity)]
    about = [info, *(_reference(page, body) if kind == "revisit" else [])]
    if body.digest:
        about.append(("WARC-Payload-Digest", body.digest))
    if page.truncated:
        about.append(("WARC-Truncated", page.truncated))
    head = _response_head(page)
    block = head if kind == "revisit" else head + page.body
    response = _record(kind, identity, [*common, *about], block, RESPONSE, file)
    others = b""
    if "request" in wanted and page.visit.imported is None:
        about = [*common, *beside, ("WARC-Payload-Digest", NO_PAYLOAD)]
        block = _request_block(page)
        others += _record("request", _identity(page, "request"), about, block, REQUEST, file)
    if "metadata" in wanted:
        about, block = [*common, *beside], _fields(_metadata(page))
        others += _record("metadata", _identity(page, "metadata"), about, block, FIELDS, file)
    return Capture(kind, response, others, body, head)


def dns(page: PageFetched, file: str) -> bytes:
    """Return a record of the address of *page*'s host, as Heritrix writes it, but without TTL.

    The fetcher reports neither the TTL nor the name server. Return b"" if there was no lookup, or
    if a proxy made it.
    """
    host, address = host_name(page.visit.url), page.address.strip("[]")
    if is_address(host) or not is_address(page.address):
        return b""
    at = datetime.fromtimestamp(page.started_at, UTC)
    kind = "AAAA" if ":" in address else "A"
    about = [
        ("WARC-Date", date(page.started_at)),
        ("WARC-Target-URI", f"dns:{host}"),
        ("WARC-Warcinfo-ID", _warcinfo_id(file)),
    ]
    block = f"{at:%Y%m%d%H%M%S}\n{host}.\t\tIN\t{kind}\t{address}\n"
    return _record("resource", _identity(page, "dns"), about, block.encode(), "text/dns", file)


def warcinfo(
    page: PageFetched, crawl: CrawlDefined | None, file: str, now: float, contact: str
) -> bytes:
    """Return the first record of *file*, which begins with *page*; *now* in epoch seconds.

    *crawl*: the definition of the crawl, if it is known.
    """
    fields = [
        ("software", SOFTWARE),
        ("format", "WARC File Format 1.1"),
        ("conformsTo", SPECIFICATION),
        ("robots", "obey"),
        ("operator", contact),
        ("isPartOf", page.crawl),
        # The access file cannot set these headers, so they are not secrets.
        ("http-header-user-agent", first_value(page.request_headers, "user-agent")),
        ("http-header-from", first_value(page.request_headers, "from")),
        *(_definition(crawl) if crawl else []),
    ]
    about = [("WARC-Date", date(now)), ("WARC-Filename", file)]
    return _record("warcinfo", _warcinfo_id(file), about, _fields(fields), FIELDS, file)


def _definition(crawl: CrawlDefined) -> Fields:
    return [
        ("scope", crawl.scope),
        ("maxDepth", str(crawl.max_depth)),
        ("externalLinks", crawl.external_links),
        ("relevant", crawl.relevant),
        ("revisit", crawl.revisit),
        ("purposes", ", ".join(crawl.purposes)),
        ("usageDisallowed", crawl.usage_disallowed),
        ("usageUnknown", crawl.usage_unknown),
    ]


def date(at: float) -> str:
    """Return *at*, in epoch seconds, as a WARC 1.1 date in microseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def _reference(page: PageFetched, body: Body) -> Fields:
    # See the standard, 6.7.2 and 6.7.3.
    found = [("WARC-Profile", NOT_MODIFIED)]
    if not is_not_modified(page):
        found = [("WARC-Profile", IDENTICAL_PAYLOAD), ("WARC-Truncated", "length")]
    if body.record_id:
        found.append(("WARC-Refers-To", body.record_id))
    if body.fetched_at:
        found.append(("WARC-Refers-To-Target-URI", body.url))
        found.append(("WARC-Refers-To-Date", date(body.fetched_at)))
    return found


def _response_head(page: PageFetched) -> bytes:
    version = page.http_version if page.http_version in VERSIONS else max(VERSIONS)
    return _head(f"HTTP/{version} {page.status:03} {page.reason}", _stored_headers(page))


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
        ("certificateFault", page.certificate_fault),
        *(("usageStatement", str(statement)) for statement in page.usage_statements),
        *(
            ("usage", f"{category}: {judgement.word}")
            for category, judgement in judge(page.usage_statements).items()
            if judgement.by
        ),
    ]


def _common(page: PageFetched) -> Fields:
    """Return the headers that all records of a capture have."""
    common = [("WARC-Date", date(page.started_at)), ("WARC-Target-URI", page.visit.url)]
    if is_address(page.address):
        common.append(("WARC-IP-Address", page.address.strip("[]")))
    return common + _protocol(page)


def _protocol(page: PageFetched) -> Fields:
    # Proposals 42 and 86 of github.com/iipc/warc-specifications: one field for each protocol.
    protocols = [f"http/{page.http_version}", page.tls_version]
    found = [("WARC-Protocol", protocol) for protocol in protocols if protocol in PROTOCOLS]
    return [*found, ("WARC-Cipher-Suite", page.cipher_suite)] if page.cipher_suite else found


def _record(
    kind: str, identity: str, about: Fields, block: bytes, content_type: str, file: str
) -> bytes:
    """Return a record with the headers *about* and its *block*, compressed for *file*."""
    digest = payload_digest(block)
    # Written here: warcio takes four times as long, and rewrites HTTP headers that are not ASCII.
    fields = [
        ("WARC-Type", kind),
        ("WARC-Record-ID", identity),
        *about,
        *([("WARC-Payload-Digest", digest)] if kind in PAYLOAD_KINDS else []),
        ("WARC-Block-Digest", digest),
        ("Content-Type", content_type),
        ("Content-Length", str(len(block))),
    ]
    head = _join_lines([WARC, *[f"{name}: {value}" for name, value in fields], ""])
    record = b"".join((head.encode(), block, b"\r\n\r\n"))
    if file.endswith(ZSTD_SUFFIX):
        return zstd.compress(record, options=ZSTD_OPTIONS)
    return igzip.compress(record, COMPRESSION_LEVEL, mtime=0)


def _identity(page: PageFetched, kind: str) -> str:
    # Every crawl numbers its visits from one. The time makes the id unique across crawls.
    return make_urn(f"{page.crawl} {page.visit.id} {page.started_at!r} {kind}")


@lru_cache(maxsize=64)
def _warcinfo_id(file: str) -> str:
    return make_urn(f"{file} warcinfo")


def make_urn(name: str) -> str:
    """Return the WARC-Record-ID that *name* leads to."""
    return f"<urn:uuid:{uuid5(NAMESPACE_URL, name)}>"


def _head(first: str, headers: Headers) -> bytes:
    head = _join_lines([first, *[f"{name}: {value}" for name, value in headers], ""])
    try:
        return head.encode("latin-1")
    except UnicodeEncodeError:
        return b"\r\n".join([_bytes(line) for line in head.split("\r\n")])


def _bytes(line: str) -> bytes:
    try:
        return line.encode("latin-1")
    except UnicodeEncodeError:
        return line.encode()


def _fields(fields: Fields) -> bytes:
    return _join_lines([f"{name}: {value}" for name, value in fields if value]).encode()


def _join_lines(lines: list[str]) -> str:
    """Return *lines* with their ends; a break within a line, which would start another header or
    end the head, becomes a space."""
    if _breaks.search("".join(lines)):
        lines = [_breaks.sub(" ", line) for line in lines]
    return "\r\n".join([*lines, ""])
