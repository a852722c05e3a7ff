"""The policy `selective_incremental`: a page waits fr_max rounds, and fr_max follows its records.

The rules are those of *A selective incremental crawler*. Section 3.2: fr_max moves halfway to the
number of records per change. Section 3.3: an unchanged page is visited if enough of its internal
pages have changed. Section 5: internal changes lower fr_max.

A page that changed at its last visit is visited when it is due. For any other page the internal
pages are examined: the page is visited if the fraction of them that changed since its last visit
reaches a threshold. The paper sets no limit to skipping. Two unchanged pages that link only to each
other would never be visited again, so a page is skipped for at most twice fr_max rounds.
"""

from msgspec.structs import replace

from gossamer.services.frontier.revisit.beliefs import Belief
from gossamer.services.frontier.revisit.evidence import (
    InternalChanges,
    internal_changes,
    record_change,
)
from gossamer.services.frontier.revisit.learning import belief
from gossamer.services.frontier.revisit.planning import (
    add_jitter,
    outside_quiet_hours,
    plan_after,
    plan_at,
)
from gossamer.services.frontier.revisit.policy import Policy
from gossamer.services.frontier.revisit.state import (
    DAY,
    Basis,
    Decision,
    PageState,
    States,
    Visit,
    to_single,
)

FIRST_FR_MAX = 2
"""The first fr_max, in rounds (table 1)."""
RECORD_LIMIT = 10
"""The number of recent records that count (table 2)."""
FIRST_THRESHOLD = 0.4
"""The first threshold (section 3.3: "when 40% of its pages have changed")."""
MAX_WAIT_FACTOR = 2
"""A page is visited after fr_max rounds times this factor, whatever its internal pages do."""
CHANGE_RETENTION_ROUNDS = 2 * MAX_WAIT_FACTOR * RECORD_LIMIT
"""Rounds for which a change is stored: twice the longest wait of a page."""


def new_fr_max(fr_max: int, records: int, changed: int, limit: int = RECORD_LIMIT) -> int:
    """Return fr_max after *changed* of the last *records* were changes (3.2); at least 1."""
    x = min(records, limit)
    b = x / changed if changed else x
    return max(1, int((fr_max + b) / 2))


def fr_max_by_internal(fr_max: int, internal: float) -> int:
    """Return fr_max after the fraction *internal* of internal pages changed (5); at least 1.

    The paper writes [fr_max + (changes [%] * fr_max)] / 2 and computes 3 from 6 with 89 % changed,
    so the factor is the fraction that has *not* changed.
    """
    return max(1, int((fr_max + (1 - internal) * fr_max) / 2))


def adapt_threshold(share: float, internal: float) -> float:
    """Return the threshold after the fraction *internal* of internal pages changed: the mean.

    The paper says only that it rises and falls in proportion to the changed pages (3.3).
    """
    return (share + internal) / 2


class SelectiveIncremental(Policy):
    """The policy with rounds of *round_time* seconds."""

    name = "selective-incremental"

    def __init__(self, round_time: float = DAY) -> None:
        self._round = round_time

    def at_due(self, states: States, url: str, now: float) -> Decision | None:
        """Skip an unchanged page if too few of its internal pages have changed.

        A skipped page is due again in the next round. A page without known internal pages, and a
        page that waited twice fr_max rounds, is visited.
        """
        page = states.page
        internal = internal_changes(page, states.site, page.at)
        last_time = page.at + MAX_WAIT_FACTOR * _fr_max(page) * self._round
        if page.absent or page.changed_at == page.at or internal is None or now >= last_time:
            return None
        threshold = page.share or FIRST_THRESHOLD
        if internal.share >= threshold:
            return None
        page = replace(page, share=to_single(adapt_threshold(threshold, internal.share)))
        states = states._replace(page=page)
        reason = (
            f"{internal.changed} of {internal.pages} pages that it links to have changed, which is"
            f" less than {threshold:.0%}: skipped for a round"
        )
        at = outside_quiet_hours(states.site, now + add_jitter(self._round, url, page.visits))
        return plan_at(states, at, at - page.at, (Basis.INTERVAL, reason), belief(states))

    def remember(self, states: States, visit: Visit, since: float) -> States:
        """Update fr_max, and store the page's links and its change."""
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
        """Plan the next visit after fr_max rounds."""
        rounds = _fr_max(states.page)
        reason = Basis.INTERVAL, f"fr_max is {rounds} rounds"
        return plan_after(states, url, rounds * self._round, reason, rate)


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
