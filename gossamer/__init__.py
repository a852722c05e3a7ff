"""Gossamer, a polite web crawler, as a library.

    import gossamer

    crawl = gossamer.Crawl("folder", contact="you@example.org", seeds=["https://example.org/"])
    for page in crawl.run():
        print(page.url, page.title, page.text)
    table = crawl.pages().to_pandas()

`Crawl` is a crawl in a folder. It runs as a process of its own. A loop that is left, Ctrl-C and a
killed kernel end that process in good order, and the next `run` continues. `connect` reads and
controls a fleet.

**Compatibility.** The names in `gossamer.__all__`, their public methods and parameters, and the
fields that they document keep their meaning in all versions with the same first number (before 1.0:
the same second one). They may get more parameters, with defaults, and more fields. A name that is
to be removed warns with `DeprecationWarning` for at least one version. All other modules of this
package are the crawler itself, and change without notice.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gossamer.library.answers import Diff as Diff
    from gossamer.library.answers import Explanation as Explanation
    from gossamer.library.answers import Piece as Piece
    from gossamer.library.answers import Status as Status
    from gossamer.library.answers import Visit as Visit
    from gossamer.library.crawl import Crawl as Crawl
    from gossamer.library.fleet import Fleet as Fleet
    from gossamer.library.fleet import Gone as Gone
    from gossamer.library.fleet import connect as connect
    from gossamer.library.pages import Page as Page
    from gossamer.library.pages import Pages as Pages
    from gossamer.library.pages import Version as Version
    from gossamer.library.process import CrawlError as CrawlError

__all__ = [
    "Crawl",
    "CrawlError",
    "Diff",
    "Explanation",
    "Fleet",
    "Gone",
    "Page",
    "Pages",
    "Piece",
    "Status",
    "Version",
    "Visit",
    "connect",
]
_NAMES = {
    "answers": ("Diff", "Explanation", "Piece", "Status", "Visit"),
    "crawl": ("Crawl",),
    "fleet": ("Fleet", "Gone", "connect"),
    "pages": ("Page", "Pages", "Version"),
    "process": ("CrawlError",),
}
"""Module → its public names. It is imported when one is used: each service imports this package."""


def __getattr__(name: str) -> Any:
    for module, names in _NAMES.items():
        if name in names:
            return getattr(import_module(f"gossamer.library.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
