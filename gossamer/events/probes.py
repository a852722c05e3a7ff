"""What visits find out that are made to know a host, not for a page."""

from gossamer.events.records import Event


class MissingPageRead(Event, frozen=True, kw_only=True, tag="missing_page_read"):
    """A host has answered the visit to a page that cannot exist with a document: this text."""

    site: str
    host: str
    digest: str
    """As in `PageParsed`."""
    simhash: str = ""
