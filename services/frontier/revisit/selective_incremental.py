"""The policy `selective_incremental`: a page waits fr_max rounds, and fr_max follows its records.

The rule of *A selective incremental crawler*: section 3.2 for fr_max, which moves half of the way
to one round for each change among the last records; section 3.3 for a page that has not changed
while its internal pages have (`internal_changes`); section 5 for how that lowers fr_max.

A page that had changed at its last visit is visited when its turn comes. The internal pages of any
other page are examined then, and the page is visited if the share of those that have changed since
its last visit is high enough. The paper gives a page that is left out no limit. Two pages that link
to each other alone, and have not changed, would never be visited again: so there is one.
"""

from msgspec.structs import replace

from services.frontier.revisit.beliefs import Belief
from services.frontier.revisit.evidence import InternalChanges, internal_changes, record_change
from services.frontier.revisit.learning import belief
from services.frontier.revisit.planning import add_jitter, outside_quiet_hours, plan_after, plan_at
from services.frontier.revisit.policy import Policy
from services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    PageState,
    States,
    Visit,
    to_single,
)

FIRST_FR_MAX = 2
"""Table 1."""
RECORD_LIMIT = 10
"""Records looked at. Table 2."""
FIRST_THRESHOLD = 0.4
"""Section 3.3: "when 40% of its pages have changed"."""
MAX_WAIT_FACTOR = 2
"""Times fr_max rounds, within which a page is visited whatever its internal pages do."""
CHANGE_RETENTION_ROUNDS = 2 * MAX_WAIT_FACTOR * RECORD_LIMIT
"""Rounds for which a change is remembered: twice as long as a page waits that is not late."""


def new_fr_max(fr_max: int, records: int, changed: int, limit: int = RECORD_LIMIT) -> int:
    """Return fr_max after *changed* of the last *records* differed (3.2); at least 1."""
    x = min(records, limit)
    b = x / changed if changed else x
    return max(1, int((fr_max + b) / 2))


def fr_max_by_internal(fr_max: int, internal: float) -> int:
    """Return fr_max where the share *internal* of the internal pages has changed (5); at least 1.

    The paper writes [fr_max + (changes [%] * fr_max)] / 2 and reaches 3 from 6 with 89 % changed:
    so it is the share that has *not* changed that fr_max is multiplied with.
    """
    return max(1, int((fr_max + (1 - internal) * fr_max) / 2))


def adapt_threshold(share: float, internal: float) -> float:
    """Return the share of 3.3 after *internal* was met at the page's turn: half of the way there.

    The paper says only that it rises and falls in proportion to the pages that have changed.
    """
    return (share + internal) / 2


class SelectiveIncremental(Policy):
    """*round_time* is how many seconds lie between two rounds of the crawl."""

    name = "selective-incremental"

    def __init__(self, round_time: float = DAY) -> None:
        self._round = round_time

    def at_due(self, states: States, url: str, now: float) -> Decision | None:
        """Leave out a page that was unchanged, if too few of its internal pages have changed.

        Its turn comes again in the next round. It is visited if none of its internal pages is
        known, and after twice fr_max rounds in any case.
        """
        page = states.page
        internal = internal_changes(page, states.site, page.at)
        last_turn = page.at + MAX_WAIT_FACTOR * _fr_max(page) * self._round
        if page.absent or page.changed_at == page.at or internal is None or now >= last_turn:
            return None
        share = page.share or FIRST_THRESHOLD
        if internal.share >= share:
            return None
        page = replace(page, share=to_single(adapt_threshold(share, internal.share)))
        states = states._replace(page=page)
        why = (
            f"{internal.changed} of {internal.pages} pages that it links to have changed, which is"
            f" less than {share:.0%}: its turn comes again after a round"
        )
        at = outside_quiet_hours(states.site, now + add_jitter(self._round, url, page.visits))
        return plan_at(states, at, at - page.at, (Basis.INTERVAL, why), belief(states))

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Compute fr_max, and remember the page's links and its change."""
        internal = internal_changes(states.page, states.site, since)
        page, site = _record(states.page, visit, internal), states.site
        if visit.internal_links is not None:
            page = replace(page, internal_links=visit.internal_links)
        if visit.changed:
            site = record_change(
                site, visit.url, visit.at, visit.at - CHANGE_RETENTION_ROUNDS * self._round
            )
        return states._replace(page=page, site=site)

    def plan(self, states: States, url: str, rate: Belief) -> Decision:
        """Plan the next turn after fr_max rounds."""
        rounds = _fr_max(states.page)
        why = Basis.INTERVAL, f"fr_max is {rounds} rounds"
        return plan_after(states, url, rounds * self._round, why, rate)


def _fr_max(page: PageState) -> int:
    return page.rounds or FIRST_FR_MAX


def _record(page: PageState, visit: Visit, internal: InternalChanges | None) -> PageState:
    if page.visits == 1:
        return replace(page, rounds=FIRST_FR_MAX, share=FIRST_THRESHOLD)
    records = page.records << 1 | visit.changed
    if records >> RECORD_LIMIT > 1:
        records = 1 << RECORD_LIMIT | records & (1 << RECORD_LIMIT) - 1
    fr_max = new_fr_max(_fr_max(page), records.bit_length() - 1, records.bit_count() - 1)
    share = page.share or FIRST_THRESHOLD
    if internal:
        if not visit.changed and internal.share >= share:
            fr_max = fr_max_by_internal(fr_max, internal.share)
        share = to_single(adapt_threshold(share, internal.share))
    return replace(page, records=records, rounds=fr_max, share=share)
