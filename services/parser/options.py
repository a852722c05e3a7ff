"""How pages are to be read: what the settings say, as it travels to the process that reads them."""

from msgspec import Struct


class Options(Struct, frozen=True):
    """The same for every page of a process."""

    product: str
    """Our token in robots meta elements and X-Robots-Tag headers, as in robots.txt."""
    want_text: bool
    """Whether the main text is extracted: two thirds of the work."""
    simhash_words: int
    """Texts with fewer words have no simhash; 0: none has one."""
    decoded_limit: int
    """Most bytes of a body that are read, once its content codings are undone …"""
    pdf_limit: int
    """… of a PDF or an office file …"""
    sitemap_limit: int
    """… and of a sitemap."""
    ratio_limit: int
    """How many times larger a body may become by that."""
    links_limit: int
    """Most links of a page that are taken."""
    links_bytes: int
    """Most bytes of them, as they stand in an event."""
    entries_limit: int
    """Most entries of a sitemap or a feed that are taken."""
