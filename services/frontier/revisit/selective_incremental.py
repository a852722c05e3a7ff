"""The policy `selective_incremental`: a page waits fr_max rounds, and fr_max follows its records.

The rule of *A selective incremental crawler*: section 3.2 for fr_max, which moves half of the way
to one round for each change among the last records; section 3.3 for a page that has not changed
while the pages behind it have; section 5 for how that lowers fr_max. The pages behind a page are
taken to be those of its site.
"""

from msgspec.structs import replace

from services.frontier.revisit.numbers import rounded
from services.frontier.revisit.policy import Policy
from services.frontier.revisit.rates import Belief
from services.frontier.revisit.sharing import after
from services.frontier.revisit.state import DAY, Basis, Decision, Known, PageState, Visit

FIRST_FR_MAX = 2
"""Table 1."""
LIMIT = 10
"""Records looked at. Table 2."""
FIRST_SHARE = 0.4
"""Section 3.3: "when 40% of its pages have changed"."""


def new_fr_max(fr_max: int, records: int, changed: int, limit: int = LIMIT) -> int:
    """Return fr_max after *changed* of the last *records* differed (3.2); at least 1."""
    x = min(records, limit)
    b = x / changed if changed else x
    return max(1, int((fr_max + b) / 2))


def mixed(fr_max: int, internal: float) -> int:
    """Return fr_max where the share *internal* of the pages behind it has changed (5); at least 1.

    The paper writes [fr_max + (changes [%] * fr_max)] / 2 and reaches 3 from 6 with 89 % changed:
    so it is the share that has *not* changed that fr_max is multiplied with.
    """
    return max(1, int((fr_max + (1 - internal) * fr_max) / 2))


def adapted(share: float, internal: float) -> float:
    """Return the share of 3.3 after *internal* was met at the page's turn: half of the way there.

    The paper says only that it rises and falls in proportion to the pages that have changed.
    """
    return (share + internal) / 2


class SelectiveIncremental(Policy):
    """*round_time* is how many seconds lie between two rounds of the crawl."""

    name = "selective-incremental"

    def __init__(self, round_time: float = DAY) -> None:
        self._round = round_time

    def judged(self, known: Known, visit: Visit) -> Known:
        """Work out fr_max."""
        return known._replace(page=_judged(known.page, visit, known.site.changed))

    def plan(self, known: Known, url: str, rate: Belief) -> Decision:
        """Plan the next visit after fr_max rounds."""
        rounds = known.page.rounds or FIRST_FR_MAX
        why = Basis.INTERVAL, f"fr_max is {rounds} rounds"
        return after(known, url, rounds * self._round, why, rate)


def _judged(page: PageState, visit: Visit, internal: float) -> PageState:
    if page.visits == 1:
        return replace(page, rounds=FIRST_FR_MAX, share=FIRST_SHARE)
    records = page.records << 1 | visit.changed
    if records >> LIMIT > 1:
        records = 1 << LIMIT | records & (1 << LIMIT) - 1
    fr_max = page.rounds or FIRST_FR_MAX
    fr_max = new_fr_max(fr_max, records.bit_length() - 1, records.bit_count() - 1)
    share = page.share or FIRST_SHARE
    if not visit.changed and internal > share:
        fr_max = mixed(fr_max, internal)
    share = rounded(adapted(share, internal))
    return replace(page, records=records, rounds=fr_max, share=share)
