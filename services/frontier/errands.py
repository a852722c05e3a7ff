"""Errands: a robots.txt that lies at another host than the one that it is about.

A robots.txt may redirect to another host (RFC 9309, 2.3.1.2). That host has a delay, a lease and
perhaps a frontier of its own, so the redirect is not followed inside the visit. The fetcher asks
for it: `RobotsAsked` goes to the frontier of the host where the file lies, which queues the URL
there as an errand, a visit like any other; `RobotsAnswered` goes back to the frontier of the host
that it is about, and that one waits meanwhile, as while its robots.txt is unreachable.

What is known needs no visit. Where the URL is the robots.txt of its own host, its rules are the
answer as long as they are valid; and where that host waits for its rules too, they are asked for
where it waits for them. So robots.txt files that redirect to each other come to an end, after the
redirects that are followed. Hosts whose files lie at each other, but are no robots.txt there, wait
for each other as for what is unreachable.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.events import Event, Outcome, RobotsAnswered, RobotsAsked
from gossamer.web.robots import REDIRECTS, RobotsRules
from gossamer.web.url import host_key, site_of
from services.frontier.admission import Admission
from services.frontier.checkin import UNASKED_ROBOTS_AGE, CheckIn
from services.frontier.conditions import Condition
from services.frontier.hosts import Hosts
from services.frontier.loading import Loading
from services.frontier.rows import RobotsRow


class Errands:
    """Takes in what fetchers ask and answer of robots.txt files that lie elsewhere."""

    def __init__(
        self, hosts: Hosts, loading: Loading, admission: Admission, check_in: CheckIn
    ) -> None:
        self._hosts, self._loading = hosts, loading
        self._admission, self._check_in = admission, check_in

    def asked(self, event: RobotsAsked, now: float) -> Iterator[Event]:
        """Queue an errand, or yield what follows from what is known."""
        known = self._known(event)
        if event.hops > REDIRECTS:
            rules = RobotsRules(fetched_at=now, expires_at=now + UNASKED_ROBOTS_AGE)
            yield _answer(event, rules, now)
        elif known and known.asked and known.rules.expires_at > now:
            site, hops = site_of(known.asked), event.hops + 1
            yield replace(event, at=now, site=site, url=known.asked, hops=hops)
        elif known and known.rules.expires_at > now and not known.rules.forbidden:
            yield _answer(event, known.rules, now)
        else:
            self._admission.errand(event, now)

    def _known(self, event: RobotsAsked) -> RobotsRow | None:
        host = host_key(event.url)
        if event.url != f"{host}/robots.txt":
            return None
        return self._hosts.robots(self._hosts.find(event.site, host))

    def answered(self, event: RobotsAnswered, now: float) -> None:
        """Give a host that waits its rules; what comes when it does not wait any more is late."""
        host = self._hosts.find(event.site, event.host)
        known = self._hosts.robots(host)
        if not known or not known.asked or host.row.condition is not Condition.BLOCKED:
            return
        row, until = self._check_in.robots_ended(host, host.row, event, now)
        if until:
            row = replace(row, blocked_why=event.reason, blocked_by=event.outcome)
        ready_at = max(until, now + row.delay)
        self._loading.wait_until(host, replace(row, ready_at=ready_at))


def _answer(event: RobotsAsked, rules: RobotsRules, now: float) -> RobotsAnswered:
    return RobotsAnswered(
        crawl=event.crawl,
        at=now,
        site=site_of(event.asker),
        host=event.asker,
        url=event.url,
        outcome=Outcome.PAGE,
        robots=rules,
    )
