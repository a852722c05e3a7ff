"""Makes events of the captures in WARC and WACZ files of other crawls, as `gossamer import` does.

Each response becomes the `PageFetched` of a visit at its own time, so that parser, dedup and
archive handle it like a page that this crawl has fetched. A revisit record gets the body of the
earlier response, which must be in a file that was read before. The archive has at most one capture
of a URL at one time, so what is imported twice is archived once.

A capture whose date is in the future has the time at which its file was written, so it holds back
no later visit; one from before the Web has the time at which the Web began. Both get the hazard
`wrong_date`.

Records are trusted as little as responses of servers. A record that cannot be used is counted as a
problem, with its position and the reason.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import BinaryIO, cast
from zipfile import BadZipFile, ZipFile

from gossamer.captures import (
    DICTIONARY_MAGIC,
    HEAD_END,
    MAX_RECORD_BYTES,
    RECORD_TYPES,
    RESPONSE,
    BadCapture,
    Capture,
    parse_record,
    read_dictionary,
    unpack_record,
)
from gossamer.errors import BadSettings, GossamerError
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
from gossamer.web.coding import GZIP_MAGIC, ZSTD_MAGIC
from gossamer.web.http import NOT_MODIFIED, first_value
from gossamer.web.sniffing import whole_type
from gossamer.web.url import BadUrl, canonicalize, fingerprint, host_key, site_of
from gossamer.web.usage import read_headers
from gossamer.web.validators import NO_VALIDATORS, Validators
from services.archive.reading import (
    PlainRecordReader,
    RecordHead,
    RecordReader,
    read_chunks,
    record_length,
)
from services.fetcher.outcome import Accepts
from services.parser.dates import WEB_BEGAN_AT

WARC_SUFFIXES = (".warc", ".warc.gz", ".warc.zst")
WACZ_SUFFIX = ".wacz"
MAGIC_BYTES = 4
MAX_PROBLEMS = 20
"""Maximum number of problems whose text is kept."""

_protocol = re.compile(rb"(?im)^warc-protocol: *([^\r\n]+)")


@dataclass(frozen=True)
class WarcSource:
    """A WARC file, or a member of a WACZ file."""

    name: str
    written_at: float
    """When the file was last changed: no capture in it is later."""
    open: Callable[[], AbstractContextManager[BinaryIO]]


def sources_of(path: Path) -> list[WarcSource]:
    """Return the WARC files at *path*: the file itself, or those in a WACZ file.

    Raise BadSettings if it is neither, or cannot be read.
    """
    if path.name.endswith(WARC_SUFFIXES):
        if not path.is_file():
            raise BadSettings(f"{path} is not a file")
        return [WarcSource(path.name, path.stat().st_mtime, lambda: path.open("rb"))]
    if path.suffix != WACZ_SUFFIX:
        raise BadSettings(f"{path} is not named {', '.join(WARC_SUFFIXES)} or {WACZ_SUFFIX}")
    try:
        with ZipFile(path) as packed:
            names = sorted(one for one in packed.namelist() if one.endswith(WARC_SUFFIXES))
    except (OSError, BadZipFile) as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error
    if not names:
        raise BadSettings(f"{path} has no WARC file")
    written_at = path.stat().st_mtime
    return [
        WarcSource(f"{path.name}/{one}", written_at, partial(_open_member, path, one))
        for one in names
    ]


@contextmanager
def _open_member(path: Path, name: str) -> Iterator[BinaryIO]:
    with ZipFile(path) as packed, packed.open(name) as member:
        yield cast(BinaryIO, member)


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
    _places: dict[str, tuple[WarcSource, int, int]] = field(default_factory=dict)
    """Payload digest → the first response with it: its source, offset and length."""

    def events_of(self, source: WarcSource, now: float) -> Iterator[Event]:
        """Yield the page of each capture in *source*, in the order of the file.

        If it counts as a visit, another event adds its URL to the URL-seen set.
        """
        with source.open() as file:
            try:
                reader = _reader_of(file)
                for head in reader:
                    _check_framing(head)
                    yield from self._events_of_record(source, head, now)
            except BadCapture as error:
                self._add_problem(f"{source.name}: {error}")
                return
            except (OSError, BadZipFile) as error:
                raise GossamerError(f"{source.name} cannot be read: {error}") from error
            if reader.is_damaged:
                self._add_problem(f"{source.name} is damaged from byte {reader.position} on")

    def _events_of_record(
        self, source: WarcSource, head: RecordHead, now: float
    ) -> Iterator[Event]:
        if head.kind not in RECORD_TYPES or head.is_filler or head.url.startswith("dns:"):
            return
        if head.kind == RESPONSE and head.digest:
            self._places.setdefault(head.digest, (source, head.offset, head.length))
        try:
            page = self._page_of(source, head, now)
        except (BadCapture, BadUrl) as error:
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

    def _page_of(self, source: WarcSource, head: RecordHead, now: float) -> PageFetched | None:
        url = canonicalize(head.url)
        if self.is_erased(url):
            self.counts["erased"] += 1
            return None
        capture = _read(source, head.offset, head.length)
        at = _possible_time(capture.fetched_at, source, now)
        if self.is_archived(url, at):
            self.counts["archived"] += 1
            return None
        if capture.refers_to is not None and capture.status != NOT_MODIFIED:
            capture = capture.with_body_of(self._read_earlier(capture))
        return self._make_page(source, head, capture, url, at, now)

    def _read_earlier(self, capture: Capture) -> Capture:
        place = self._places.get(capture.digest)
        if place is None:
            raise BadCapture("the body of the revisit record is in no file that was read before")
        return _read(*place)

    def _make_page(
        self,
        source: WarcSource,
        head: RecordHead,
        capture: Capture,
        url: str,
        at: float,
        now: float,
    ) -> PageFetched:
        identity = capture.record_id or f"{source.name} {head.offset}"
        is_304 = capture.status == NOT_MODIFIED
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
            validators=_validators_of(capture) if is_304 else NO_VALIDATORS,
            conditional=is_304,
        )
        protocols = [
            one.decode("latin-1").strip()
            for one in _protocol.findall(head.head.partition(HEAD_END)[0])
        ]
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
            hazards=() if at == capture.fetched_at else (Hazard.WRONG_DATE,),
        )

    def _purpose_of(self, capture: Capture, url: str) -> Purpose:
        if url == f"{host_key(url)}/robots.txt":
            return Purpose.ROBOTS
        kind = whole_type(capture.headers, capture.body)
        return Purpose.PAGE if self.accepts(capture.status, kind) else Purpose.REQUISITE

    def _add_problem(self, problem: str) -> None:
        self.counts["problem"] += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)


def _possible_time(at: float, source: WarcSource, now: float) -> float:
    """Return the time *at* of a capture in *source*. If it is in the future, it is the time at
    which the file was written; if it is before the Web, the beginning of the Web."""
    return max(WEB_BEGAN_AT, at if at <= now else min(source.written_at, now))


def _reader_of(file: BinaryIO) -> RecordReader | PlainRecordReader:
    """Return the reader of *file* by its first bytes. Raise BadCapture if it is no WARC file."""
    magic = file.read(MAGIC_BYTES)
    file.seek(0)
    if magic == b"WARC":
        return PlainRecordReader(file)
    if magic.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        return RecordReader(read_chunks(file.read))
    if magic == DICTIONARY_MAGIC:
        return RecordReader(read_chunks(file.read), dictionary=_dictionary_of(file))
    raise BadCapture("it is not a WARC file")


def _dictionary_of(file: BinaryIO) -> bytes:
    found = read_dictionary(partial(_read_range, file))
    file.seek(0)
    return found


def _check_framing(head: RecordHead) -> None:
    """Raise BadCapture if *head* has more than one record: the file was compressed as a whole."""
    length = record_length(head.head)
    if length is not None and length < len(head.head):
        raise BadCapture(
            "its records are not compressed one by one: write it again with warcio recompress"
        )


def _read(source: WarcSource, offset: int, length: int) -> Capture:
    """Return the capture at this place. Raise BadCapture if there is none."""
    if length > MAX_RECORD_BYTES:
        raise BadCapture(f"the record has more than {MAX_RECORD_BYTES} bytes")
    with source.open() as file:
        packed = _read_range(file, offset, offset + length)
        dictionary = partial(read_dictionary, partial(_read_range, file))
        return parse_record(unpack_record(packed, dictionary))


def _read_range(file: BinaryIO, start: int, end: int) -> bytes:
    file.seek(start)
    return file.read(end - start)


def _validators_of(capture: Capture) -> Validators:
    """Return the validators of a 304. Raise BadCapture if it has none."""
    found = Validators(
        first_value(capture.headers, "etag"), first_value(capture.headers, "last-modified")
    )
    if found == NO_VALIDATORS:
        raise BadCapture("the 304 has neither an ETag nor a Last-Modified")
    return found
