"""A visit that has ended, as the effects of its outcome see it."""

from dataclasses import dataclass

from gossamer.events import Purpose, VisitEnded
from gossamer.services.frontier.partition.partition import Partition
from gossamer.services.frontier.partition.share import CrawlShare
from gossamer.services.frontier.partition.workbench import Host
from gossamer.settings import FrontierSettings


@dataclass(slots=True)
class EndedVisit:
    """A visit of an order that has not ended, and where its outcome is applied at the time *now*.

    The effects of the outcome give the host a new row, one after another. The last two fields are
    what they decide beside the row.
    """

    partition: Partition
    share: CrawlShare
    host: Host
    event: VisitEnded
    settings: FrontierSettings
    now: float
    is_erased: bool
    """Whether the crawl was removed, or the URL was erased after the order."""
    is_lost: bool = False
    """Whether the store lacks the order, so that the URL may be anywhere in its queue."""
    is_tried_signed: bool = False
    """Whether the URL is visited once more, with a signature."""
    backoff_until: float | None = None
    """When the backoff of the host ends; None if it does not back off."""

    @property
    def was_requested(self) -> bool:
        """Whether the visit sent a request."""
        return self.event.started_at > 0

    @property
    def is_page(self) -> bool:
        """Whether the visit was to a page, and sent a request."""
        return self.was_requested and self.event.visit.purpose is Purpose.PAGE
