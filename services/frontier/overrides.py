"""What operators have set for single sites, as far as it decides when their hosts are visited.

A host that may not be visited now is held back when its turn comes: it is blocked until it may, and
its row says why. When what is set for its site changes, it comes to its turn again (`Loading`).
"""

from math import inf

from msgspec.structs import replace

from gossamer.events import SiteOverridden
from services.frontier.revisit import SiteState
from services.frontier.revisit.times import outside_quiet_hours
from services.frontier.rows import HostRow

DAY = 86400.0
HELD = "site"
"""What a host's row says it is blocked by, where that is what was set for its site."""
LOOKED_AT = 3600.0
"""Seconds after which a host that is off is looked at again, if nobody has said that it is not."""
NOTHING = SiteOverridden(at=0.0, site="")


class Overrides:
    """By site, what is different there."""

    def __init__(self) -> None:
        self._of: dict[str, SiteOverridden] = {}

    def change(self, event: SiteOverridden) -> None:
        """Go by *event* at its site from now on."""
        self._of[event.site] = event

    def quiet(self, site: str, state: SiteState) -> SiteState:
        """Return *state* with the quiet hours that are set."""
        at = self._of.get(site, NOTHING)
        quiet = (at.quiet_from, at.quiet_until)
        if quiet == (state.quiet_from, state.quiet_until):
            return state
        return replace(state, quiet_from=quiet[0], quiet_until=quiet[1])

    def delay(self, site: str, delay: float) -> float:
        """Return the seconds between two visits to a host of *site*, where else it is *delay*: no
        less, unless the site's owner has set it."""
        at = self._of.get(site, NOTHING)
        if at.delay is None:
            return delay
        return at.delay if at.ours else max(delay, at.delay)

    def factor(self, site: str, factor: float) -> float:
        """Return how many times the last visit's time a pause is, where else it is *factor*."""
        at = self._of.get(site, NOTHING)
        return 0.0 if at.ours and at.delay is not None else factor

    def budget(self, site: str) -> float:
        """Return the visits a day that each host of *site* may have."""
        return self._of.get(site, NOTHING).budget or inf

    def left_today(self, row: HostRow, most: int, now: float) -> int:
        """Return how many visits the host of *row* may have now, at most *most*."""
        budget = self._of.get(row.site, NOTHING).budget
        made = row.day_visits if row.day == int(now // DAY) else 0
        return max(0, min(most, budget - made)) if budget else most

    def held_back(self, row: HostRow, now: float) -> tuple[float, str]:
        """Return until when the host of *row* may not be visited now, and why; 0 if it may."""
        at = self._of.get(row.site)
        if at is None:
            return 0.0, ""
        if at.off:
            return now + LOOKED_AT, "its site is off"
        end = outside_quiet_hours(self.quiet(row.site, SiteState()), now)
        if end > now:
            return end, "quiet hours of its site"
        if not self.left_today(row, 1, now):
            return now - now % DAY + DAY, f"it has had its {at.budget:,} visits of the day"
        return 0.0, ""
