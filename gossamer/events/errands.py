"""The events about a robots.txt that lies at another host than the one that it is about."""

from gossamer.events.outcomes import Outcome
from gossamer.events.records import Event
from gossamer.web.robots import RobotsRules


class RobotsRequested(Event, frozen=True, kw_only=True, tag="robots_requested"):
    """The robots.txt of the host *on_behalf_of* redirects to *url*, at another host."""

    site: str
    url: str
    on_behalf_of: str
    hops: int
    """Redirects followed in a row to come there."""


class RobotsAnswered(Event, frozen=True, kw_only=True, tag="robots_answered"):
    """What the robots.txt of *host* says, which lies at *url*, at another host."""

    site: str
    host: str
    url: str
    outcome: Outcome
    reason: str = ""
    retry_after: float = 0.0
    robots: RobotsRules | None = None
    sitemaps: tuple[str, ...] = ()
