"""Politeness: when a host may be visited again, by its settings, its delay and its failures.

**Overrides** of operators hold for a site or a host. While an override excludes a host, the host
backs off, and its row has the reason. When an override of the host or its site changes, the backoff
ends (`Partition.end_site_backoffs`).

**Backoffs.** `OUTCOMES` states the wait after each kind of failure.

**Strain** of a server lengthens its delay; see `features/strain.py`.

**Server errors.** A host whose responses are all 5xx is down, even if it answers. After more than
`retries` of them in a row, or `MAX_SERVER_ERRORS` if the host sent pages before, it backs off, and
gets orders of one URL. Each further one doubles the backoff. Any other response of the host ends
it. A retry that fails again is not counted, because it says nothing new about the host.

**Silence.** A server that wakes up sends nothing at first, so the host gets a second request after
a minute, which does not count as an attempt at its URLs. A second silence is no accident.

**Challenges.** A host that sends challenges in place of pages works, and its delay is not
lengthened. The rest of the order is skipped, since every further request confirms the suspicion. A
URL is retried after six hours, a day and four days. After more than `retries` challenges in a row,
without a page between them, the host backs off, as if it were down.

**Expired leases.** A host whose visits seem to stop the fetchers backs off; see `leases.py`.

**Unreadable pages.** A page on which the parser reaches its time limit costs as much as a thousand
others. A host with only such pages must not occupy the parsers that all hosts share, so the
frontier postpones its visits for a while. Its URLs wait in their queue.
"""

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

import gossamer.overrides
from gossamer.events import Outcome, PageDeduplicated, SiteOverridden, Verdict
from gossamer.events.hazards import Hazard
from gossamer.events.outcomes import OUTCOMES, Health, Wait
from gossamer.log import murmur2
from gossamer.overrides import NOTHING
from gossamer.services.frontier.revisit import SiteState
from gossamer.services.frontier.revisit.planning import outside_quiet_hours
from gossamer.services.frontier.tables.hosts import HostRow, RobotsRow
from gossamer.services.frontier.tables.sites import UnreadablePages
from gossamer.web.url import HostKey, Site

if TYPE_CHECKING:
    # `gossamer why` imports this module, and the import of settings takes longer than the command.
    from gossamer.settings import FrontierSettings

MINUTE, DAY = 60.0, 86400.0
SITE_CAUSE = "site"
"""The `backoff_cause` of a host that is postponed by its site's settings or by unreadable pages."""
OFF_CHECK_INTERVAL = 3600.0
"""Seconds after which a host that is off is checked again."""
SHORT_WAIT = 60.0
"""Seconds before a retry that may soon succeed: after a 429 without Retry-After, without an answer
of the name server, or after the first silence of a server."""
RETRY_WAIT = 600.0
"""Seconds before the first retry of a URL, and of a host after `Wait.MINUTES`."""
CHALLENGE_RETRY_WAIT = 21600.0
"""Seconds before the first retry of a URL that was answered by a challenge. An earlier request
would look like an attack to the server that sent the challenge."""
HOUR = 3600.0
MAX_SPREAD = 0.25
"""The largest share by which a backoff is lengthened, so that hosts that fail together do not
return together."""
MAX_RETURNED_ORDER_DELAY = 300.0
"""The longest delay of a host whose orders come back without a request, in seconds."""
MAX_STRAINED_DELAY, MIN_STRAINED_DELAY = 60.0, 0.1
"""The limit up to which strain lengthens a delay, and the shortest delay that it starts from, in
seconds."""
MAX_UNREADABLE_WAIT = 86400.0
"""The longest postponement of a host with unreadable pages, in seconds."""
MAX_SERVER_ERRORS = 20
"""Consecutive 5xx responses that a host may send without a backoff if it sent pages before: some
part of it may be broken."""
MAX_EXPIRED_WAIT = 86400.0
"""The longest backoff of a host whose leases expire, in seconds."""
MAX_DOUBLINGS = 30
"""Doublings of a wait, so that it stays a number of seconds."""
MAX_SHOWN_DAYS = 1_000_000
"""Delays of more days are shown as `over 1,000,000 days`."""
MAX_RESTARTED_DELAY = 3600.0
"""The longest time for which the delay of a host starts again after a takeover, in seconds: more
than two clocks differ."""
LEASE_FAILURE = "lease"
"""The kind of failure, and the `backoff_cause`, of a host whose leases expire."""


class Postponement(NamedTuple):
    """Until when a host is not visited, and a reason for people."""

    until: float
    reason: str


class Overrides(gossamer.overrides.Overrides):
    """The overrides of all sites and hosts."""

    def apply_quiet_hours(self, site: Site, state: SiteState) -> SiteState:
        """Return *state* with the quiet hours that are set for *site*."""
        at = self.of_site(site)
        quiet = (at.quiet_from, at.quiet_until)
        if quiet == (state.quiet_from, state.quiet_until):
            return state
        return replace(state, quiet_from=quiet[0], quiet_until=quiet[1])

    def delay(self, site: Site, host: HostKey, delay: float) -> float:
        """Return the seconds between two visits to *host*; *delay* is the default. An override may
        shorten the delay only for a host of our own."""
        return overridden_delay(self.of(site, host), delay)

    def site_delay(self, site: Site, host: HostKey, delay: float) -> float:
        """Return the delay from which the gap between starts at the *site* is computed; *delay* is
        the default.

        It is the shorter one of the delays of *host* and of the site. So *host* may be visited
        faster than the site's other hosts, and a slower *host* does not delay them.
        """
        return min(
            overridden_delay(self.of(site, host), delay),
            overridden_delay(self.of_site(site), delay),
        )

    def factor(self, site: Site, host: HostKey, factor: float) -> float:
        """Return the factor for the duration of the last visit, which lengthens the pause; *factor*
        is the default. It is 0 for a host of our own whose delay an operator has set."""
        at = self.of(site, host)
        return 0.0 if at.ours and at.delay is not None else factor

    def budget(self, site: Site) -> float:
        """Return the visits per day that a host of *site* may have."""
        return self.of_site(site).budget or inf

    def visits_left_today(self, row: HostRow, limit: int, now: float) -> int:
        """Return how many more visits the host of *row* may have today, at most *limit*."""
        budget = self.of(row.site, row.host).budget
        made = row.totals.day_visits if row.totals.day == int(now // DAY) else 0
        return max(0, min(limit, budget - made)) if budget else limit

    def find_postponement(self, row: HostRow, now: float) -> Postponement | None:
        """Return why the host of *row* is not visited now; None if it may be visited."""
        at = self.of(row.site, row.host)
        if at is NOTHING:
            return None
        if at.off:
            subject = "the site" if self.of_site(row.site).off else "the host"
            return Postponement(now + OFF_CHECK_INTERVAL, f"{subject} is off")
        end = outside_quiet_hours(self.apply_quiet_hours(row.site, SiteState()), now)
        if end > now:
            return Postponement(end, "quiet hours of the site")
        if not self.visits_left_today(row, 1, now):
            used_up = f"the budget of {at.budget:,} visits per day is used up"
            return Postponement(now - now % DAY + DAY, used_up)
        return None


def overridden_delay(at: SiteOverridden, delay: float) -> float:
    """Return *delay* after the settings of an operator, in seconds."""
    if at.delay is None:
        return delay
    return at.delay if at.ours else max(delay, at.delay)


def courtesy_delay(
    settings: "FrontierSettings", last_took: float, robots: RobotsRow | None
) -> float:
    """Return the seconds between visits to a host: the largest of the minimum delay, a multiple of
    the last visit's time (Mercator; PolyBot, section 3.4, note 12), and the Crawl-delay up to its
    limit: a typo must not stop the visits of robots.txt that would find it corrected."""
    stated = robots.rules.crawl_delay if robots else 0.0
    crawl_delay = min(stated, settings.crawl_delay_limit)
    return max(settings.delay, settings.delay_factor * last_took, crawl_delay)


def next_delay(
    settings: "FrontierSettings", row: HostRow, robots: RobotsRow | None, overrides: Overrides
) -> float:
    """Return the seconds between the host's last visit and its next one, with the settings of
    operators and the strain of the server."""
    delay = courtesy_delay(settings, row.politeness.last_took or 0.0, robots)
    delay = overrides.delay(row.site, row.host, delay)
    return strained_delay(delay, row.politeness.strain)


def format_delay(seconds: float) -> str:
    """Format a delay with one unit: 0.3 s, 25 min, 3.5 h, 1 day, 11,574 days."""
    if seconds < 2 * MINUTE:
        return f"{seconds:.3g} s"
    if seconds < DAY:
        return f"{seconds / MINUTE:.3g} min" if seconds < 2 * HOUR else f"{seconds / HOUR:.3g} h"
    days = seconds / DAY
    if days > MAX_SHOWN_DAYS:
        return f"over {MAX_SHOWN_DAYS:,} days"
    shown = f"{days:.3g}" if days < 100 else f"{days:,.0f}"
    return f"{shown} {'day' if shown == '1' else 'days'}"


def robots_delay(settings: "FrontierSettings", row: HostRow, overrides: Overrides) -> float:
    """Return the seconds between the host's last visit and one to its robots.txt: the delay without
    the Crawl-delay, which may be a mistake that the next robots.txt corrects."""
    return next_delay(settings, row, None, overrides)


def next_visit_at(delay_until: float, robots_delay_until: float, robots: RobotsRow | None) -> float:
    """Return when a host may be visited next: a page when the delay is over, or robots.txt before
    that, when its rules have expired."""
    expires_at = robots.rules.expires_at if robots else 0.0
    return min(delay_until, max(robots_delay_until, expires_at))


def restarted_delay_until(claimed_at: float, delay: float, stored_until: float | None) -> float:
    """Return when the *delay* of a host is over after a takeover at *claimed_at*.

    It starts again, because the clocks of two owners may differ. A delay of more than
    `MAX_RESTARTED_DELAY` ends at *stored_until*, as the former owner computed. Otherwise runs that
    are shorter than the delay would never visit the host.
    """
    again = claimed_at + delay
    if stored_until is None:
        return again
    return min(again, max(claimed_at + min(delay, MAX_RESTARTED_DELAY), stored_until))


def taken_over_until(claimed_at: float, delay: float, row: HostRow) -> float:
    """Return when the *delay* of a host is over whose last visit a former owner ordered."""
    # Visits of an order that has not ended may have been made later than the last known one.
    stored_until = None if row.lease.outstanding else row.politeness.delay_until
    return restarted_delay_until(claimed_at, delay, stored_until)


def was_visited_before_claim(row: HostRow, epoch: int, had_orders: bool, hosts: int) -> bool:
    """Return whether the last visit to a host's server may have been before the claim with *epoch*.

    Visits to hosts with the same name, but another scheme or port, are to the same server. So a
    host without an order counts too, if the partition *had_orders* before the claim and the site
    has several *hosts*.
    """
    if row.lease.order is not None:
        return not row.has_times_of(epoch)
    return had_orders and hosts > 1


def returned_order_delay(delay: float, returned: int) -> float:
    """Return the delay of a host whose last *returned* orders came back without a request.

    The delay grows, so that a fault of fetchers or clocks does not send the orders of one host back
    and forth without a pause.
    """
    longest = max(delay, MAX_RETURNED_ORDER_DELAY)
    return min(_double(max(delay, 1.0), returned - 1), longest)


def failure_wait(
    settings: "FrontierSettings", host: HostKey, outcome: Outcome, times: int, retry_after: float
) -> float:
    """Return the backoff after the *times*-th consecutive failure of one kind (from 1).

    The backoff grows with each failure (PolyBot, section 3.4: "an even longer time if it is down on
    the second try"). A Retry-After replaces it, up to `retry_after_limit`. A host that sends
    more than `retries` of them one after another, although each was obeyed, backs off for longer.
    """
    if _has_retry_after(outcome, retry_after):
        beyond = times - settings.retries
        backoff = _wait(settings, Wait.SHORT, beyond) if beyond > 0 else 0.0
        return max(min(retry_after, settings.retry_after_limit), backoff)
    return spread_factor(host) * _wait(settings, OUTCOMES[outcome].wait, max(times, 1) - 1)


def is_given_up(
    settings: "FrontierSettings", outcome: Outcome, times: int, retry_after: float
) -> bool:
    """Return whether a URL is given up after *times* consecutive failures of its host.

    A Retry-After is not a failure (RFC 9110, 10.2.3).
    """
    allowed = settings.retries + (OUTCOMES[outcome].wait is Wait.MINUTE_THEN_LONG)
    return times > allowed and not _has_retry_after(outcome, retry_after)


def _has_retry_after(outcome: Outcome, retry_after: float) -> bool:
    return OUTCOMES[outcome].wait is Wait.RETRY_AFTER and retry_after > 0


def expired_wait(settings: "FrontierSettings", host: HostKey, times: int) -> float:
    """Return the backoff of *host* after the *times*-th counted lease in a row expired; 0 after the
    first one."""
    if times < 2:
        return 0.0
    return spread_factor(host) * min(_double(settings.expired_wait, times - 2), MAX_EXPIRED_WAIT)


def is_suspect(settings: "FrontierSettings", row: HostRow) -> bool:
    """Return whether an order of the host has only one URL, which tests the host: its last lease
    expired, or its last responses were errors of the server."""
    failures = row.politeness.failures
    limit = allowed_failures(settings, row, Health.SERVER)
    return LEASE_FAILURE in failures or failures.get(Health.SERVER, 0) > limit


def allowed_failures(settings: "FrontierSettings", row: HostRow, kind: str) -> int:
    """Return the number of consecutive failures of a *kind* before the host backs off after
    `Fate.RETRY`."""
    return MAX_SERVER_ERRORS if kind == Health.SERVER and row.totals.pages else settings.retries


def robots_redirect_wait(settings: "FrontierSettings", host: HostKey, times: int) -> float:
    """Return how long *host* waits until its robots.txt, which redirects to another host, is
    requested again; *times*: requests so far without an answer.

    The other host may wait for this one in turn, so each wait is longer than the one before, up to
    `down_wait_limit`.
    """
    doubled = _double(settings.down_wait, max(times, 1) - 1)
    return spread_factor(host) * min(doubled, settings.down_wait_limit)


def spread_factor(host: HostKey) -> float:
    """Return a factor from 1 to 1.25 that differs between hosts, and is always the same for one
    host."""
    return 1.0 + MAX_SPREAD * murmur2(host.encode()) / 2**32


def _double(seconds: float, times: int) -> float:
    """Return *seconds*, doubled *times* times."""
    return seconds * 2.0 ** min(times, MAX_DOUBLINGS)


def _wait(settings: "FrontierSettings", wait: Wait, doublings: int) -> float:
    """Return the seconds of *wait*, doubled as often as its kind allows."""
    match wait:
        case Wait.NONE:
            return 0.0
        case Wait.SHORT | Wait.RETRY_AFTER:
            return min(_double(SHORT_WAIT, doublings), settings.down_wait)
        case Wait.MINUTES:
            return min(_double(RETRY_WAIT, doublings), settings.down_wait)
        case Wait.LONG:
            return min(_double(settings.down_wait, doublings), settings.down_wait_limit)
        case Wait.MINUTE_THEN_LONG:
            return _wait(settings, Wait.LONG, doublings - 1) if doublings else SHORT_WAIT
        case Wait.DNS:
            return settings.dns_wait
        case Wait.HOUR:
            return HOUR


def retry_wait(attempt: int, outcome: Outcome) -> float:
    """Return the seconds before the *attempt*-th retry of a URL (from 1) after *outcome*."""
    first = CHALLENGE_RETRY_WAIT if outcome is Outcome.CHALLENGED else RETRY_WAIT
    return first * 4.0 ** (attempt - 1)


def strained_delay(delay: float, strain: int) -> float:
    """Return *delay* doubled *strain* times, at most 60 s."""
    if not strain:
        return delay
    return max(delay, min(max(delay, MIN_STRAINED_DELAY) * 2.0**strain, MAX_STRAINED_DELAY))


def is_unreadable(unreadable: UnreadablePages, settings: "FrontierSettings") -> bool:
    """Return whether the limit of consecutive unreadable pages is reached.

    An order of the host then has only one page, which tests whether its pages are readable again.
    """
    return 0 < settings.unreadable_limit <= unreadable.pages


def unreadable_until(unreadable: UnreadablePages, settings: "FrontierSettings") -> float | None:
    """Return until when the host is postponed because of unreadable pages; None if it is not."""
    if not is_unreadable(unreadable, settings):
        return None
    doubled = _double(settings.unreadable_wait, unreadable.pages - settings.unreadable_limit)
    return unreadable.at + min(doubled, MAX_UNREADABLE_WAIT)


def count_unreadable(
    before: UnreadablePages, event: PageDeduplicated, settings: "FrontierSettings"
) -> UnreadablePages:
    """Return the number of consecutive unreadable pages after *event*. A readable page resets it.

    A page over the limits of time or memory counts, and a body that is still coded. A page on which
    a reader failed does not: the host is not to blame, and the page costs little. A page that was
    in flight when the postponement began does not lengthen it.
    """
    if event.verdict is not Verdict.UNREADABLE:
        return UnreadablePages()
    if Hazard.READER_FAILED in event.hazards:
        return before
    until = unreadable_until(before, settings)
    if until is not None and event.fetched_at < until:
        return before
    return UnreadablePages(before.pages + 1, event.at)
