"""The event on the topic `audit`: who changed what, when, why and until when.

The topic is not compacted, so it has every change of an operator, and `control` has the settings
that result.
"""

from typing import Any

from msgspec import Struct

from gossamer.events.records import Event


class ChangedSetting(Struct, frozen=True, gc=False):
    """A setting that was replaced, as events of `control`."""

    key: str
    """The key on `control`, such as `blocklist_changed/www.example.org`."""
    before: dict[str, Any] | None
    """The event that restores the earlier setting. None means that there was none."""
    after: dict[str, Any]
    """The event with the new setting."""


class ChangeRecorded(Event, frozen=True, kw_only=True, tag="change_recorded"):
    """An operator changed a setting, or requested something. The event is appended before the
    records of the change. Its `crawl` is the changed crawl, or `-` if all crawls are concerned."""

    id: str
    """The id of the change. Ids sort by time."""
    actor: str
    """The person or the token that made the change: `ann@laptop` or `token:ops`."""
    source: str
    """The means of the change: `command line`, `api`, `console`, `mcp`, or `expiry` if an earlier
    change has expired."""
    role: str = ""
    """The actor's role in the HTTP API. "" means that the actor used no API."""
    address: str = ""
    """The IP address of the actor's client. "" means that the actor used no API."""
    action: str
    """The kind of the change, such as `block`, `speed` or `retry`."""
    subject: str = ""
    """The changed rule, site, host, URL or crawl. "" means that the change concerns everything."""
    reason: str = ""
    """The reason that the actor gave."""
    expires_at: float | None = None
    """Epoch seconds at which the earlier settings return. None means never."""
    effect: str = ""
    """The effect of the change in one sentence, as a dry run reports it."""
    settings: tuple[ChangedSetting, ...] = ()
    """The settings that the change replaces. Large changes list a part, requests none."""
