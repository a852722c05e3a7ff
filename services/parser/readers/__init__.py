"""What reads a document, by its media type: one function each, from `Received` to `PageParsed`.

Of a type that has no reader here only the headers, the size and the digest are known.
"""

from collections.abc import Callable, Mapping

from gossamer.events import PageParsed
from services.parser.readers import html, plain
from services.parser.readers.received import Received

Reader = Callable[[Received], PageParsed]

READERS: Mapping[str, Reader] = {
    "text/html": html.read,
    "application/xhtml+xml": html.read,
    "text/plain": plain.read,
}
