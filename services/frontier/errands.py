"""Errands: a robots.txt that lies at another host than the one that it is about.

A robots.txt may redirect to another host (RFC 9309, 2.3.1.2). That host has a delay, a lease and
perhaps a frontier of its own, so the redirect is not followed inside the visit. The fetcher asks
for it: `RobotsAsked` goes to the frontier of the host where the file lies, which queues the URL
there as an errand, a visit like any other; `RobotsAnswered` goes back to the frontier of the host
that it is about, and that one waits meanwhile, as while its robots.txt is unreachable.

What is known needs no visit. Where the URL is the robots.txt of its own host, its rules are the
answer as long as they are valid, also to errands that were queued before they were known: however
many hosts redirect there, it is visited once. And where that host waits for its rules too, they are
asked for where it waits for them. So robots.txt files that redirect to each other come to an end,
after the redirects that are followed. Hosts whose files lie at each other, but are no robots.txt
there, wait for each other as for what is unreachable.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from gossamer.events import Event, Outcome, RobotsAnswered, RobotsAsked
from gossamer.web.robots import REDIRECTS, RobotsRules
from gossamer.web.url import host_key, site_of
from services.frontier.admission import Admission
from services.frontier.conditions import Condition
from services.frontier.partition import Partition
from services.frontier.robots import UNASKED_AGE, RobotsReports
from services.frontier.rows import QueuedUrl, RobotsRow


class Errands:
    """Takes in what fetchers ask and answer of robots.txt files that lie elsewhere."""

    def __init__(self, admission: Admission, robots: RobotsReports) -> None:
        self._admission, self._robots = admission, robots

    def asked(self, partition: Partition, event: RobotsAsked, now: float) -> Iterator[Event]:
        """Queue an errand, or yield what follows from what is known."""
        known = _known(partition, event)
        if event.hops > REDIRECTS:
            rules = RobotsRules(fetched_at=now, expires_at=now + UNASKED_AGE)
            yield _answer(event, rules, now)
        elif known and known.asked and known.rules.expires_at > now:
            site, hops = site_of(known.asked), event.hops + 1
            yield replace(event, at=now, site=site, url=known.asked, hops=hops)
        elif answer := known_answer(event, known, now):
            yield answer
        else:
            self._admission.errand(partition, event, now)

    def answered(self, partition: Partition, event: RobotsAnswered, now: float) -> None:
        """Give a host that waits its rules; what comes when it does not wait any more is late."""
        host = partition.find(event.site, event.host)
        known = partition.robots(host)
        if not known or not known.asked or host.row.condition is not Condition.BLOCKED:
            return
        row, until = self._robots.ended(partition, host, host.row, event, now)
        if until:
            why = event.reason or str(event.outcome)
            row = replace(row, blocked_why=why, blocked_by=event.outcome)
        ready_at = max(until, now + row.politeness.delay)
        partition.wait_until(host, replace(row, ready_at=ready_at))


def _known(partition: Partition, event: RobotsAsked) -> RobotsRow | None:
    if not _is_its_own(event):
        return None
    return partition.robots(partition.find(event.site, host_key(event.url)))


def known_answer(
    errand: RobotsAsked | QueuedUrl, robots: RobotsRow | None, now: float
) -> RobotsAnswered | None:
    """Return the answer to *errand*, if *robots*, of the host where the file lies, has it."""
    if not robots or robots.rules.expires_at <= now or robots.rules.forbidden:
        return None
    return _answer(errand, robots.rules, now) if _is_its_own(errand) else None


def forbidden_answer(errand: QueuedUrl, why: str, now: float) -> RobotsAnswered:
    """Return the answer to an *errand* that is not made, because of *why*: until somebody is told
    otherwise, the asker is not visited."""
    reason = f"robots.txt could not be fetched: {why}"
    rules = RobotsRules(forbidden=reason, fetched_at=now, expires_at=now + UNASKED_AGE)
    return replace(_answer(errand, rules, now), outcome=Outcome.BROKEN, reason=reason)


def _is_its_own(errand: RobotsAsked | QueuedUrl) -> bool:
    """Return whether the file is the robots.txt of the host where it lies."""
    return errand.url == f"{host_key(errand.url)}/robots.txt"


def _answer(errand: RobotsAsked | QueuedUrl, rules: RobotsRules, now: float) -> RobotsAnswered:
    return RobotsAnswered(
        crawl=errand.crawl,
        at=now,
        site=site_of(errand.asker),
        host=errand.asker,
        url=errand.url,
        outcome=Outcome.PAGE,
        robots=rules,
    )
