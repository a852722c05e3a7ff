"""How long a host or a URL is left alone: the sums. `OUTCOMES` says which one applies.

**Strain.** A server that seems strained is asked more rarely, and little by little as before. It
seems so when it answers with errors, says that it is busy, is silent, or takes much longer than it
used to. Each time its delay is doubled, up to a limit, and each visit that went well halves it
again. Its usual time is learnt slowly, so that the delay of a server which has become slow for good
returns to normal. Only pages count: a robots.txt is a file on the server's disk, and says nothing
of the time of its pages.

**Unreadable pages.** A page that takes a parser until its time limit costs as much as a thousand
others. A host that has nothing but such pages must not take the parsers from all others, so the
frontier leaves it alone for a while. Its URLs wait in their queue.
"""

from msgspec.structs import replace

from gossamer.events import Outcome, PageJudged, Purpose, Verdict, VisitEnded
from gossamer.events.outcomes import OUTCOMES, Wait
from gossamer.log import murmur2
from gossamer.settings import FrontierSettings
from services.frontier.rows import HostRow, RobotsRow, UnreadablePages

SHORT_WAIT = 60.0
"""What is worth a second look soon: a 429 without Retry-After, a name server that is silent."""
RETRY_WAIT, HOUR = 600.0, 3600.0
SPREAD = 0.25
"""Of a wait: so much longer is that of the last of many hosts that have failed together."""
REFUSED_WAIT_LIMIT = 300.0


def courtesy_delay(settings: FrontierSettings, last_took: float, robots: RobotsRow | None) -> float:
    """Return the seconds between visits to a host: the floor, a multiple of the last visit's time
    (Mercator; PolyBot, section 3.4, note 12), or the Crawl-delay however long."""
    crawl_delay = robots.rules.crawl_delay if robots else 0.0
    return max(settings.delay, settings.delay_factor * last_took, crawl_delay)


def refused_wait(delay: float, refused: int) -> float:
    """Return how long a host rests whose order came back *refused* times in a row, nothing asked:
    whatever is wrong with fetchers or clocks, orders of one host do not go round in circles."""
    return min(max(delay, 1.0) * 2.0 ** min(refused - 1, 30), max(delay, REFUSED_WAIT_LIMIT))


def trouble_wait(
    settings: FrontierSettings, host: str, outcome: Outcome, times: int, retry_after: float
) -> float:
    """Return how long *host* is left alone when it has the same trouble for the *times*-th time in
    a row (from 1): longer each time (PolyBot, section 3.4: "an even longer time if it is down on
    the second try"), and exactly as long as it asks if it does. A host that asks for time again and
    again, although each Retry-After was obeyed, is asked less and less often beyond *retries*.
    """
    if _is_asked(outcome, retry_after):
        beyond = times - settings.retries
        patience = _wait(settings, Wait.SHORT, 2.0 ** min(beyond, 30)) if beyond > 0 else 0.0
        return max(min(retry_after, settings.retry_after_limit), patience)
    return spread(host) * _wait(settings, OUTCOMES[outcome].wait, 2.0 ** min(max(times, 1) - 1, 30))


def is_given_up(
    settings: FrontierSettings, outcome: Outcome, times: int, retry_after: float
) -> bool:
    """Return whether the URL that met the same trouble of its host *times* times in a row is given
    up: not if the host has said when to come back, which is no failure (RFC 9110, 10.2.3)."""
    return times > settings.retries and not _is_asked(outcome, retry_after)


def _is_asked(outcome: Outcome, retry_after: float) -> bool:
    return OUTCOMES[outcome].wait is Wait.RETRY_AFTER and retry_after > 0


def elsewhere_wait(settings: FrontierSettings, host: str, times: int) -> float:
    """Return how long *host* waits for its robots.txt from where that lies, which it has asked for
    *times* times in a row: the host there may have to wait for its turn behind this one."""
    doubled = settings.down_wait * 2.0 ** min(max(times, 1) - 1, 30)
    return spread(host) * min(doubled, settings.down_wait_limit)


def spread(host: str) -> float:
    """Return a factor from 1 to 1.25 that differs between hosts, and never for one."""
    return 1.0 + SPREAD * murmur2(host.encode()) / 2**32


def _wait(settings: FrontierSettings, wait: Wait, doubled: float) -> float:
    match wait:
        case Wait.NONE:
            return 0.0
        case Wait.SHORT | Wait.RETRY_AFTER:
            return min(SHORT_WAIT * doubled, settings.down_wait)
        case Wait.MINUTES:
            return min(RETRY_WAIT * doubled, settings.down_wait)
        case Wait.LONG:
            return min(settings.down_wait * doubled, settings.down_wait_limit)
        case Wait.DNS:
            return settings.dns_wait
        case Wait.HOUR:
            return HOUR


def retry_wait(attempt: int) -> float:
    """Return how long a URL waits before it is tried for the *attempt*-th time again (from 1)."""
    return RETRY_WAIT * 4.0 ** (attempt - 1)


MAX_STRAIN = 6
"""How often the delay is doubled."""
LONGEST_STRAINED, SHORTEST_STRAINED = 60.0, 0.1
"""Seconds that a delay is made at most by that, and that it counts for at least."""
SLOWER, NOTICEABLE = 3.0, 1.0
"""So many times what it used to take, and more than so many seconds, is slow."""
LEARNT = 0.05
"""How much a visit counts for what the server used to take."""


def update_strain(row: HostRow, event: VisitEnded) -> HostRow:
    """Return the row of a host with what *event*, a visit at which it was asked, shows of it."""
    was, took, is_slow = row.politeness, event.took, False
    usual = was.usual_took
    if event.visit.purpose is Purpose.PAGE:
        is_slow = 0 < SLOWER * (usual or 0.0) < took and took > NOTICEABLE
        usual = usual + LEARNT * (took - usual) if usual else took
    change = 1 if is_slow or OUTCOMES[event.outcome].strains else -1
    strain = min(max(was.strain + change, 0), MAX_STRAIN)
    return replace(row, politeness=replace(was, usual_took=usual, strain=strain))


def strained_delay(delay: float, strain: int) -> float:
    """Return the *delay* of a host that seems strained so many times more than it was at ease."""
    if not strain:
        return delay
    return max(delay, min(max(delay, SHORTEST_STRAINED) * 2.0**strain, LONGEST_STRAINED))


LONGEST_UNREADABLE = 86400.0
"""The longest that a host is left alone for it, in seconds."""


def is_unreadable(unreadable: UnreadablePages, settings: FrontierSettings) -> bool:
    """Return whether one page at a time is enough, to see if the host is as it was."""
    return 0 < settings.unreadable_limit <= unreadable.pages


def left_alone_until(unreadable: UnreadablePages, settings: FrontierSettings) -> float:
    """Return until when a host is left alone; 0 if it need not be."""
    if not is_unreadable(unreadable, settings):
        return 0.0
    doubled = 2.0 ** min(unreadable.pages - settings.unreadable_limit, 30)
    return unreadable.at + min(settings.unreadable_wait * doubled, LONGEST_UNREADABLE)


def count_unreadable(
    before: UnreadablePages, event: PageJudged, settings: FrontierSettings
) -> UnreadablePages:
    """Return what is known once *event* has come: a page that was read ends it.

    One that was under way when the host began to be left alone makes that no longer.
    """
    if event.verdict is not Verdict.UNREADABLE:
        return UnreadablePages()
    if event.fetched_at < left_alone_until(before, settings):
        return before
    return UnreadablePages(before.pages + 1, event.at)
