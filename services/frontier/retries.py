"""What a person asks for again: hosts that were in trouble, and URLs that failed.

A person knows what no wait can know: that the server is up again, that the name exists now. So the
trouble is taken for over, as after an answer. Politeness is not: the courtesy delay is kept, and
what the server itself asked for, Retry-After or robots.txt, is obeyed.
"""

from msgspec.structs import replace

from gossamer.events import Outcome, RefetchAsked, RetryAsked
from services.frontier.admission import Admission
from services.frontier.conditions import Condition
from services.frontier.memory import Host
from services.frontier.partition import Partition
from services.frontier.rows import Unread


class Retries:
    """Carries out what `gossamer retry` asks for."""

    def __init__(self, admission: Admission) -> None:
        self._admission = admission

    def asked(self, partition: Partition, event: RetryAsked, now: float) -> None:
        """Take the host's trouble for over, and queue its URLs that failed."""
        host = partition.find(event.site, event.host)
        if not host.stored:
            return
        _lift(partition, host, now)
        for url in event.urls:
            self._admission.once_more(partition, event.site, event.host, url, now)

    def refetch(self, partition: Partition, event: RefetchAsked, now: float) -> None:
        """Queue URLs that were visited before."""
        for url in event.urls:
            self._admission.refetch(partition, event.site, event.host, url, now)


def _lift(partition: Partition, host: Host, now: float) -> None:
    row = host.row
    if not row.blocked_why or row.blocked_by in (Outcome.BUSY, Outcome.UNVISITED):
        return
    robots = partition.robots(host)
    if robots and robots.rules.forbidden:
        rules = replace(robots.rules, expires_at=min(robots.rules.expires_at, now))
        partition.learn_robots(host, replace(robots, rules=rules))
    partition.sites.judged(row.site, row.host, Unread())
    row = replace(row, ready_at=min(row.ready_at, now + row.delay), troubles={})
    if row.condition is Condition.BLOCKED:
        partition.wait_until(host, row)
    elif row.condition is Condition.IDLE:
        partition.update(host, replace(row, blocked_why=""))
