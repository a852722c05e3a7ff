"""How long a host is left alone, and what becomes of a URL: the policy, as tables and formulas."""

from enum import Enum

from gossamer.config import FrontierSettings
from gossamer.events import Outcome

SHORT_WAIT = 60.0
"""What is worth a second look soon: a 429 without Retry-After, a name server that is silent."""
RETRY_WAIT = 600.0


class Fate(Enum):
    """What an outcome means for the URL and its host."""

    DONE = "done"
    """The URL has its answer."""
    AGAIN = "again"
    """The URL is tried again later; its host is well."""
    WAIT = "wait"
    """The host is in trouble: it is left alone, and the URL stays first in its queue."""
    STAY = "stay"
    """Nothing happened to the URL."""


FATES = {
    Outcome.PAGE: Fate.DONE,
    Outcome.REDIRECT: Fate.DONE,
    Outcome.BAD_REDIRECT: Fate.DONE,
    Outcome.GONE: Fate.DONE,
    Outcome.CLIENT_ERROR: Fate.DONE,
    Outcome.ROBOTS_EXCLUDED: Fate.DONE,
    Outcome.UNWANTED_TYPE: Fate.DONE,
    Outcome.PRIVATE_ADDRESS: Fate.DONE,
    Outcome.SERVER_ERROR: Fate.AGAIN,
    Outcome.BROKEN: Fate.AGAIN,
    Outcome.SILENT_SERVER: Fate.AGAIN,
    Outcome.DNS_FAILURE: Fate.WAIT,
    Outcome.DNS_UNANSWERED: Fate.WAIT,
    Outcome.HOST_DOWN: Fate.WAIT,
    Outcome.BUSY: Fate.WAIT,
    Outcome.UNVISITED: Fate.STAY,
}

TROUBLE = {
    Outcome.DNS_FAILURE,
    Outcome.DNS_UNANSWERED,
    Outcome.HOST_DOWN,
    Outcome.SILENT_SERVER,
    Outcome.BROKEN,
    Outcome.BUSY,
}
"""What counts as a failure of the host; any other answer shows that it is well."""


def courtesy_delay(settings: FrontierSettings, last_took: float, crawl_delay: float) -> float:
    """Return the seconds between visits to a host: the floor, a multiple of the last visit's time
    (Mercator; PolyBot, section 3.4, note 12), or the Crawl-delay however long."""
    return max(settings.delay, settings.delay_factor * last_took, crawl_delay)


def trouble_wait(
    settings: FrontierSettings, outcome: Outcome, failures: int, retry_after: float
) -> float:
    """Return how long a host is left alone after its *failures*-th failure in a row (from 1):
    longer each time (PolyBot, section 3.4: "an even longer time if it is down on the second try").
    """
    doubled = 2.0 ** min(failures - 1, 30)
    match outcome:
        case Outcome.DNS_FAILURE:
            return settings.dns_wait
        case Outcome.BUSY if retry_after > 0:
            return min(retry_after, settings.retry_after_limit)
        case Outcome.BUSY | Outcome.DNS_UNANSWERED:
            return min(SHORT_WAIT * doubled, settings.down_wait)
    return min(settings.down_wait * doubled, settings.down_wait_limit)


def retry_wait(attempt: int) -> float:
    """Return how long a URL waits before it is tried for the *attempt*-th time again (from 1)."""
    return RETRY_WAIT * 4.0 ** (attempt - 1)
