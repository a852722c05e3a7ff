"""What operators have set for single sites and hosts, as far as it decides when they are visited.

A host that may not be visited now is held back when its turn comes: it backs off until it may, and
its row says why. When what is set for it or its site changes, it comes to its turn again
(`Partition.recall`).
"""

from math import inf

from msgspec.structs import replace

import gossamer.overrides
from gossamer.events import SiteOverridden
from gossamer.overrides import NOTHING
from services.frontier.revisit import SiteState
from services.frontier.revisit.planning import outside_quiet_hours
from services.frontier.rows import HostRow

DAY = 86400.0
HELD = "site"
"""The `backoff_cause` of a host that the settings of its site exclude now."""
LOOKED_AT = 3600.0
"""Seconds after which a host that is off is looked at again, if nobody has said that it is not."""


class Overrides(gossamer.overrides.Overrides):
    """By site and host, what is different there."""

    def quiet(self, site: str, state: SiteState) -> SiteState:
        """Return *state* with the quiet hours that are set."""
        at = self.of_site(site)
        quiet = (at.quiet_from, at.quiet_until)
        if quiet == (state.quiet_from, state.quiet_until):
            return state
        return replace(state, quiet_from=quiet[0], quiet_until=quiet[1])

    def delay(self, site: str, host: str, delay: float) -> float:
        """Return the seconds between two visits to *host*, where else it is *delay*: no less,
        unless its owner has set it."""
        return _delay(self.of(site, host), delay)

    def site_delay(self, site: str, host: str, delay: float) -> float:
        """Return of which delay the gap between starts at the *site* is a part, where else it is
        *delay*: *host* may be visited faster than the others, and slower without holding them up.
        """
        return min(_delay(self.of(site, host), delay), _delay(self.of_site(site), delay))

    def factor(self, site: str, host: str, factor: float) -> float:
        """Return how many times the last visit's time a pause is, where else it is *factor*."""
        at = self.of(site, host)
        return 0.0 if at.ours and at.delay is not None else factor

    def budget(self, site: str) -> float:
        """Return the visits a day that a host of *site* may have."""
        return self.of_site(site).budget or inf

    def left_today(self, row: HostRow, most: int, now: float) -> int:
        """Return how many visits the host of *row* may have now, at most *most*."""
        budget = self.of(row.site, row.host).budget
        made = row.totals.day_visits if row.totals.day == int(now // DAY) else 0
        return max(0, min(most, budget - made)) if budget else most

    def held_back(self, row: HostRow, now: float) -> tuple[float, str]:
        """Return until when the host of *row* may not be visited now, and why; 0 if it may."""
        at = self.of(row.site, row.host)
        if at is NOTHING:
            return 0.0, ""
        if at.off:
            its = "its site" if self.of_site(row.site).off else "it"
            return now + LOOKED_AT, f"{its} is off"
        end = outside_quiet_hours(self.quiet(row.site, SiteState()), now)
        if end > now:
            return end, "quiet hours of its site"
        if not self.left_today(row, 1, now):
            return now - now % DAY + DAY, f"it has had its {at.budget:,} visits of the day"
        return 0.0, ""


def _delay(at: SiteOverridden, delay: float) -> float:
    if at.delay is None:
        return delay
    return at.delay if at.ours else max(delay, at.delay)
