"""How pages are to be read: what the settings say, as it travels to the process that reads them."""

from msgspec import Struct

from gossamer.text.modes import TextMode


class Options(Struct, frozen=True):
    """The same for every page of a process."""

    product: str
    """Our token in robots meta elements and X-Robots-Tag headers, as in robots.txt."""
    text: TextMode
    """Which text is extracted."""
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
    markdown: bool = False
    """Whether the main text is made into Markdown besides."""
    word_limit: int = 30
    """The longest word; what is longer is misread. 0: whatever there is is a word."""
    physical_markup: bool = True
    """Whether what looks like a heading is recorded as one."""
    not_indexed: tuple[str, ...] = ("noindex", "unavailable_after")
    """By which signals a page is not to be indexed."""
    not_followed: tuple[str, ...] = ("nofollow",)
    """By which signals its links are not to be followed."""
    script_links: bool = True
    """Whether scripts are looked through for links."""
    requisites_limit: int = 200
    """Most URLs of images, styles, scripts that are kept of a page."""
