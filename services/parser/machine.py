"""The parser without its children: for a crawl in virtual time, on pages that one trusts."""

from collections.abc import Iterator

from gossamer.events import Event, PageFetched, PageParsed, Purpose
from gossamer.service import Machine
from gossamer.topics import PAGES_FETCHED, Topic
from services.parser.page import parse


class ParserMachine(Machine):
    """Answers as `service.Parser` does, at once and in this process."""

    name = "parser"
    reads: tuple[Topic, ...] = (PAGES_FETCHED,)

    def __init__(self, want_text: bool = True, decoded_limit: int = 2 << 20) -> None:
        self._want_text, self._decoded_limit = want_text, decoded_limit

    def handle(self, event: Event, now: float) -> Iterator[PageParsed]:
        """Answer a fetched page; what was fetched for robots.txt is no page."""
        if isinstance(event, PageFetched) and event.visit.purpose is Purpose.PAGE:
            yield parse(event, self._want_text, self._decoded_limit, now)
