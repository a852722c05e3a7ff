"""Totals of a partition, kept with the hosts in the store so that no crash makes them wrong."""

from collections import Counter

from gossamer.events import Outcome, PageJudged, Purpose, Verdict, VisitEnded
from gossamer.events.hazards import Hazard, counted_by
from gossamer.events.outcomes import GONE_VERDICTS, OUTCOMES, Fate, Wait
from gossamer.store import Table
from services.frontier.conditions import Condition
from services.frontier.rows import HostRow, Position, TallyRow

MOST = 10
"""How many hosts or visits a list shows."""
HOURS = 24
"""For how many hours pages are counted by the hour."""


class Tally:
    """A partition's totals; written once for each advance in which they changed."""

    def __init__(self, row: TallyRow, rows: Table[TallyRow]) -> None:
        self._rows, self._row = rows, row
        self.last_number = row.last_number
        self.admitted, self.queued, self.pages = row.admitted, row.queued, row.pages
        self.received, self.orders = row.received, row.orders
        self.outcomes, self.refused = Counter(row.outcomes), Counter(row.refused)
        self.verdicts, self.hazards = Counter(row.verdicts), Counter(row.hazards)
        self.conditions = Counter(row.conditions)
        self.slowest, self.largest = dict(row.slowest), dict(row.largest)
        self.latest = list(row.latest)
        self.next_due_at, self.due_count = row.next_due_at, row.due_count
        self.hours, self.sent = dict(row.hours), dict(row.sent)
        self.checked_out, self.judged_records = dict(row.checked_out), row.judged
        """Host → site, of all hosts that are checked out."""

    def record_condition(self, row: HostRow, before: Condition | None) -> None:
        """Count a host's change of condition; *before* is None if the host is new."""
        if before is not None:
            self.conditions[before] -= 1
        self.conditions[row.condition] += 1
        if row.condition is Condition.CHECKED_OUT:
            self.checked_out[row.host] = row.site
        else:
            self.checked_out.pop(row.host, None)

    def ended(self, event: VisitEnded) -> None:
        """Count a visit."""
        if OUTCOMES[event.outcome].fate is Fate.STAY:
            return
        page = event.outcome is Outcome.PAGE and event.visit.purpose is Purpose.PAGE
        self.pages += page
        # Nobody would see why nothing comes, if a host that is in trouble had had its robots.txt.
        failed = OUTCOMES[event.outcome].wait is not Wait.NONE
        had_rules = event.visit.purpose is Purpose.ROBOTS and not failed
        name = "robots.txt" if had_rules else event.outcome
        self.outcomes[name] += 1
        self.received += event.received
        self.hazards.update(counted_by("fetcher", event.hazards))
        self.latest = [*self.latest[1 - MOST :], (event.visit.url, str(name))]
        _keep_most(self.slowest, event.host, max(event.took, self.slowest.get(event.host, 0.0)))

    def weighed(self, host: str, received: int) -> None:
        """Note how much a host has sent in all."""
        _keep_most(self.largest, host, received)

    def count_verdict(self, event: PageJudged, record: Position | None) -> bool:
        """Count a verdict; return whether it was not counted before, from the same *record*."""
        if record and self.judged_records.covers(record):
            return False
        if record:
            self.judged_records = self.judged_records.through(record)
        self.verdicts[event.verdict] += 1
        hazards = event.hazards
        self.hazards.update({*counted_by("parser", hazards), *counted_by("dedup", hazards)})
        if event.verdict not in GONE_VERDICTS and event.verdict is not Verdict.UNREAD:
            self._count_change(event.change, event.fetched_at or event.at)
        return True

    def _count_change(self, change: float | None, at: float) -> None:
        """Count a page fetched *at* by how much of it had changed; None: it is new."""
        hour = str(hour_of(at))
        new, changed, unchanged = self.hours.get(hour, (0, 0, 0))
        if change is None:
            new += 1
        elif change:
            changed += 1
        else:
            unchanged += 1
        self.hours[hour] = (new, changed, unchanged)
        while len(self.hours) > HOURS:
            del self.hours[min(self.hours, key=int)]

    def was_refused(self, rule: Hazard) -> None:
        """Count a URL that is not queued."""
        self.refused[rule] += 1
        self.hazards.update(counted_by("frontier", [rule]))

    def write(self) -> None:
        """Put the totals into the store if they have changed."""
        row = TallyRow(
            crawl=self._row.crawl,
            partition=self._row.partition,
            last_number=self.last_number,
            admitted=self.admitted,
            queued=self.queued,
            pages=self.pages,
            received=self.received,
            orders=self.orders,
            outcomes=dict(self.outcomes),
            refused=dict(self.refused),
            verdicts=dict(self.verdicts),
            hazards=dict(self.hazards),
            conditions=dict(self.conditions),
            slowest=dict(self.slowest),
            largest=dict(self.largest),
            latest=tuple(self.latest),
            next_due_at=self.next_due_at,
            due_count=self.due_count,
            hours=dict(self.hours),
            sent=dict(self.sent),
            checked_out=dict(self.checked_out),
            judged=self.judged_records,
        )
        if row != self._row:
            self._row = row
            self._rows.put(row)


def _keep_most(most: dict[str, float], host: str, value: float) -> None:
    # Right for all hosts although only a few are kept: totals and longest visits only grow.
    most[host] = value
    if len(most) > MOST:
        del most[min(most, key=most.__getitem__)]


def hour_of(at: float) -> int:
    """Return the hours that had passed since 1970."""
    return int(at // 3600)
