"""The metadata of a PDF in XMP (ISO 16684-1), which replaces the dictionary Info in PDF 2.0.

PDFium has no function for it, so the stream that the catalog names is searched in the bytes. A PDF
whose catalog is packed has it, too, if it contains only one packet of XMP: images have packets of
their own, and their titles are not those of the document.
"""

import re
import zlib
from collections.abc import Iterator

from lxml import etree

from gossamer.services.parser.charset import decode_text
from gossamer.services.parser.xml import (
    Element,
    local_name,
    read_document,
    strip_namespace,
    text_of,
)
from gossamer.text.blocks import fold_whitespace

MAX_PACKET_SIZE = 1 << 20
"""Most bytes of a packet."""
MAX_HEAD_SIZE = 2000
"""Most bytes of an object before its stream."""
MAX_CATALOGS = 10
MAX_NAMES = 5
PACKET_START, PACKET_END = b"<x:xmpmeta", b"</x:xmpmeta>"
_catalog = re.compile(rb"/Type\s*/Catalog\b")
_reference = re.compile(rb"/Metadata\s+(\d{1,9})\s+(\d{1,5})\s+R\b")
NAMES = {
    "title": "Title",
    "creator": "Author",
    "description": "Subject",
    "createdate": "CreationDate",
    "modifydate": "ModDate",
    "language": "Language",
}
"""The key in the dictionary Info of each property; *Language* is one of the catalog."""


def read_xmp(body: bytes) -> dict[str, str]:
    """Return the metadata in XMP of the PDF *body*, by the keys of the dictionary Info."""
    values = dict[str, str]()
    for key, value in _properties(_find_packet(body)):
        if value := fold_whitespace(value):
            values.setdefault(NAMES[key], value)
    return values


def _find_packet(body: bytes) -> bytes:
    # A later revision of a file is behind the earlier ones.
    for catalog in [*_catalog.finditer(body)][: -MAX_CATALOGS - 1 : -1]:
        start = max(body.rfind(b" obj", 0, catalog.start()), 0)
        end = body.find(b"endobj", catalog.start())
        if reference := _reference.search(body, start, end if end > 0 else len(body)):
            return _stream_of(body, *map(int, reference.groups()))
    if body.count(PACKET_START) != 1:
        return b""
    start = body.find(PACKET_START)
    end = body.find(PACKET_END, start)
    return body[start : end + len(PACKET_END)] if 0 < end - start < MAX_PACKET_SIZE else b""


def _stream_of(body: bytes, number: int, generation: int) -> bytes:
    """Return the last stream of an object, unpacked; b"" without one, or if it is encrypted."""
    head, at = b"%d %d obj" % (number, generation), len(body)
    while (at := body.rfind(head, 0, at)) > 0 and body[at - 1 : at].isdigit():
        continue
    start = body.find(b"stream", at, at + MAX_HEAD_SIZE) if at >= 0 else -1
    if start < 0:
        return b""
    end = body.find(b"endstream", start)
    filters = body[at:start]
    data = body[start + len(b"stream") : end if end > 0 else None][:MAX_PACKET_SIZE].lstrip(b"\r\n")
    if b"/Filter" not in filters:
        return data
    try:
        return zlib.decompressobj().decompress(data, MAX_PACKET_SIZE)
    except zlib.error:
        return b""


def _properties(packet: bytes) -> Iterator[tuple[str, str]]:
    """Yield the name and value of each property in NAMES, which is an element or an attribute."""
    packet = packet[packet.find(b"<") :] if b"<" in packet else b""
    try:
        root = read_document(decode_text(packet, "", is_html=True).text).tree()
    except (etree.LxmlError, ValueError):
        return
    for description in root.iter() if root is not None else ():
        if local_name(description) != "description" or not _is_of_rdf(description):
            continue
        for name, value in description.items():
            if (key := strip_namespace(name)) in NAMES:
                yield key, value
        for child in description:
            if (key := local_name(child)) in NAMES:
                yield key, _value_of(child, key)


def _is_of_rdf(element: Element) -> bool:
    # dc:description is an element of the same local name, within rdf:Description.
    parent = element.getparent()
    return parent is not None and local_name(parent) == "rdf"


def _value_of(element: Element, key: str) -> str:
    """Return the value of a property; of texts in several languages the default one."""
    items = [item for item in element.iter() if local_name(item) == "li"]
    if not items:
        return text_of(element)
    if key == "creator":
        return ", ".join(dict.fromkeys(filter(None, map(text_of, items[:MAX_NAMES]))))
    default = (item for item in items if "x-default" in item.values())
    return text_of(next(default, items[0]))
