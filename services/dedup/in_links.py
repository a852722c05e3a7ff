"""Links from other sites to URLs that are known, until the next verdict on the page tells of them.

All links to a site come by its dedup, and most of them lead to what is known: to tell the frontier
of each would be an event a link. So they are counted here, four bytes a URL, and go with a verdict,
which travels anyway. Memory holds the URLs that were linked to last. What is lost of it, as at a
restart, is met again: a page links where it linked before.
"""

from collections import OrderedDict
from collections.abc import Iterable

from gossamer.web.in_links import Sketch, linked

REMEMBERED = 50_000
"""URLs of one instance, the last ones that were linked to."""


class InLinks:
    """URL → the other sites that link to it, of which was not told yet."""

    def __init__(self) -> None:
        self._sketches = OrderedDict[str, Sketch]()

    def met(self, site: str, urls: Iterable[str]) -> None:
        """Count links of *site* to *urls* of another one."""
        for url in urls:
            self._sketches[url] = linked(self._sketches.pop(url, 0), site, url)
            if len(self._sketches) > REMEMBERED:
                self._sketches.popitem(last=False)

    def take(self, url: str) -> Sketch:
        """Return what is to be told of *url*, once."""
        return self._sketches.pop(url, 0)
