"""How pages are read."""

from typing import Annotated

from pydantic import Field

from gossamer.settings.units import Bytes, Natural, Positive, Seconds, Section, unit


class ParserSettings(Section):
    """How pages are read."""

    workers: Annotated[Natural, unit("processes")] = 0
    """Processes that read pages; 0: as many as there are cores."""
    text: bool = True
    """Whether the main text is extracted; without it reading a page is a third of the work."""
    simhash_words: Annotated[Natural, unit("words")] = 50
    """Near duplicates are looked for among texts with so many words: shorter ones of a site are too
    much alike. 0: no simhashes are made (0.6 ms for 1,000 characters)."""
    page_limit: Seconds = 10.0
    """The most time that reading a page may take; then it goes to the dead letters."""
    memory_limit: Bytes = 512 << 20
    """The most memory that reading a page may take, beyond what the process has to begin with."""
    decoded_limit: Bytes = 2 << 20
    """How much of a body is read after decompression (hazard decompression_bomb)."""
    pdf_limit: Bytes = 20 << 20
    """The same for PDF and office files, which are of no use when they are cut."""
    sitemap_limit: Bytes = 50 << 20
    """The same for sitemaps (sitemaps.org allows 50 MB)."""
    ratio_limit: Annotated[Positive, unit("times")] = 1000
    """How much larger than it was sent a body may become: beyond that decompression stops, for text
    does not compress so well."""
    links_limit: Annotated[Positive, unit("links")] = 10_000
    """Most links that are taken of a page (hazard too_many_links)."""
    links_bytes: Annotated[Bytes, Field(le=4 << 20)] = 2 << 20
    """Most bytes that a page's links may have in its event (hazard too_many_links)."""
    entries_limit: Annotated[Positive, unit("entries")] = 50_000
    """Most entries that are taken of a sitemap (sitemaps.org allows 50,000) or a feed (hazard
    too_many_links)."""
