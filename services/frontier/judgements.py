"""What is written down of a verdict: the last one on each URL, and a visit in its history."""

from gossamer.events import Outcome, PageJudged, Verdict
from gossamer.events.outcomes import GONE_VERDICTS
from gossamer.settings import FrontierSettings
from gossamer.store import Store
from gossamer.web.http import GONE, NOT_MODIFIED
from services.frontier.hosts import Hosts
from services.frontier.rows import HistoryRow, JudgementRow, Position
from services.frontier.tally import Tally
from services.frontier.unreadable import counted


class Judgements:
    """Writes verdicts down, and counts them; also the pages in a row that could not be read."""

    def __init__(self, settings: FrontierSettings, hosts: Hosts, store: Store) -> None:
        self._settings, self._hosts = settings, hosts
        self._judgements, self._history = store.table(JudgementRow), store.table(HistoryRow)

    def judged(self, event: PageJudged, record: Position | None = None) -> None:
        """Write a verdict down; count it unless it was counted before, from the same *record*."""
        tally = self._hosts.claims.of(event.site).tally
        if record is None or not tally.judged_records.covers(record):
            self._count(event, tally)
            if record:
                tally.judged_records = tally.judged_records.through(record)
        change = -1.0 if event.change is None else event.change
        self._judgements.put(
            JudgementRow(
                host=event.host,
                url=event.visit.url,
                verdict=event.verdict,
                at=event.at,
                digest=event.digest,
                duplicate_of=event.duplicate_of or event.near_duplicate_of,
                redirects_to=event.redirects_to,
                links=event.links,
                reason=event.reason,
                change=change,
            )
        )
        self._history.put(_visit(event, change))

    def _count(self, event: PageJudged, tally: Tally) -> None:
        tally.judged(event.verdict, event.hazards)
        if event.verdict in GONE_VERDICTS:
            return
        if event.verdict is not Verdict.UNREAD:
            tally.found(event.change, event.fetched_at or event.at)
        sites = self._hosts.sites
        before = sites.unread(event.site, event.host)
        sites.judged(event.site, event.host, counted(before, event, self._settings))


def _visit(event: PageJudged, change: float) -> HistoryRow:
    return HistoryRow(
        url=event.visit.url,
        at=event.fetched_at or event.at,
        outcome=_outcome(event),
        status=event.status,
        size=event.size,
        verdict=event.verdict,
        digest=event.digest,
        duplicate_of=event.duplicate_of or event.near_duplicate_of,
        redirects_to=event.redirects_to,
        change=change,
    )


def _outcome(event: PageJudged) -> Outcome:
    """Return how the visit ended: for a document that is gone as the check-in has it."""
    if event.verdict is Verdict.REDIRECT:
        return Outcome.REDIRECT
    if event.verdict is Verdict.GONE:
        return Outcome.GONE if event.status in GONE else Outcome.CLIENT_ERROR
    return Outcome.NOT_MODIFIED if event.status == NOT_MODIFIED else Outcome.PAGE
