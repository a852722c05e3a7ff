"""Reads what office files say of themselves: title, author, dates and language, and no text.

They are ZIP archives with one small XML file for that (ECMA-376, part 2, 11; ODF 1.3, part 3, 4.3).
That one is unpacked, up to a limit, and nothing else; what is broken or encrypted says nothing.
"""

import zlib
from collections.abc import Iterator
from io import BytesIO
from struct import error as StructError
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from lxml import etree
from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.pages import Source
from gossamer.text.folding import fold_whitespace
from services.parser.dates import parse_date
from services.parser.html.document import MAX_DESCRIPTION_LENGTH, MAX_TITLE_LENGTH
from services.parser.readers.base import ReceivedDocument
from services.parser.readers.xml import SAFE_OPTIONS, Element, local_name, text_of
from services.parser.text import detect_language

METADATA_FILES = ("docProps/core.xml", "meta.xml")
MAX_METADATA_SIZE = 1 << 20
"""Bytes of such a file that are unpacked."""
ARCHIVE_ERRORS = (
    BadZipFile,
    zlib.error,
    StructError,
    EOFError,
    KeyError,
    ValueError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
"""What `zipfile` raises of archives that are damaged, encrypted, or made to hurt."""


def read(received: ReceivedDocument) -> PageParsed:
    """Return what an office file says of itself; nothing of any other archive."""
    parsed, said = received.parsed, dict[str, str]()
    for element in _metadata_elements(received.body):
        said.setdefault(local_name(element), text_of(element))

    def first(*names: str) -> str:
        return next((said[name] for name in names if said.get(name)), "")

    created, changed = (
        parse_date(first(*names)) for names in (("created", "creation-date"), ("modified", "date"))
    )
    return replace(
        parsed,
        title=fold_whitespace(first("title"))[:MAX_TITLE_LENGTH],
        author=fold_whitespace(first("initial-creator", "creator"))[:MAX_TITLE_LENGTH],
        description=fold_whitespace(first("description", "subject"))[:MAX_DESCRIPTION_LENGTH],
        published_at=created,
        published_by=Source.FILE.of(created),
        modified_at=changed,
        modified_by=Source.FILE.of(changed),
        language=detect_language("", first("language")),
    )


def _metadata_elements(body: bytes) -> Iterator[Element]:
    try:
        root = etree.fromstring(
            _unpack_metadata(body), etree.XMLParser(recover=True, **SAFE_OPTIONS)
        )
    except (*ARCHIVE_ERRORS, etree.LxmlError):
        return
    if root is not None:
        yield from root.iter()


def _unpack_metadata(body: bytes) -> bytes:
    with ZipFile(BytesIO(body)) as archive:
        there = {file.filename: file for file in archive.infolist()}
        file = there.get(METADATA_FILES[0]) or there[METADATA_FILES[1]]
        if file.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise NotImplementedError
        with archive.open(file) as member:
            return member.read(MAX_METADATA_SIZE)
