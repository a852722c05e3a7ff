"""Operator overrides of single sites and hosts, as far as they decide when a host is visited.

A host that an override excludes now backs off until the override allows a visit, and its row has
the reason. When an override of the host or its site changes, the backoff ends
(`Partition.end_site_backoffs`).
"""

from math import inf
from typing import NamedTuple

from msgspec.structs import replace

import gossamer.overrides
from gossamer.events import SiteOverridden
from gossamer.overrides import NOTHING
from services.frontier.revisit import SiteState
from services.frontier.revisit.planning import outside_quiet_hours
from services.frontier.rows import HostRow

DAY = 86400.0
SITE_CAUSE = "site"
"""The `backoff_cause` of a host that is postponed by its site's settings or by unreadable pages."""
OFF_CHECK_INTERVAL = 3600.0
"""Seconds after which a host that is off is checked again."""


class Postponement(NamedTuple):
    """Until when a host is not visited, and a reason for people."""

    until: float
    reason: str


class Overrides(gossamer.overrides.Overrides):
    """The overrides of all sites and hosts."""

    def apply_quiet_hours(self, site: str, state: SiteState) -> SiteState:
        """Return *state* with the quiet hours that are set for *site*."""
        at = self.of_site(site)
        quiet = (at.quiet_from, at.quiet_until)
        if quiet == (state.quiet_from, state.quiet_until):
            return state
        return replace(state, quiet_from=quiet[0], quiet_until=quiet[1])

    def delay(self, site: str, host: str, delay: float) -> float:
        """Return the seconds between two visits to *host*; *delay* is the default. An override may
        shorten the delay only for a host of our own."""
        return _delay(self.of(site, host), delay)

    def site_delay(self, site: str, host: str, delay: float) -> float:
        """Return the delay from which the gap between starts at the *site* is computed; *delay* is
        the default.

        It is the shorter one of the delays of *host* and of the site. So *host* may be visited
        faster than the site's other hosts, and a slower *host* does not delay them.
        """
        return min(_delay(self.of(site, host), delay), _delay(self.of_site(site), delay))

    def factor(self, site: str, host: str, factor: float) -> float:
        """Return the factor for the duration of the last visit, which lengthens the pause; *factor*
        is the default. It is 0 for a host of our own whose delay an operator has set."""
        at = self.of(site, host)
        return 0.0 if at.ours and at.delay is not None else factor

    def budget(self, site: str) -> float:
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


def _delay(at: SiteOverridden, delay: float) -> float:
    if at.delay is None:
        return delay
    return at.delay if at.ours else max(delay, at.delay)
