"""The words that events are made of: what a visit is for, how it ended, what a page is."""

from enum import StrEnum


class Purpose(StrEnum):
    """What a visit is for. Everything that is fetched is a visit, paced like any other."""

    PAGE = "page"
    ROBOTS = "robots"


class Outcome(StrEnum):
    """How a visit ended: by what came back, or by why nothing did."""

    PAGE = "page"
    """2xx with a body that is kept."""
    REDIRECT = "redirect"
    """3xx; its target is a link."""
    BAD_REDIRECT = "bad_redirect"
    """3xx that leads nowhere."""
    GONE = "gone"
    """404 or 410."""
    CLIENT_ERROR = "client_error"
    """Any other 4xx."""
    SERVER_ERROR = "server_error"
    """5xx; tried again later."""
    BUSY = "busy"
    """429 or 503 with Retry-After: the host is left alone for that long."""
    DNS_FAILURE = "dns_failure"
    """The name does not exist, or has no address."""
    DNS_UNANSWERED = "dns_unanswered"
    """No name server says whether it does."""
    HOST_DOWN = "host_down"
    SILENT_SERVER = "silent_server"
    BROKEN = "broken"
    """The connection or the protocol broke after the request was sent."""
    PRIVATE_ADDRESS = "private_address"
    ROBOTS_EXCLUDED = "robots_excluded"
    UNWANTED_TYPE = "unwanted_type"
    UNVISITED = "unvisited"
    """The order ended before this URL's turn: it stays in its host's queue."""


class Verdict(StrEnum):
    """What the content test says of a page."""

    FIRST = "first"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    DUPLICATE = "duplicate"
