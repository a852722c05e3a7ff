"""The files that seeds are read from: lists of URLs, and what other programs or crawls have.

The bytes of a file say what it is: JSON Lines with a field `url`, such as `gossamer export` writes;
CSV with a column `url`; a sitemap or a feed; a WACZ file, for its list of pages; a zone of the DNS,
for the home pages of its names; or otherwise a URL a line. A folder of a crawl has the URLs of its
documents.
"""

import asyncio
import csv
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterator
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from msgspec import DecodeError, Struct, json

from gossamer import clock
from gossamer.crawl import decode_list
from gossamer.errors import BadSettings, Poison
from gossamer.events import PageFetched, Purpose, Visit
from gossamer.inspection.basics.folder import Folder
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.inspection.crawls.documents import iterate_records
from gossamer.log.codec import split_key
from gossamer.web.coding import GZIP_MAGIC, decode
from gossamer.web.url import HostKey, Site

ZIP_MAGIC = b"PK\x03\x04"
PAGE_LISTS = ("pages/pages.jsonl", "pages/extraPages.jsonl")
"""The lists of pages in a WACZ file."""
MAX_LIST_BYTES = 1 << 30
PAGE_SECONDS, MEMORY_BYTES = 60.0, 1 << 30
"""CPU seconds and bytes that reading a sitemap may take."""
NO_PLACE = "https://sitemap.invalid"
"""The origin of a local sitemap. Relative URLs in it get this host, which does not exist."""


ZONE_START = re.compile(r"\$(?:ORIGIN|TTL)\s|\S+(?:\s+\d+[smhdw]?)?\s+IN\s+[A-Z0-9]+\s", re.I)
"""The first line of a zone: a directive, or a record with its class."""
ZONE_LINE = re.compile(
    r"(?P<owner>\S*)(?:\s+(?:\d+[smhdw]?|IN))*\s+(?P<type>SOA|NS|A|AAAA|CNAME|MX|TXT|DS)\s", re.I
)
"""A record of a zone (RFC 1035, 5.1): owner, time to live and class in any order, and type."""
HOST_TYPES = frozenset({"NS", "A", "AAAA", "CNAME"})
"""The types of records whose owner is, or has, a host: a delegation, an address or an alias."""


class _Line(Struct):
    url: str = ""


def read_seed_lines(path: Path) -> list[str]:
    """Return the URL in each line of the file at *path*; a line without one as it is.

    Raise BadSettings if a file of a known kind cannot be read, and OSError if it is missing.
    """
    if path.is_dir():
        return _lines_of_folder(path)
    with path.open("rb") as file:
        # A pipe can be read once only.
        start = file.read(len(ZIP_MAGIC))
        return _lines_of_wacz(path) if start == ZIP_MAGIC else split_seed_lines(start + file.read())


def split_seed_lines(octets: bytes) -> list[str]:
    """Return the URL in each line of a file with these *octets*; a line without one as it is."""
    if octets.startswith(GZIP_MAGIC):
        unpacked = decode(octets, "gzip", MAX_LIST_BYTES)
        if unpacked.cut or unpacked.bomb:
            raise BadSettings("the list of seeds is damaged, or too large when it is unpacked")
        octets = unpacked.data
    start = octets.removeprefix(BOM_UTF8).lstrip()[:1]
    if start == b"<":
        return _lines_of_sitemap(octets)
    lines = decode_list(octets).splitlines()
    if start == b"{":
        return [_url_in(line) for line in lines]
    header = next(csv.reader(lines[:1]), [])
    if "url" in header:
        return ["", *_lines_of_csv(lines[1:], header.index("url"))]
    return [*_lines_of_zone(lines)] if _is_zone(lines) else lines


def _is_zone(lines: list[str]) -> bool:
    written = (line for line in lines if line.partition(";")[0].strip())
    return ZONE_START.match(next(written, "")) is not None


def _lines_of_zone(lines: list[str]) -> Iterator[str]:
    """Yield each name of a zone where it first has a host, as a seed that is typed; "" for other
    lines. Wildcards and names with an underscore name no host."""
    origin = owner = ""
    found, depth = set[str](), 0
    for line in lines:
        text = line.partition(";")[0]
        home, is_continued = "", depth > 0
        depth += text.count("(") - text.count(")")
        if text.upper().startswith("$ORIGIN") and len(words := text.split()) > 1:
            origin = words[1].strip(".").lower()
        elif not is_continued and (record := ZONE_LINE.match(text)):
            # A record without an owner has that of the record before.
            owner = record["owner"].lower() or owner
            name = owner.strip(".") if owner.endswith(".") else f"{owner}.{origin}".strip(".")
            name = origin if owner == "@" else name
            if record["type"].upper() in HOST_TYPES and not {"*", "_"} & {*name} and "." in name:
                home = name
        yield "" if home in found else home
        found.add(home)


def _url_in(line: str) -> str:
    """Return the field `url` of a *line* in JSON; the line itself if it is not readable, and "" if
    it has none, like the head of a list of pages."""
    try:
        return json.decode(line, type=_Line).url if line.strip() else ""
    except DecodeError:
        return line


def _lines_of_csv(lines: list[str], column: int) -> Iterator[str]:
    rows = csv.reader(f"{line}\n" for line in lines)
    before = 0
    for row in rows:
        # A cell may have several lines.
        yield from [""] * (rows.line_num - before - 1)
        before = rows.line_num
        yield row[column] if len(row) > column else ""


def _lines_of_wacz(path: Path) -> list[str]:
    try:
        with ZipFile(path) as packed:
            lists = [one for one in packed.infolist() if one.filename in PAGE_LISTS]
            if sum(one.file_size for one in lists) > MAX_LIST_BYTES:
                raise BadSettings(f"{path}: its list of pages is too large")
            found = [packed.read(one).decode("utf-8", "replace") for one in lists]
    except (BadZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise BadSettings(f"{path} cannot be read: {error}") from error
    if not found:
        raise BadSettings(f"{path} is not a WACZ file: it has no {PAGE_LISTS[0]}")
    return [_url_in(line) for text in found for line in text.splitlines()]


def _lines_of_folder(path: Path) -> list[str]:
    if not Folder(path).database.exists():
        raise BadSettings(f"{path} has no crawl")
    with open_crawl(None, path) as crawl:
        crawls = [name for name, one in crawl.crawls().items() if not one.removed]
        return [
            split_key(record.key)[1]
            for name in crawls or [crawl.id]
            for record in iterate_records(crawl.of(name), follow=False)
        ]


def _lines_of_sitemap(octets: bytes) -> list[str]:
    from gossamer.services.parser.options import Options
    from gossamer.services.parser.pool.messages import Request
    from gossamer.services.parser.pool.pool import Pool

    url = f"{NO_PLACE}/sitemap.xml"
    page = PageFetched(
        at=clock.now(),
        site=Site("sitemap.invalid"),
        host=HostKey(NO_PLACE),
        visit=Visit("1.1.0@", url, purpose=Purpose.SITEMAP),
        started_at=clock.now(),
        took=0.0,
        status=200,
        headers=(("Content-Type", "application/xml"),),
        body=octets,
    )

    async def parse() -> list[str]:
        async with Pool(1, PAGE_SECONDS, MEMORY_BYTES) as pool:
            parsed = await pool.parse(Request(page, Options(), clock.now()))
        return [entry.url for entry in parsed.entries]

    try:
        found = asyncio.run(parse())
    except Poison as error:
        raise BadSettings(f"the sitemap cannot be read: {error}") from error
    if not found:
        raise BadSettings("the file is XML or HTML, and lists no URLs as a sitemap or a feed does")
    return found
