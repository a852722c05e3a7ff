"""Reads captures from WARC files, one record at a time.

`read_capture` takes the place of a record, as an event of `pages.archived` has it, and reads these
bytes only. The file may be on any file system of fsspec. A record is a gzip member (`.warc.gz`) or
a zstd frame (`.warc.zst`), by annex D of WARC 1.1 (ISO 28500:2017) and by the WARC specification
for Zstandard (iipc.github.io/warc-specifications), perhaps with the dictionary of its file.

A revisit record has no body. Its event has the digest of the omitted body, and the earlier event
with this digest and the record type `response` has the place of the record with the body:

    capture = read_capture(event.uri, event.offset, event.length)
    if capture.refers_to is not None:
        capture = capture.with_body_of(read_capture(*places[event.digest]))
    text = capture.decode_body(LIMIT)

Nothing in a record is trusted. A record that is truncated, damaged or larger than MAX_RECORD_BYTES
raises BadCapture, and in `read_capture` so does one whose digest is wrong.

`parse_record` also reads the records of other writers: WARC 0.17 and later, lines that end with a
bare line feed, interim responses before the response, revisit records without a head, and resource
records. Facts that it cannot prove are in the `doubts` of a capture.
"""

import hashlib
import re
import zlib
from base64 import b32decode, b64decode
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache, partial
from urllib.parse import unquote

from backports import zstd
from msgspec import Struct
from msgspec.structs import replace

from gossamer.errors import GossamerError
from gossamer.volumes import Volume
from gossamer.web.coding import GZIP, GZIP_MAGIC, ZSTD_MAGIC, decode
from gossamer.web.http import (
    NOT_MODIFIED,
    Headers,
    decode_urls,
    first_value,
    joined_values,
    parse_date,
)

MAX_RECORD_BYTES = 128 << 20
"""Bytes of a record, as stored and as decompressed. A larger record is not read."""
MAX_DICTIONARY_BYTES = 16 << 20
"""Bytes of the dictionary of a file."""
DIGEST_SIZES = {"md5": 16, "sha1": 20, "sha256": 32, "sha512": 64}
"""Algorithm → bytes of its digests."""
SWITCHING_PROTOCOLS = 101
HTTP_START = b"HTTP/"
RESPONSE, REVISIT, RESOURCE = "response", "revisit", "resource"
RECORD_TYPES = (RESPONSE, REVISIT, RESOURCE)
"""The types of WARC records that are captures."""
CHUNKED = "chunked"
MAX_DIGITS = 16
"""Digits of a Content-Length that is believed."""
DICTIONARY_MAGIC = b"\x5d\x2a\x4d\x18"
"""The first bytes of the skippable frame with the dictionary of a `.warc.zst` file."""
DICTIONARY_HEAD_BYTES = 8
"""The signature of a skippable frame, and its length in four bytes, the lowest first."""
WRONG_BLOCK_DIGEST = "the block digest is wrong, and the payload digest is right"
WRONG_PAYLOAD_DIGEST = "the payload digest is wrong, and the block digest is right"
WRONG_DIGEST = "every digest of the record is wrong"
WRONG_LENGTH = "the Content-Length is too small: more bytes are behind the content"
WRONG_DATE = "the WARC-Date is invalid: the time is that of the Date header"
VOLUME_CACHE_SIZE = 16
WARC_START = b"WARC/"

_version = re.compile(rb"(?i:WARC)/\d+\.\d+[ \t]*")
_head_end = re.compile(rb"\r{0,2}\n\r{0,2}\n")
_line_end = re.compile(rb"\r{0,2}\n")
_fold = re.compile(rb"\r{0,2}\n[ \t]+")
_chunk_size = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?\r?\n")
_bare_head = re.compile(
    rb"[^\r\n]*(?:\r{0,2}\n|\Z)(?:[\w!#$%&'*+.^`|~-]+[ \t]*:[^\r\n]*(?:\r{0,2}\n|\Z))*"
)
_status_line = re.compile(r"HTTP(?:/(\d(?:\.\d)?))? +([1-9]\d\d)(?!\d) *(.*)", re.IGNORECASE)
_old_head = re.compile(rb"(?i)HTTP +[1-9]\d\d(?: [^\r\n]*)?\r{0,2}\n[\w-]+:")


_tunnel = re.compile(rb"(?im)\AHTTP/\S+ +2\d\d [^\r\n]*\bestablished\b|^proxy-agent[ \t]*:")


class BadCapture(GossamerError):
    """A record is not a capture that can be read: it is truncated, damaged or of another kind."""


class Reference(Struct, frozen=True):
    """The response whose body a revisit record omits. All fields are empty if it is unknown."""

    url: str = ""
    fetched_at: float | None = None
    """Epoch seconds of the request, in microseconds."""
    record_id: str = ""


class Capture(Struct, frozen=True, kw_only=True):
    """A response as archived."""

    record_type: str
    """`response`, `revisit` or `resource`."""
    record_id: str
    url: str
    fetched_at: float
    """Epoch seconds of the request."""
    status: int
    reason: str
    """The reason phrase of the status line."""
    http_version: str = "1.1"
    headers: Headers
    block: bytes
    """The HTTP response as archived: its head and its body, still content-encoded. `with_body_of`
    adds the body of an earlier response, and replaces a 304 by that response."""
    body: bytes
    """The body, still content-encoded; empty for a revisit record until `with_body_of`."""
    digest: str
    """WARC-Payload-Digest: the digest of the body, or of the body that is omitted; "" if the record
    has none."""
    truncated: str = ""
    """Why the body is incomplete: `length`, `time` or `disconnect`; "" if it is complete. A body
    that is shorter than its Content-Length or its chunks say has `disconnect`. A revisit record has
    "" until `with_body_of`: its WARC-Truncated says that it has no body."""
    refers_to: Reference | None = None
    """The response with the body of a revisit record; None if the body is here, also in a revisit
    record whose digest proves it."""
    content_headers: Headers = ()
    """The headers that describe the body. A 304 takes them from the earlier response."""
    has_head: bool = True
    """Whether the record has an HTTP head. A revisit record may omit it: it then counts as a 304
    until `with_body_of` adds the head of the earlier response."""
    doubts: tuple[str, ...] = ()
    """Statements of the record that are wrong, though its body can be read."""

    def with_body_of(self, earlier: "Capture") -> "Capture":
        """Return this revisit record with the body of an *earlier* response.

        Raise BadCapture if the earlier record has another body, or none.
        """
        if earlier.refers_to is not None:
            raise BadCapture(f"{earlier.record_id} has no body: it is a revisit record")
        is_equal = digest_key(self.digest) == digest_key(earlier.digest)
        if self.digest and not (is_equal or _has_digest(earlier.body, self.digest)):
            raise BadCapture(f"{earlier.record_id} does not have the body of {self.record_id}")
        if not self.has_head:
            return replace(
                earlier,
                record_type=self.record_type,
                record_id=self.record_id,
                url=self.url,
                fetched_at=self.fetched_at,
                doubts=self.doubts,
            )
        block, described = self.block + earlier.body, self.headers
        if self.status == NOT_MODIFIED:
            # The head of a 304 does not describe the body.
            block, described = earlier.block, earlier.headers
        return replace(
            self,
            block=block,
            body=earlier.body,
            truncated=earlier.truncated,
            refers_to=None,
            content_headers=described,
        )

    def has_body(self, digest: str) -> bool:
        """Return whether *digest*, of a known algorithm, is that of the body."""
        return _is_proved(self.body, digest)

    def decode_body(self, limit: int = MAX_RECORD_BYTES) -> bytes:
        """Return at most *limit* bytes of the body without its content codings.

        Raise BadCapture for a revisit record without the body of the earlier response.
        """
        if self.refers_to is not None:
            raise BadCapture(f"{self.record_id} is a revisit record: its body is in another record")
        codings = joined_values(self.content_headers, "content-encoding")
        return decode(self.body, codings, limit).data


def read_capture(uri: str, offset: int, length: int) -> Capture:
    """Return the capture at *offset* of the file *uri*, whose record has *length* bytes there.

    Raise BadCapture if the record cannot be read, Missing if there is no such file, and
    VolumeUnavailable if its file system does not answer.
    """
    if offset < 0 or not 0 < length <= MAX_RECORD_BYTES:
        raise BadCapture(f"{uri}: no record of {length} bytes at byte {offset} can be read")
    folder, _, name = uri.rpartition("/")
    if uri.startswith("file:"):
        name = unquote(name)  # The volume does so for its folder.
    volume = _volume(folder or ".")
    packed = volume.read(name, offset, offset + length)
    try:
        if len(packed) < length:
            raise BadCapture("the file ends within the record")
        dictionary = partial(read_dictionary, partial(volume.read, name))
        capture = parse_record(unpack_record(packed, dictionary))
        if capture.doubts:
            raise BadCapture(f"{capture.doubts[0]}: the file is damaged")
        return capture
    except BadCapture as error:
        raise BadCapture(f"{uri} at byte {offset}: {error}") from error


@lru_cache(VOLUME_CACHE_SIZE)
def _volume(url: str) -> Volume:
    """Return the volume *url*. It is cached: a client of an object store takes 0.1 s to create."""
    return Volume(url)


def read_dictionary(read: Callable[[int, int], bytes]) -> bytes:
    """Return the dictionary at the start of a `.warc.zst` file. Raise BadCapture without one.

    *read* returns the bytes of the file from the first position to the second.
    """
    head = read(0, DICTIONARY_HEAD_BYTES)
    size = int.from_bytes(head[4:], "little")
    if not head.startswith(DICTIONARY_MAGIC) or not 0 < size <= MAX_DICTIONARY_BYTES:
        raise BadCapture("the record needs a dictionary, and its file has none")
    found = read(DICTIONARY_HEAD_BYTES, DICTIONARY_HEAD_BYTES + size)
    if found.startswith(ZSTD_MAGIC):
        found = _inflate(found, MAX_DICTIONARY_BYTES)
    try:
        zstd.ZstdDict(found)
    except ValueError as error:
        raise BadCapture("the dictionary of the file is damaged") from error
    return found


def begins_warc(data: bytes) -> bool:
    """Return whether *data* begins like a plain record of WARC, whose grammar has no case."""
    return data[: len(WARC_START)].upper() == WARC_START


def unpack_record(packed: bytes, dictionary: Callable[[], bytes]) -> bytes:
    """Return the record in the gzip member or zstd frame that *packed* begins with.

    *dictionary* returns the dictionary of the file. It is called only if the frame names one.
    """
    if begins_warc(packed):
        return packed
    if packed.startswith(ZSTD_MAGIC):
        return _inflate(packed, MAX_RECORD_BYTES, dictionary)
    if packed.startswith(GZIP_MAGIC):
        return _gunzip(packed)
    raise BadCapture("no record begins there")


def _gunzip(packed: bytes) -> bytes:
    member = zlib.decompressobj(GZIP)
    try:
        found = member.decompress(packed, MAX_RECORD_BYTES + 1)
    except zlib.error as error:
        raise BadCapture(f"the gzip member is damaged: {error}") from error
    return _check_size(found, member.eof, MAX_RECORD_BYTES)


def _inflate(packed: bytes, most: int, dictionary: Callable[[], bytes] | None = None) -> bytes:
    try:
        needs_dictionary = zstd.get_frame_info(packed).dictionary_id
        loaded = zstd.ZstdDict(dictionary()) if needs_dictionary and dictionary else None
        frame = zstd.ZstdDecompressor(loaded)
        found = frame.decompress(packed, most + 1)
    except (zstd.ZstdError, ValueError) as error:
        raise BadCapture(f"the zstd frame is damaged: {error}") from error
    return _check_size(found, frame.eof, most)


def _check_size(found: bytes, is_whole: bool, most: int) -> bytes:
    if len(found) > most:
        raise BadCapture(f"the record has more than {most} bytes")
    if not is_whole:
        raise BadCapture("the record is truncated")
    return found


def parse_record(record: bytes) -> Capture:
    """Return the capture in a WARC *record*. Raise BadCapture if it has none.

    A wrong digest is a doubt and does not raise BadCapture: some tools change the head of a
    response without its digest, or digest something else.
    """
    head, rest = split_head(record)
    if rest is None or not _version.fullmatch(_line_end.split(head, 1)[0]):
        raise BadCapture("no WARC record begins there")
    fields = _fields(head)
    kind, block = fields.get("warc-type", "").lower(), _block(fields, rest)
    if kind not in RECORD_TYPES:
        raise BadCapture(f"a record of the type {kind[:40]!r} is not a capture")
    reply = _Reply(headers=())
    if _is_document(kind, fields, block):
        headers = (("Content-Type", fields["content-type"]),) if "content-type" in fields else ()
        reply = _Reply(status=200, headers=headers, block=block, body=block)
    elif block or kind == RESPONSE:
        reply = _parse_response(block)
    body, is_cut = _without_transfer_coding(reply.body, reply.headers)
    truncated = fields.get("warc-truncated", "") or ("disconnect" if is_cut else "")
    digest = fields.get("warc-payload-digest", "")
    doubts = _wrong_digests(kind, fields, block, (body, *reply.sent))
    if rest[len(block) :].strip(b"\r\n"):
        doubts.append(WRONG_LENGTH)
    omits_body = kind == REVISIT and not (body and _is_proved(body, digest))
    at = parse_time(fields.get("warc-date", ""))
    if at is None:
        at = _date_header(reply.headers)
        doubts.append(WRONG_DATE)
    return Capture(
        record_type=kind,
        record_id=fields.get("warc-record-id", ""),
        url=_url(fields, "warc-target-uri"),
        fetched_at=at,
        status=reply.status,
        reason=reply.reason,
        http_version=reply.version,
        headers=reply.headers,
        block=reply.block,
        body=b"" if omits_body else body,
        digest=digest,
        truncated="" if kind == REVISIT else truncated,
        refers_to=_reference(fields) if omits_body else None,
        content_headers=reply.headers,
        has_head=bool(block) or kind != REVISIT,
        doubts=tuple(doubts),
    )


def _wrong_digests(
    kind: str, fields: dict[str, str], block: bytes, payloads: tuple[bytes, ...]
) -> list[str]:
    """Return the doubts about the digests of a record.

    The payload of a revisit record is not here, so that its digest proves nothing.
    """
    of_block = fields.get("warc-block-digest", "")
    of_payload = fields.get("warc-payload-digest", "")
    if not _has_digest(block, of_block):
        is_proved = _algorithm(of_payload) and any(_has_digest(one, of_payload) for one in payloads)
        if (kind == REVISIT and of_payload) or is_proved:
            return [WRONG_BLOCK_DIGEST]
        return [WRONG_DIGEST]
    if kind == REVISIT or any(_has_digest(one, of_payload) for one in (*payloads, block)):
        return []
    return [WRONG_PAYLOAD_DIGEST if _algorithm(of_block) else WRONG_DIGEST]


def _is_document(kind: str, fields: dict[str, str], block: bytes) -> bool:
    """Return whether a record of *kind* says that its *block* is a document without a head."""
    content_type = fields.get("content-type", "").lower()
    is_message = content_type.startswith(("application/http", "message/http"))
    has_head = begins_response(block)
    if kind == RESOURCE:
        return not (is_message and has_head)
    return kind == RESPONSE and bool(content_type) and not (is_message or has_head)


class _Reply(Struct, frozen=True, kw_only=True):
    """An HTTP response. The defaults describe a revisit record without a head, as a 304."""

    status: int = NOT_MODIFIED
    reason: str = ""
    version: str = "1.1"
    headers: Headers
    block: bytes = b""
    body: bytes = b""
    sent: tuple[bytes, ...] = ()
    """Bytes that other writers digest in place of the body: the body with its chunks, or everything
    behind the first head."""


def _parse_response(block: bytes) -> _Reply:
    """Return the response in *block*, behind those that `skip_first_responses` skips."""
    behind_first = split_head(block.lstrip(b"\r\n"))[1]
    block = skip_first_responses(block)
    head, body = split_head(block)
    if body is None and _bare_head.fullmatch(block):
        body = b""  # Some writers omit the blank line behind a head without a body.
    status = _status_line.fullmatch(_line_end.split(head, 1)[0].decode("latin-1"))
    if status is None or body is None:
        raise BadCapture("the record has no HTTP response")
    return _Reply(
        status=int(status[2]),
        reason=status[3],
        version=status[1] or "1.0",
        headers=tuple(_lines(head)),
        block=block,
        body=body,
        sent=(body, body if behind_first is None else behind_first),
    )


def skip_first_responses(block: bytes) -> bytes:
    """Return *block* without its interim responses (RFC 9110, 15.2) and the answer of a proxy that
    opened a tunnel (9.3.6), if another response is behind them."""
    while True:
        if block.lstrip(b"\r\n").startswith(HTTP_START):
            block = block.lstrip(b"\r\n")
        head, body = split_head(block)
        status = _status_line.fullmatch(_line_end.split(head, 1)[0].decode("latin-1"))
        is_first = status and (is_interim(int(status[2])) or opens_tunnel(head))
        if not (is_first and body and body.lstrip(b"\r\n").startswith(HTTP_START)):
            return block
        block = body


def begins_response(block: bytes) -> bool:
    """Return whether *block* begins with the head of a response. NCSA 1.5 sends no version: there
    a field must follow, because a text may begin with such words."""
    return block[:5].upper() == HTTP_START or _old_head.match(block) is not None


def is_interim(status: int) -> bool:
    """Return whether a response with *status* precedes the final one (RFC 9110, 15.2)."""
    return 100 <= status < 200 and status != SWITCHING_PROTOCOLS


def opens_tunnel(head: bytes) -> bool:
    """Return whether the response with this *head* is the answer of a proxy to CONNECT: it has the
    reason phrase or the field that proxies send."""
    return head.upper().startswith(HTTP_START) and _tunnel.search(head) is not None


def split_head(message: bytes) -> tuple[bytes, bytes | None]:
    """Return the head of a *message*, and the bytes behind its blank line; None without one.

    Lines end with CRLF or a bare line feed (RFC 9112, 2.2), and in some files with CR CR LF.
    """
    end = _head_end.search(message)
    return (message[: end.start()], message[end.end() :]) if end else (message, None)


def unfold(head: bytes) -> bytes:
    """Return *head* with each field in one line: a line that begins with white space continues the
    one before (RFC 9112, 5.2)."""
    return _fold.sub(b" ", head)


def _fields(head: bytes) -> dict[str, str]:
    """Return the fields of a WARC head by name in lower case; the first of several counts."""
    found = dict[str, str]()
    for name, value in _lines(head):
        found.setdefault(name.lower(), value)
    return found


def _lines(head: bytes) -> Iterator[tuple[str, str]]:
    for line in _line_end.split(unfold(head))[1:]:
        name, colon, value = line.decode("latin-1").partition(":")
        if colon:
            yield name.strip(), value.strip()


def _block(fields: dict[str, str], rest: bytes) -> bytes:
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdecimal()) or len(length) > len(str(MAX_RECORD_BYTES)):
        raise BadCapture("the record has no valid Content-Length")
    if int(length) > len(rest):
        raise BadCapture("the record is truncated")
    return rest[: int(length)]


def _without_transfer_coding(body: bytes, headers: Headers) -> tuple[bytes, bool]:
    """Return *body* without its transfer codings (RFC 9112, 7), and whether its end is missing (8).

    A body that does not have a coding is returned as it is: its writer has removed the coding, but
    not the header, or the header has a word that is not a coding. Raise BadCapture if the decoded
    body is too long.
    """
    codings = joined_values(headers, "transfer-encoding").replace(" ", "").lower().split(",")
    is_cut = 0 < len(body) < stated_length(headers)
    if CHUNKED in codings:
        body, is_cut = _without_chunks(body)
    elif joined_values(headers, "content-encoding"):
        is_cut = False  # The writer may have removed this coding, which the length counts.
    others = ",".join(one for one in codings if one != CHUNKED)
    decoded = decode(body, others, MAX_RECORD_BYTES)
    if decoded.bomb or len(decoded.data) >= MAX_RECORD_BYTES:
        raise BadCapture("the body is too long without its transfer coding")
    return decoded.data, is_cut or decoded.cut


def stated_length(headers: Headers) -> int:
    """Return the Content-Length in *headers*; 0 if it is missing or invalid."""
    length = first_value(headers, "content-length").strip()
    is_valid = length.isascii() and length.isdecimal() and len(length) < MAX_DIGITS
    return int(length) if is_valid else 0


def _without_chunks(body: bytes) -> tuple[bytes, bool]:
    """Return *body* without its chunks, and whether its last chunk is missing."""
    chunks, at, has_crlf = list[bytes](), 0, True
    while line := _chunk_size.match(body, at):
        size, begins = int(line[1], 16), line.end()
        has_crlf = has_crlf and line[0].endswith(b"\r\n")
        if size == 0:
            return b"".join(chunks) if has_crlf or chunks else body, False
        chunks.append(body[begins : begins + size])
        at = begins + size
        at += 2 if body[at : at + 1] == b"\r" else 1
    # A text may begin with a line of a number.
    is_cut = bool(chunks) and has_crlf and at >= len(body)
    return (b"".join(chunks) if is_cut else body), is_cut


def _is_proved(data: bytes, digest: str) -> bool:
    """Return whether *digest*, of a known algorithm, is that of *data*."""
    return _algorithm(digest) is not None and _has_digest(data, digest)


def _has_digest(data: bytes, digest: str) -> bool:
    """Return whether *data* has the *digest*, such as `sha1:…`. A digest of an unknown algorithm
    counts as right, because the standard allows any algorithm."""
    algorithm = _algorithm(digest)
    if algorithm is None:
        return True
    found = hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()
    return digest_key(digest) == f"{algorithm}:{found}"


def digest_key(digest: str) -> str:
    """Return *digest* with hexadecimal digits: some writers use base 32 or 64. A digest with an
    unknown algorithm or an invalid value is returned unchanged."""
    algorithm = _algorithm(digest)
    value = digest.partition(":")[2].rstrip("=")
    size = DIGEST_SIZES.get(algorithm or "", 0)
    try:
        if len(value) == 2 * size:
            return f"{algorithm}:{bytes.fromhex(value).hex()}"
        if len(value) == -(-size * 8 // 5) and size:
            padded = value.upper() + "=" * (-len(value) % 8)
            return f"{algorithm}:{b32decode(padded).hex()}"
        if len(value) == -(-size * 8 // 6) and size:
            padded = value + "=" * (-len(value) % 4)
            return f"{algorithm}:{b64decode(padded, validate=True).hex()}"
    except ValueError:
        pass
    return digest


def _algorithm(digest: str) -> str | None:
    name, colon, _ = digest.partition(":")
    name = name.lower().replace("-", "")
    return name if colon and name in DIGEST_SIZES else None


def _reference(fields: dict[str, str]) -> Reference:
    return Reference(
        url=_url(fields, "warc-refers-to-target-uri"),
        fetched_at=parse_time(fields.get("warc-refers-to-date", "")),
        record_id=fields.get("warc-refers-to", ""),
    )


def _url(fields: dict[str, str], name: str) -> str:
    return decode_urls(fields.get(name, "").strip("<> \t").encode("latin-1"))


def parse_time(date: str) -> float | None:
    """Return a WARC-Date in epoch seconds; None if it is invalid.

    It may be a year, a month or a day (WARC 1.1), the 14 digits of an ARC file, also without
    seconds or with milliseconds, and a date of HTTP.
    """
    if "," in date and date.endswith("GMT"):
        return parse_date(date)
    if len(date) in (12, 14, 17) and date.isdecimal():
        date = f"{date[:8]}T{date[8:14]}.{date[14:]}".rstrip(".")
    elif len(date) in (4, 7):
        date += "-01-01"[: 10 - len(date)]
    try:
        found = datetime.fromisoformat(date.upper())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _date_header(headers: Headers) -> float:
    found = parse_date(first_value(headers, "date"))
    if found is None:
        raise BadCapture("the record has no valid date")
    return found
