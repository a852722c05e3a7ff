"""What a person asks for again: hosts that were in trouble, and URLs that failed.

A person knows what no wait can know: that the server is up again, that the name exists now. So the
trouble is taken for over, as after an answer. Politeness is not: the courtesy delay is kept, and
what the server itself asked for, Retry-After or robots.txt, is obeyed.
"""

from msgspec.structs import replace

from gossamer.events import Outcome, RefetchAsked, RetryAsked
from services.frontier.admission import Admission
from services.frontier.conditions import Condition
from services.frontier.hosts import Hosts
from services.frontier.loading import Loading
from services.frontier.rows import Unread
from services.frontier.workbench import Host


class Retries:
    """Carries out what `gossamer retry` asks for."""

    def __init__(self, hosts: Hosts, loading: Loading, admission: Admission) -> None:
        self._hosts, self._loading, self._admission = hosts, loading, admission

    def asked(self, event: RetryAsked, now: float) -> None:
        """Take the host's trouble for over, and queue its URLs that failed."""
        host = self._hosts.find(event.site, event.host)
        if not host.stored:
            return
        self._lift(host, now)
        for url in event.urls:
            self._admission.once_more(event.site, event.host, url, now)

    def refetch(self, event: RefetchAsked, now: float) -> None:
        """Queue URLs that were visited before."""
        for url in event.urls:
            self._admission.refetch(event.site, event.host, url, now)

    def _lift(self, host: Host, now: float) -> None:
        row = host.row
        if not row.blocked_why or row.blocked_by in (Outcome.BUSY, Outcome.UNVISITED):
            return
        robots = self._hosts.robots(host)
        if robots and robots.rules.forbidden:
            rules = replace(robots.rules, expires_at=min(robots.rules.expires_at, now))
            self._hosts.learn_robots(host, replace(robots, rules=rules))
        self._hosts.sites.judged(row.site, row.host, Unread())
        row = replace(row, ready_at=min(row.ready_at, now + row.delay), troubles={})
        if row.condition is Condition.BLOCKED:
            self._loading.wait_until(host, row)
        elif row.condition is Condition.IDLE:
            self._hosts.update(host, replace(row, blocked_why=""))
