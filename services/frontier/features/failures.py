"""Failures of a host in a row, by kind.

Each kind is counted by itself. `politeness.py` says for how long a host backs off after them.
"""

from msgspec.structs import replace

from gossamer.events import Purpose, VisitEnded
from gossamer.events.outcomes import OUTCOMES, Health
from gossamer.services.frontier.partition.politeness import LEASE_FAILURE, allowed_failures
from gossamer.services.frontier.tables.hosts import HostRow, Suspect
from gossamer.settings import FrontierSettings

ROBOTS_FAILURE, REDIRECTED_ROBOTS_FAILURE = "robots", "robots elsewhere"
"""Kinds of failure. The first: the host answers, but its robots.txt cannot be fetched. The second:
its robots.txt was requested at another host, and no answer has come."""
LASTING_FAILURES = frozenset({ROBOTS_FAILURE, REDIRECTED_ROBOTS_FAILURE, LEASE_FAILURE})
"""The kinds of failure that a good page does not end. Rules of robots.txt that were read end the
first two, and any requested visit to a queued URL ends the third."""


def count_failure(settings: FrontierSettings, row: HostRow, event: VisitEnded) -> HostRow:
    """Return *row* with the failure that *event* is, or without those that it has ended."""
    was_requested, health = event.started_at > 0, OUTCOMES[event.outcome].health
    if was_requested and event.visit.purpose.is_queued:
        row = replace(reset_failures(row, LEASE_FAILURE), suspect=Suspect())
    if counts_as_failure(event):
        if health is Health.SERVER and not _counts_as_server_error(settings, row, event):
            return row
        return add_failure(row, health)
    if was_requested and health is Health.WELL:
        # Walls often let requests for robots.txt pass.
        is_robots = event.visit.purpose is Purpose.ROBOTS
        kept = LASTING_FAILURES | ({Health.CHALLENGE} if is_robots else set())
        return reset_failures(row, *(row.politeness.failures.keys() - kept))
    return row


def _counts_as_server_error(settings: FrontierSettings, row: HostRow, event: VisitEnded) -> bool:
    """Return whether a 5xx is evidence that the whole host fails. A retry is not. While the host is
    failing, only the first visit of an order is: the others were ordered before."""
    limit = allowed_failures(settings, row, Health.SERVER)
    is_failing = row.politeness.failures.get(Health.SERVER, 0) > limit
    return not event.visit.attempt and not (is_failing and event.index)


def counts_as_failure(event: VisitEnded) -> bool:
    """Return whether *event* is a failure of its host. A robots.txt that the server answers with an
    error or a challenge is not: the host backs off because of its rules. A usage file is not
    either: the host's pages may still be fine."""
    health = OUTCOMES[event.outcome].health
    is_file = event.visit.purpose in (Purpose.ROBOTS, Purpose.USAGE)
    return health.is_failing and not (is_file and health in (Health.SERVER, Health.CHALLENGE))


def add_failure(row: HostRow, kind: str) -> HostRow:
    """Return *row* with one more failure in a row of this *kind*."""
    before = row.politeness.failures
    return _with_failures(row, {**before, kind: before.get(kind, 0) + 1})


def reset_failures(row: HostRow, *kinds: str) -> HostRow:
    """Return *row* without failures of these *kinds*."""
    before = row.politeness.failures
    return _with_failures(row, {k: n for k, n in before.items() if k not in kinds})


def _with_failures(row: HostRow, failures: dict[str, int]) -> HostRow:
    return replace(row, politeness=replace(row.politeness, failures=failures))
