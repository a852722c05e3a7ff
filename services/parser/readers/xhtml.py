"""Reads XHTML as XML, in which `<script src="…"/>` ends where it says; as HTML where that fails.

Browsers show nothing of XHTML that is not well-formed. But most of it is HTML by another name, and
people who wrote it looked at it as HTML, so as that it is read then. What is well-formed is written
out as HTML: from there on both are one.
"""

from lxml import etree

from gossamer.events import PageParsed
from services.parser.readers import html
from services.parser.readers.received import Received
from services.parser.readers.xml import SAFELY

NAMESPACE = "{http://www.w3.org/1999/xhtml}"


def read(received: Received) -> PageParsed:
    """Return what an XHTML document says."""
    parsed, found = received.decoded(is_html=True)
    return html.read_text(parsed, as_html(found.text), found.encoding, received.options)


def as_html(text: str) -> str:
    """Return the XML *text* as HTML that says the same; as it is if it is not well-formed."""
    try:
        body = text.lstrip("\ufeff \t\r\n").encode(errors="replace")
        root = etree.fromstring(body, etree.XMLParser(**SAFELY))
        for element in root.iter(f"{NAMESPACE}*"):
            element.tag = element.tag.removeprefix(NAMESPACE)
        written = etree.tostring(root, method="html", encoding="unicode", doctype="<!DOCTYPE html>")
    except (etree.LxmlError, ValueError):
        return text
    return str(written)
