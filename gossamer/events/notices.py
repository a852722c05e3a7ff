"""The events on the topic `notifications`: notices to operators, and their deliveries.

The topic is also the memory of the notifier: after a restart it knows from there which conditions
it has reported, and which deliveries are left.
"""

from gossamer.events.records import Event, Instant


class NoticeRaised(Event, frozen=True, kw_only=True, tag="notice_raised"):
    """Something that operators should know begins, continues or ends. Its `crawl` is `-` if all
    crawls are concerned."""

    id: str
    """The id of the notice. Repeated deliveries have the same id."""
    rule: str
    """The rule that raised the notice, `report` for a report, or `test`."""
    number: int
    """The number of the notice among those of its rule and crawl, from 1. Of two notices with one
    number only the first counts."""
    text: str
    """The notice in one sentence."""
    subjects: tuple[str, ...] = ()
    """The concerned hosts, or the first and the last day of a report. Long lists are cut."""
    value: float = 0.0
    """The measured value."""
    baseline: float = 0.0
    """The value that the next measurements are compared with."""
    is_over: bool = False
    """Whether the condition has ended."""
    begun_at: Instant
    """Epoch seconds of the notice with which the condition began."""
    channels: tuple[str, ...] = ()
    """The channels to which the notice is sent. Every notice is on the topic."""


class NoticeSent(Event, frozen=True, kw_only=True, tag="notice_sent"):
    """A notice was delivered to a channel, or the delivery was given up."""

    id: str
    """The id of the notice."""
    channel: str
    error: str = ""
    """Why the delivery was given up. "" means that the channel has accepted the notice."""
