"""How long a host or a URL is left alone: the sums; which one applies, `OUTCOMES` says."""

from gossamer.events import Outcome
from gossamer.events.outcomes import OUTCOMES, Wait
from gossamer.log import murmur2
from gossamer.settings import FrontierSettings
from services.frontier.rows import RobotsRow

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
    return OUTCOMES[outcome].wait is Wait.ASKED and retry_after > 0


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
        case Wait.SHORT | Wait.ASKED:
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
