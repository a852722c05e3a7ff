"""How many files this process may have open: enough for all the hosts that it visits at once."""

import resource

from gossamer.errors import BadSettings
from gossamer.settings import FetcherSettings

OTHERS = 256
"""For log, store, health, and what libraries keep open."""


def needed(settings: FetcherSettings) -> int:
    """Return how many descriptors the fetcher may come to need."""
    # A host has one connection; while it is made, two may be tried. As many are kept beside those
    # in use. A lookup is two sockets.
    return 3 * settings.concurrency + 2 * settings.lookups_limit + OTHERS


def allow_descriptors(settings: FetcherSettings) -> None:
    """Raise this process's limit to what is needed; BadSettings if that is not allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = needed(settings)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return
    if hard != resource.RLIM_INFINITY and hard < wanted:
        raise BadSettings(
            f"fetcher.concurrency: {settings.concurrency} hosts at once need {wanted} file "
            f"descriptors, and this process may have {hard}: lower it, or raise the limit "
            "(ulimit -Hn)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
