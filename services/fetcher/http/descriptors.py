"""How many files this process may have open: enough for all the hosts that it visits at once."""

import resource

from gossamer.errors import BadSettings
from gossamer.settings import FetcherSettings

OTHERS = 256
"""For log, store, health, and what libraries keep open."""


def needed(settings: FetcherSettings) -> int:
    """Return how many descriptors the fetcher may come to need."""
    # A request has one connection; while it is made, two may be tried. Beside them each host may
    # have one that is kept. A lookup is two sockets.
    connections = 2 * settings.concurrency + settings.orders_limit
    return connections + 2 * settings.lookups_limit + OTHERS


def allow_descriptors(settings: FetcherSettings) -> None:
    """Raise this process's limit to what is needed; BadSettings if that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed(settings)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise BadSettings(
            f"fetcher.concurrency: {settings.concurrency} requests at once, and "
            f"fetcher.orders_limit: {settings.orders_limit} hosts, need {wanted} file descriptors, "
            f"and this process may have {hard}: lower them, or raise the limit (ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
