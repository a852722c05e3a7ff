"""What is written down of a verdict: the last one on each URL, and a visit in its history."""

from gossamer.events import Outcome, PageJudged, Verdict
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.http import GONE, NOT_MODIFIED
from services.frontier.partition import Partition
from services.frontier.politeness import count_unread
from services.frontier.rows import HistoryRow, JudgementRow


class Judgements:
    """Writes verdicts down, and counts the pages in a row that could not be read."""

    def __init__(self, settings: FrontierSettings, store: Store) -> None:
        self._settings = settings
        self._judgements, self._history = store.table(JudgementRow), store.table(HistoryRow)

    def judged(self, partition: Partition, event: PageJudged) -> None:
        """Write a verdict down."""
        if event.verdict not in GONE_VERDICTS:
            sites = partition.sites
            before = sites.unread(event.site, event.host)
            sites.judged(event.site, event.host, count_unread(before, event, self._settings))
        self._judgements.put(
            JudgementRow(
                crawl=event.crawl,
                host=event.host,
                url=event.visit.url,
                verdict=event.verdict,
                at=event.at,
                digest=event.digest,
                duplicate_of=event.duplicate_of or event.near_duplicate_of,
                redirects_to=event.redirects_to,
                links=event.links,
                reason=event.reason,
                change=event.change,
            )
        )
        self._history.put(_visit(event))


def _visit(event: PageJudged) -> HistoryRow:
    return HistoryRow(
        crawl=event.crawl,
        url=event.visit.url,
        at=event.fetched_at or event.at,
        outcome=_outcome(event),
        status=event.status,
        size=event.size,
        verdict=event.verdict,
        digest=event.digest,
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
        redirects_to=event.redirects_to,
        change=event.change,
    )


def _outcome(event: PageJudged) -> Outcome:
    """Return how the visit ended: for a document that is gone as the check-in has it."""
    if event.verdict is Verdict.REDIRECT:
        return Outcome.REDIRECT
    if event.verdict is Verdict.GONE:
        return Outcome.GONE if event.status in GONE else Outcome.CLIENT_ERROR
    return Outcome.NOT_MODIFIED if event.status == NOT_MODIFIED else Outcome.PAGE
