"""How long a host or a URL is left alone: the sums; which one applies, `OUTCOMES` says."""

from gossamer.events import Outcome
from gossamer.events.outcomes import OUTCOMES, Wait
from gossamer.settings import FrontierSettings
from services.frontier.rows import RobotsRow

SHORT_WAIT = 60.0
"""What is worth a second look soon: a 429 without Retry-After, a name server that is silent."""
RETRY_WAIT = 600.0
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
    settings: FrontierSettings, outcome: Outcome, failures: int, retry_after: float
) -> float:
    """Return how long a host is left alone after its *failures*-th failure in a row (from 1):
    longer each time (PolyBot, section 3.4: "an even longer time if it is down on the second try").
    """
    doubled = 2.0 ** min(failures - 1, 30)
    short = min(SHORT_WAIT * doubled, settings.down_wait)
    match OUTCOMES[outcome].wait:
        case Wait.NONE:
            return 0.0
        case Wait.SHORT:
            return short
        case Wait.LONG:
            return min(settings.down_wait * doubled, settings.down_wait_limit)
        case Wait.DNS:
            return settings.dns_wait
        case Wait.ASKED:
            return min(retry_after, settings.retry_after_limit) if retry_after > 0 else short


def retry_wait(attempt: int) -> float:
    """Return how long a URL waits before it is tried for the *attempt*-th time again (from 1)."""
    return RETRY_WAIT * 4.0 ** (attempt - 1)
