"""Results of probes: visits that learn about a host and not about a page."""

from gossamer.events.records import Event


class MissingPageRead(Event, frozen=True, kw_only=True, tag="missing_page_read"):
    """A host answered a probe, a visit to a path that cannot exist, with this document."""

    site: str
    host: str
    digest: str
    """The digest of the text, as in `page_parsed`."""
    simhash: str = ""
    """The simhash of the text, as in `page_parsed`."""
