"""Makes events of the captures in WARC and WACZ files of other crawls, as `gossamer import` does.

Each response to a GET becomes the `PageFetched` of a visit at its own time, so that parser, dedup
and archive handle it like a page that this crawl has fetched. A resource record, which has no HTTP
response, becomes one with status 200. A revisit record gets the body of the earlier response, which
must be in one of the files. The archive has at most one capture of a URL at one time, so
what is imported twice is archived once. Dates of other writers are often in seconds, and a page may
redirect to itself within one: of several captures of a URL at one time, each is a microsecond
later than the one before in the file.

A capture whose date is in the future has the time at which its file was written, so it holds back
no later visit; one from before the Web has the time at which the Web began. Both get the hazard
`wrong_date`.

Records are trusted as little as responses of servers. A record that cannot be used is counted as a
problem, with its position and the reason. Records that are something else than the document at a
URL, such as the response to a POST, are counted by their kind.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple
from urllib.parse import unquote

from msgspec.structs import replace

from gossamer.captures import (
    DIGEST_SIZES,
    RECORD_TYPES,
    RESOURCE,
    REVISIT,
    WRONG_DATE,
    BadCapture,
    Capture,
    digest_key,
    is_interim,
    opens_tunnel,
    parse_time,
    skip_first_responses,
    split_head,
    stated_length,
    unfold,
)
from gossamer.console.import_segments import Segments, is_segment, join
from gossamer.console.import_sources import (
    DAMAGED,
    PACKED_TOGETHER,
    Damage,
    PackedTogether,
    Source,
    read_capture_at,
    records_of,
    unpack,
)
from gossamer.errors import GossamerError
from gossamer.events import (
    Discovery,
    Event,
    Imported,
    PageFetched,
    Purpose,
    UrlsDiscovered,
    Visit,
)
from gossamer.events.hazards import Hazard
from gossamer.services.archive.reading import RecordHead
from gossamer.services.fetcher.outcome import Accepts
from gossamer.web.http import NOT_MODIFIED, first_value
from gossamer.web.sniffing import whole_type
from gossamer.web.url import BadUrl, BlockedPort, canonicalize, fingerprint, host_key, site_of
from gossamer.web.usage import read_headers
from gossamer.web.validators import NO_VALIDATORS, WEB_BEGAN_AT, Validators

MAX_PROBLEMS = 20
"""Maximum number of problems whose text is kept."""
OK, PARTIAL_CONTENT, SWITCHING_PROTOCOLS = 200, 206, 101
REQUEST, GET, CONNECT = "request", "GET", "CONNECT"
REQUEST_BYTES = 4 << 10
"""Bytes of a record that are searched for its type."""
WARCINFO, METADATA = "warcinfo", "metadata"
UNCOUNTED_TYPES = (WARCINFO, REQUEST, METADATA)
"""Types of records about captures. They are neither imported nor counted as left out."""
SERVER_NOT_MODIFIED = "server-not-modified"
"""The end of the WARC-Profile of a 304."""
EMPTY_DIGESTS = {f"{name}:{hashlib.new(name).hexdigest()}" for name in DIGEST_SIZES}
"""Keys of the digests of an empty body, which many redirects have."""
TICK = 1e-6
"""Seconds between two captures of a URL that have one date."""
REFERRED_WITHIN = 1.0
"""Seconds by which WARC-Refers-To-Date may differ: some writers omit the fraction."""

NO_BODY = "the body of the revisit record is in none of the files"
ANOTHER_METHOD = "response to a request that is not a GET"
PART_OF_DOCUMENT = "part of a document (206)"
NOT_FINAL = "response without a final status (1xx)"
ANOTHER_SCHEME = "record of a URL that is not http or https"
BLOCKED_PORT = "record of a URL at a port that browsers block"
ANOTHER_PROTOCOL = "answer in another protocol than HTTP"
NOT_RECORDED = "response whose body was not recorded"
SEGMENT = "segment of a record whose other segments are missing"
CONVERSION = "conversion record"
OTHER_TYPE = "record of an unknown type"
NO_CAPTURE = "file with metadata records only"
CUT_BODY = "the body is shorter than its Content-Length or its chunks say"
ABOUT_CRAWL = "record about a crawl"
CRAWLERS_SCHEMES = frozenset(
    (
        *("dns", "whois", "metadata", "urn", "file"),
        *("screenshot", "thumbnail", "onreadydom", "youtube-dl"),
    )
)
"""Schemes of records that crawlers write about their work: Heritrix, wget, Browsertrix and wpull
(urn), Scoop and Perma (file), brozzler and UKWA. No server has a document at such a URL."""

_greeting = re.compile(rb"SSH-\d\.\d{1,3}-[^\r\n]{1,240}\r?\n")
"""The first line of an SSH server (RFC 4253, 4.2)."""
_protocol = re.compile(rb"(?im)^warc-protocol: *([^\r\n]+)")
_id = re.compile(r"<[^>]*>|[^\s,<>]+")
_concurrent = re.compile(rb"(?im)^warc-concurrent-to:[ \t]*([^\r\n]+)")
_is_request = re.compile(rb"(?im)^warc-type:\s*request\b")
_method = re.compile(r"[A-Z][A-Z_-]{2,29}")
_status = re.compile(rb"(?i)HTTP/\S+ +(\d{3})")
_content_range = re.compile(
    rb"(?im)^content-range:[ \t]*bytes[ \t]+0-(\d{1,15})/(\d{1,15})[ \t]*\r*$"
)


class MissingBody(BadCapture):
    """The response with the body of a revisit record was not read yet."""


class Place(NamedTuple):
    """The place of a response."""

    source: Source
    offset: int
    length: int


class Requests:
    """The methods of the requests that were read. A request and its response name each other by
    WARC-Concurrent-To; in files without this field, URL and time are equal. A writer may begin the
    next file between both."""

    def __init__(self) -> None:
        """Memory has requests that are not a GET, and those that name no response."""
        self._others = set[str]()
        """Ids of requests that are not a GET, and of their responses."""
        self._by_place = dict[tuple[str, float | str], set[str]]()

    def read(self, source: Source) -> None:
        """Add the requests in *source*."""
        with source.open() as file:
            for head in records_of(file, source.dictionaries):
                if isinstance(head, RecordHead) and _is_request.search(head.head, 0, REQUEST_BYTES):
                    self._add(head)

    def _add(self, head: RecordHead) -> None:
        method = _method_of(head.block)
        if method == CONNECT:
            # The request to the server is behind the one to its proxy.
            method = _method_of(split_head(head.block.lstrip())[1] or b"") or method
        if not _method.fullmatch(method):
            return
        named = _concurrent_ids(head)
        if not named:
            self._by_place.setdefault(_place_of(head), set()).add(method)
        if method != GET:
            self._others.update(one for one in (*named, _id_of(head)) if one)

    def is_get(self, head: RecordHead) -> bool:
        """Return whether the response *head* answers a GET. Without a request, it does."""
        named = _concurrent_ids(head)
        if not self._others.isdisjoint((*named, _id_of(head))):
            return False
        methods = set() if named else self._by_place.get(_place_of(head), set())
        return not methods or GET in methods


def _place_of(head: RecordHead) -> tuple[str, float | str]:
    """Return URL and date, as they are compared: spellings may differ."""
    try:
        url = canonicalize(head.url)
    except BadUrl:
        url = head.url
    at = parse_time(head.date)
    return url, head.date if at is None else at


def _method_of(request: bytes) -> str:
    return request.lstrip().split(b" ", 1)[0].decode("latin-1").upper()


def _id_of(head: RecordHead) -> str:
    return _comparable_id(head.fields.get("warc-record-id", ""))


def _comparable_id(text: str) -> str:
    """Return the id of a record as it is compared: some writers omit the angle brackets."""
    return text.strip("<> \t").lower()


def _concurrent_ids(head: RecordHead) -> list[str]:
    """Return the ids in each WARC-Concurrent-To. Some writers have several in one field."""
    values = _values(_concurrent, head.head)
    return [_comparable_id(one) for value in values for one in _id.findall(value)]


def _values(field: re.Pattern[bytes], message: bytes) -> list[str]:
    """Return the values of each *field* in the head of *message*."""
    found = field.findall(unfold(split_head(message)[0]))
    return [one.decode("latin-1").strip() for one in found]


@dataclass
class Importer:
    """Makes the events of captures, and counts what it meets."""

    crawl: str
    product: str
    """The name of the crawler, by which statements about the use of a page may address it."""
    accepts: Accepts
    """Whether a response has a type that the crawl fetches. Other types are archived only."""
    imported: Imported
    is_archived: Callable[[str, float], bool]
    """Whether the crawl has a capture of this URL at this time."""
    is_erased: Callable[[str], bool]
    """Whether the URL was erased by the operators."""
    counts: Counter[str] = field(default_factory=Counter)
    """Purpose of an event, or why there is none → number of captures."""
    problems: list[str] = field(default_factory=list)
    """Where and why the first records cannot be used."""
    missing: Counter[str] = field(default_factory=Counter)
    """Kind of listed files that are missing → number of files."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Kind of records that are not documents → number of records."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Kind of records that no server has sent as a document → number of records."""
    doubts: Counter[str] = field(default_factory=Counter)
    """Wrong statement of records or files that were imported → their number."""
    examples: dict[str, str] = field(default_factory=dict)
    """Kind or wrong statement → the URL of the first record, or the first file."""
    _requests: Requests = field(default_factory=Requests)
    _places: dict[str, Place] = field(default_factory=dict)
    """Key of a payload digest, or id of a record → the first response with it."""
    _versions: dict[str, dict[float, Place]] = field(default_factory=dict)
    """Canonical URL → time of a response → its place."""
    _added: dict[int, int] = field(default_factory=dict)
    """Hash of URL and time → hash of the capture that was imported there."""
    _segments: Segments = field(default_factory=Segments)
    _waiting: list[tuple[Source, RecordHead]] | None = field(default_factory=list)
    """Revisit records whose body was not found yet; None after the last file."""

    def events_of(self, source: Source, now: float) -> Iterator[Event]:
        """Yield the page of each capture in *source*, in the order of the file.

        If it counts as a visit, another event adds its URL to the URL-seen set.
        """
        if source.missing:
            self._count(self.missing, source.missing, source.name)
            return
        if source.problem:
            self._add_problem(f"{source.name}: {source.problem}")
            return
        try:
            try:
                self._requests.read(source)
            except PackedTogether:
                self._count(self.doubts, PACKED_TOGETHER, source.name)
                source = unpack(source)
                self._requests.read(source)
            kinds = set[str]()
            with source.open() as file:
                for head in records_of(file, source.dictionaries):
                    if isinstance(head, Damage):
                        self._add_problem(f"{source.name} {head}")
                        continue
                    kinds.add(ABOUT_CRAWL if _is_about_crawl(head) else head.kind.lower())
                    yield from self._events_of_record(source, head, now)
            if kinds - {WARCINFO} == {METADATA}:
                self._count(self.left_out, NO_CAPTURE, source.name)
        except BadCapture as error:
            self._add_problem(f"{source.name}: {error}")
        except DAMAGED as error:
            self._add_problem(f"{source.name} is damaged: {error}")
        except OSError as error:
            raise GossamerError(f"{source.name} cannot be read: {error}") from error

    def events_of_rest(self, now: float) -> Iterator[Event]:
        """Yield the pages of records in several segments, and of revisit records that were read
        before the response with their body.

        To be called after the last file.
        """
        for parts in self._segments.take():
            if whole := join(parts):
                yield from self._events_of_record(*whole, now)
                continue
            for _, head in parts:
                self._count(self.left_out, SEGMENT, head.url or parts[0][1].url)
        waiting, self._waiting = self._waiting, None
        for source, head in waiting or ():
            yield from self._events_of_capture(source, head, now)

    def _events_of_record(self, source: Source, head: RecordHead, now: float) -> Iterator[Event]:
        kind = head.kind.lower()
        if is_segment(head):
            self._segments.add(source, head)
            return
        if head.is_filler or kind in UNCOUNTED_TYPES:
            return
        if _is_about_crawl(head):
            self._count(self.skipped, ABOUT_CRAWL, head.url)
            return
        if reason := _reason_to_leave_out(kind, head, self._requests):
            self._count(self.left_out, reason, head.url)
            return
        yield from self._events_of_capture(source, head, now)

    def _events_of_capture(self, source: Source, head: RecordHead, now: float) -> Iterator[Event]:
        try:
            url = canonicalize(_read_target(head))
            if head.kind.lower() != REVISIT:
                self._remember(source, head, url)
            page = self._page_of(source, head, url, now)
        except BlockedPort:
            self._count(self.left_out, BLOCKED_PORT, head.url)
            return
        except (BadCapture, BadUrl, *DAMAGED) as error:
            if isinstance(error, MissingBody) and self._waiting is not None:
                start = split_head(head.head)[0] + b"\r\n\r\n"
                self._waiting.append((source, RecordHead(head.offset, head.length, start)))
            else:
                self._add_problem(f"{source.name} at byte {head.offset}: {error}")
            return
        if page is None:
            return
        visit = page.visit
        self.counts[visit.purpose] += 1
        yield page
        if visit.imported is Imported.VISITED and visit.purpose is Purpose.PAGE:
            urls = (Discovery(visit.url, trace=visit.trace, visited=True),)
            yield UrlsDiscovered(crawl=self.crawl, at=now, site=page.site, via=visit.id, urls=urls)

    def _remember(self, source: Source, head: RecordHead, url: str) -> None:
        """Remember the place of a response, whose body revisit records may need."""
        block = skip_first_responses(head.block)
        status = _status.match(block)
        if status and (int(status[1]) == NOT_MODIFIED or _is_part(int(status[1]), block)):
            return
        place = Place(source, head.offset, head.length)
        for key in (digest_key(head.digest), _id_of(head)):
            if key:
                self._places.setdefault(key, place)
        at = parse_time(head.date)
        if at is not None:
            self._versions.setdefault(url, {}).setdefault(at, place)

    def _page_of(
        self, source: Source, head: RecordHead, url: str, now: float
    ) -> PageFetched | None:
        if self.is_erased(url):
            self.counts["erased"] += 1
            return None
        capture = read_capture_at(source, head.offset, head.length)
        if reason := _reason_without_document(capture):
            self._count(self.left_out, reason, head.url)
            return None
        content = hash((capture.block, capture.digest, capture.refers_to))
        stated = _possible_time(capture.fetched_at, source, now)
        at = self._free_time(url, stated, content)
        if at is None:
            self.counts["archived"] += 1
            return None
        if at != stated and capture.refers_to is None and capture.status != NOT_MODIFIED:
            place = Place(source, head.offset, head.length)
            self._versions.setdefault(url, {})[at] = place
        if self.is_archived(url, at):
            self.counts["archived"] += 1
            self._added[hash((url, at))] = content
            return None
        validators = NO_VALIDATORS
        if _is_304(capture, head):
            validators = _validators_of(capture, head)
        if _states_empty_body(capture, head):
            capture = replace(capture, refers_to=None)
        if capture.refers_to is not None and validators == NO_VALIDATORS:
            if _is_304(capture, head) and _has_empty_digest(capture):
                # Some writers digest the 304, which is empty, in place of the body before.
                capture = replace(capture, digest="")
            place = self._place_of_earlier(capture, head, url)
            earlier = read_capture_at(*place)
            # The head of a 304 without validators says nothing about the page.
            has_head = capture.has_head and capture.status != NOT_MODIFIED
            capture = replace(capture, has_head=has_head).with_body_of(earlier)
            # A later record may refer to this one.
            self._places.setdefault(_id_of(head), place)
            self._versions.setdefault(url, {}).setdefault(at, place)
        elif capture.status == NOT_MODIFIED and validators == NO_VALIDATORS:
            raise BadCapture("the 304 has neither an ETag nor a Last-Modified")
        if capture.status == PARTIAL_CONTENT:
            if len(capture.body) != _whole_length(capture.block):
                self._count(self.left_out, PART_OF_DOCUMENT, head.url)
                return None
            capture = _as_whole(capture)
        for doubt in capture.doubts:
            self._count(self.doubts, doubt, head.url)
        if capture.truncated and "warc-truncated" not in head.fields:
            self._count(self.doubts, CUT_BODY, head.url)
        self._added[hash((url, at))] = content
        return self._make_page(source, head, capture, validators, url, at, now)

    def _free_time(self, url: str, at: float, content: int) -> float | None:
        """Return *at*, or the time after it at which no other capture of *url* was imported; None
        if this one was."""
        while (other := self._added.get(hash((url, at)))) is not None:
            if other == content:
                return None
            at += TICK
        return at

    def _place_of_earlier(self, capture: Capture, head: RecordHead, url: str) -> Place:
        """Return the place of the response that has the body of a revisit record: the one with its
        digest, or with the id, or the URL and the date, that it refers to. After a 304, or if its
        body has the digest, it may be the version before. Raise MissingBody without one."""
        place = None
        if capture.digest and (capture.has_head or not _has_empty_digest(capture)):
            place = self._places.get(digest_key(capture.digest))
        reference = capture.refers_to
        if place is None and reference is not None and reference.record_id:
            place = self._places.get(_comparable_id(reference.record_id))
        versions = self._versions.get(url, {})
        if place is None and reference is not None and reference.url:
            versions = self._versions.get(canonicalize(reference.url), {})
            place = _place_at(versions, reference.fetched_at)
        is_same = _is_304(capture, head) and not (reference and reference.url)
        before = max((at for at in versions if at <= capture.fetched_at), default=None)
        if place is None and before is not None and (is_same or not _has_empty_digest(capture)):
            place = versions[before]
            if not (is_same or read_capture_at(*place).has_body(capture.digest)):
                place = None
        if place is None:
            raise MissingBody(NO_BODY)
        return place

    def _make_page(
        self,
        source: Source,
        head: RecordHead,
        capture: Capture,
        validators: Validators,
        url: str,
        at: float,
        now: float,
    ) -> PageFetched:
        identity = capture.record_id or f"{source.name} {head.offset}"
        number = blake2b(identity.encode(), digest_size=8).hexdigest()
        visit = Visit(
            # The order 0 is before all erasures.
            id=f"0.0.{number}@{url}",
            url=url,
            via=f"import@{source.name}",
            purpose=self._purpose_of(capture, url),
            trace=fingerprint(url),
            imported=self.imported,
            # A 304 is the answer to a conditional request.
            validators=validators,
            conditional=validators != NO_VALIDATORS,
        )
        stated = capture.fetched_at
        is_wrong_date = _possible_time(stated, source, now) != stated
        fields = _values(_protocol, head.head)
        protocols = [one.strip().lower() for field in fields for one in field.split(",")]
        return PageFetched(
            crawl=self.crawl,
            at=now,
            site=site_of(url),
            host=host_key(url),
            visit=visit,
            started_at=at,
            took=0.0,
            address=head.fields.get("warc-ip-address", ""),
            tls_version=next((one for one in protocols if one.startswith("tls/")), ""),
            cipher_suite=head.fields.get("warc-cipher-suite", ""),
            http_version=capture.http_version,
            status=capture.status,
            reason=capture.reason,
            headers=capture.headers,
            body=capture.body,
            truncated=capture.truncated,
            usage_statements=read_headers(capture.headers, self.product),
            hazards=(Hazard.WRONG_DATE,) if is_wrong_date or WRONG_DATE in capture.doubts else (),
        )

    def _purpose_of(self, capture: Capture, url: str) -> Purpose:
        if url == f"{host_key(url)}/robots.txt":
            return Purpose.ROBOTS
        kind = whole_type(capture.headers, capture.body)
        return Purpose.PAGE if self.accepts(capture.status, kind) else Purpose.REQUISITE

    def _count(self, counter: Counter[str], kind: str, example: str) -> None:
        counter[kind] += 1
        self.examples.setdefault(kind, example)

    def _add_problem(self, problem: str) -> None:
        self.counts["problem"] += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def _read_target(head: RecordHead) -> str:
    """Return the URL of a record. If it is that of a file that was not served, such as by warcit,
    "#" is a character of the file's name, and not the beginning of a fragment."""
    _, sign, fragment = head.url.partition("#")
    source = unquote(head.fields.get("warc-source-uri", ""))
    is_of_file = source.startswith("file:") and source.endswith(f"#{unquote(fragment)}")
    return head.url.replace("#", "%23") if sign and is_of_file else head.url


def _is_about_crawl(head: RecordHead) -> bool:
    return head.url.partition(":")[0].lower() in CRAWLERS_SCHEMES


def _reason_to_leave_out(kind: str, head: RecordHead, requests: Requests) -> str:
    """Return why the record is not the document at its URL; "" if it may be."""
    if kind == "conversion":
        return CONVERSION
    if kind not in RECORD_TYPES:
        return OTHER_TYPE
    scheme, colon, _ = head.url.partition(":")
    if colon and scheme.lower() not in ("http", "https"):
        return ANOTHER_SCHEME
    is_typed = kind == RESOURCE and "content-type" in head.fields
    if not is_typed and _greeting.match(head.block):
        return ANOTHER_PROTOCOL
    return "" if requests.is_get(head) else ANOTHER_METHOD


def _place_at(versions: dict[float, Place], at: float | None) -> Place | None:
    if at is None:
        return None
    nearest = min(versions, key=lambda one: abs(one - at), default=None)
    if nearest is None or abs(nearest - at) > REFERRED_WITHIN:
        return None
    return versions[nearest]


def _has_empty_digest(capture: Capture) -> bool:
    return digest_key(capture.digest) in EMPTY_DIGESTS


def _states_empty_body(capture: Capture, head: RecordHead) -> bool:
    """Return whether a revisit record has all of its response: a head, and the digest of nothing,
    as a redirect often has. Some writers digest a 304 in this way."""
    return capture.has_head and not _is_304(capture, head) and _has_empty_digest(capture)


def _is_304(capture: Capture, head: RecordHead) -> bool:
    profile = head.fields.get("warc-profile", "").rstrip("/>")
    if profile and capture.refers_to is not None and not capture.has_head:
        return profile.endswith(SERVER_NOT_MODIFIED)
    return capture.status == NOT_MODIFIED or profile.endswith(SERVER_NOT_MODIFIED)


def _possible_time(at: float, source: Source, now: float) -> float:
    """Return the time *at* of a capture in *source*. If it is in the future, it is the time at
    which the file was written; if it is before the Web, the beginning of the Web."""
    return max(WEB_BEGAN_AT, at if at <= now else min(source.written_at, now))


def _reason_without_document(capture: Capture) -> str:
    """Return why the response is not a whole document; "" if it may be."""
    if _is_part(capture.status, capture.block):
        return PART_OF_DOCUMENT
    if is_interim(capture.status) or capture.status == SWITCHING_PROTOCOLS:
        return NOT_FINAL
    if not capture.body and opens_tunnel(split_head(capture.block)[0]):
        return ANOTHER_METHOD
    # The head of a document without a body, such as the answer to a HEAD. Browsers do not give the
    # bodies of redirects to writers.
    has_body = bool(capture.body) or capture.refers_to is not None
    is_cut = capture.status == OK and not has_body and stated_length(capture.headers) > 0
    return NOT_RECORDED if is_cut else ""


def _is_part(status: int, block: bytes) -> bool:
    return status == PARTIAL_CONTENT and _whole_length(block) is None


def _whole_length(block: bytes) -> int | None:
    """Return the length of the document, if *block* has a response with all bytes of it in its
    Content-Range (RFC 9110, 14.4); else None."""
    ranges = _content_range.findall(unfold(split_head(block)[0]))
    if len(ranges) != 1:
        return None
    last, length = map(int, ranges[0])
    return length if length == last + 1 else None


def _as_whole(capture: Capture) -> Capture:
    """Return a 206 with all bytes of its document as a 200 (RFC 9110, 15.3.7.3)."""
    headers = tuple(one for one in capture.headers if one[0].lower() != "content-range")
    return replace(capture, status=OK, reason="OK", headers=headers)


def _validators_of(capture: Capture, head: RecordHead) -> Validators:
    """Return the validators of a 304, which some writers have in fields of the record."""
    found = Validators(
        first_value(capture.headers, "etag") or head.fields.get("warc-etag", ""),
        first_value(capture.headers, "last-modified") or head.fields.get("warc-last-modified", ""),
    )
    return found if capture.status == NOT_MODIFIED else NO_VALIDATORS
