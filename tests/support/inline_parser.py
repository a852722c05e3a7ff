"""The parser without child processes, for crawls of trusted pages in virtual time."""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.events import CrawlDefined, Event, PageFetched, PageParsed
from gossamer.events.hazards import Hazard, count_hazards
from gossamer.events.topics import PAGES_FETCHED
from gossamer.runtime.processor import Processor
from gossamer.services.parser.options import Options
from gossamer.services.parser.page import parse
from gossamer.services.parser.result import classify, find_coding_fault, report_unreadable
from gossamer.services.parser.rules import apply_rules, load_all
from gossamer.services.parser.service import is_read, options_for


class InlineParser(Processor):
    """Reads pages like `service.Parser`, but synchronously and in this process."""

    name = "parser"
    reads = (PAGES_FETCHED,)
    has_other_engine = True  # The real one writes no checkpoints.

    def __init__(self, options: Options) -> None:
        self._options = options
        self._crawls: dict[str, CrawlDefined] = {}

    def handle(self, event: Event, now: float) -> Iterator[PageParsed]:
        """Yield the contents of a fetched page; ignore responses that it does not read."""
        if isinstance(event, CrawlDefined):
            self._crawls[event.crawl] = event
            load_all([event.rules] if event.rules else [])
        if isinstance(event, PageFetched) and is_read(event):
            if reason := find_coding_fault(event):
                count_hazards(self.name, [Hazard.PARSER_FAULT])
                yield report_unreadable(event, reason, now)
                return
            crawl = self._crawls.get(event.crawl)
            options = options_for(crawl, self._options)
            rules, digest = (crawl.rules, crawl.rules_digest) if crawl else ("", "")
            parsed = apply_rules(parse(event, options, now), event, rules, options)
            parsed = classify(event, replace(parsed, rules_digest=digest))
            count_hazards(self.name, set(parsed.hazards).difference(event.hazards))
            yield parsed
