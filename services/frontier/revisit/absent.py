"""Pages that a visit did not find: when to look again, and when they are given up.

Servers are down for days or weeks and come back, and so do their pages: they are comatose rather
than dead (*Practical issues of crawling the Web*, 3.1), and a name that does not resolve is worth
another try after a week (4.2). So nothing is given up for ever; it is only looked for more rarely.

| a visit ends with | a page that was a document | any other URL |
|---|---|---|
| 404, 410, a redirect | after 6 h, after a day, then it is forgotten | after 30 d, 60 d … 180 d |
| a server that is down | after a day, 3 d, 9 d … 60 d | the same |
| a refusal | after 30 d, then it is forgotten | after 30 d, 60 d … 180 d |
| the blocklist, or a narrower crawl | after a day, 2 d, 4 d, 7 d | the same |

It is forgotten after `pages` has its tombstone (`gossamer.events.gone`): a visit that then finds it
is its first. A server that is down says nothing of its pages, nor does a visit that was not made:
what was learnt of them stays.
"""

from msgspec.structs import replace

from gossamer.events.outcomes import Absence
from services.frontier.revisit.learning import forgotten
from services.frontier.revisit.sharing import placed, uncounted
from services.frontier.revisit.state import DAY, Basis, Decision, Known, PageState
from services.frontier.revisit.times import jittered, outside_quiet_hours, spelled

CONFIRMED: dict[Absence, tuple[float, ...]] = {
    Absence.GONE: (DAY / 4, DAY),
    Absence.MOVED: (DAY / 4, DAY),
    Absence.REFUSED: (30 * DAY,),
}
"""How long after each visit in a row that did not find it a document is looked at again, before it
is forgotten."""
NOT_SEEN = {Absence.DOWN: (DAY, 3.0, 60 * DAY), Absence.LEFT_OUT: (DAY, 2.0, 7 * DAY)}
PROBED = (30 * DAY, 2.0, 180 * DAY)
"""The first wait, by how much the next is longer, and the longest."""
SAID = {
    Absence.GONE: "not found (404, 410)",
    Absence.MOVED: "redirects",
    Absence.DOWN: "its server is down",
    Absence.REFUSED: "refused, or of no wanted kind",
    Absence.LEFT_OUT: "left out, by the crawl or the blocklist",
}
LOST = frozenset({Absence.GONE, Absence.MOVED})


def missed(known: Known, url: str, at: float, kind: Absence) -> Decision:
    """Take in that a visit *at* found no document; plan when to look again.

    Of a document, what ends its visits must be the same each time: a server that is down between
    two 404s says nothing, and confirms nothing.
    """
    page = known.page
    times = page.missed + 1 if not page.visits or _same(page.absent, kind) else 1
    if page.visits and kind in CONFIRMED and times > len(CONFIRMED[kind]):
        known, times = forgotten(known), 1
    page = replace(known.page, missed=times, missed_at=float(round(at)), absent=kind)
    return probed(known._replace(page=page), url)


def probed(known: Known, url: str) -> Decision:
    """Plan the next look at a page that is away."""
    page, known = known.page, uncounted(known)
    wait, why = _wait(page), SAID[page.absent or Absence.GONE]
    if page.missed > 1:
        why += f", {page.missed} times in a row"
    why += f": looked for again after {spelled(wait)}"
    at = page.missed_at + jittered(wait, url, page.visits + page.missed)
    return placed(known, outside_quiet_hours(known.site, at), wait, (Basis.RECHECK, why))


def _same(before: Absence | None, now: Absence) -> bool:
    return before is now or (before in LOST and now in LOST)


def _wait(page: PageState) -> float:
    times = max(page.missed, 1)
    if page.absent in NOT_SEEN:
        return _longer(NOT_SEEN[page.absent], times)
    confirmed = CONFIRMED.get(page.absent or Absence.GONE, ()) if page.visits else ()
    if times <= len(confirmed):
        return confirmed[times - 1]
    return _longer(PROBED, times)


def _longer(waits: tuple[float, float, float], times: int) -> float:
    first, factor, most = waits
    return min(first * factor ** min(times - 1, 9), most)
