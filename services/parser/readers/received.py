"""What a reader is given: one document, once its codings are undone and its type is known."""

from typing import NamedTuple

from msgspec.structs import replace

from gossamer.events import PageParsed
from gossamer.events.hazards import Hazard
from services.parser.answers import with_hazards
from services.parser.charset import Characters, characters
from services.parser.options import Options


class Received(NamedTuple):
    """A document, and what is known of it before it is read."""

    parsed: PageParsed
    """What its headers say. A reader returns it with what the document says."""
    body: bytes
    header: str
    """Its Content-Type."""
    options: Options

    def decoded(self, is_html: bool) -> tuple[PageParsed, Characters]:
        """Return what is known with the encoding, and the characters of the body."""
        found = characters(self.body, self.header, is_html)
        conflict = [Hazard.CHARSET_CONFLICT] if found.conflict else []
        known = with_hazards(self.parsed, conflict)
        return replace(known, charset=found.encoding, charset_source=found.source), found
