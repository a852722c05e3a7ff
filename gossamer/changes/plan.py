"""A change before it is made: its events, its effect, and the settings that it replaces."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import msgspec
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from gossamer.events import FLEET, ChangedSetting, Event
from gossamer.expiries import expiries_of
from gossamer.log import Log, Message
from gossamer.log.codec import key_of

MAX_LISTED_BYTES = 600_000
"""Bytes of JSON that the settings of an audit record may have."""

Action = Literal[
    "apply", "block", "discard", "expire", "fetch", "forget", "host", "pause", "refetch", "release",
    "remove", "replay", "resume", "retry", "seed", "site", "speed", "unblock",
]  # fmt: skip
"""The kinds of changes."""
Item = Event | Message
"""A part of a change. A message is a record that is appended again, or a tombstone."""


class ChangeRequest(Struct, frozen=True, kw_only=True):
    """The person or program that requests a change, the means, and the reason."""

    actor: str
    """A person or a token, as in `ChangeRecorded`."""
    source: str = "command line"
    role: str = ""
    address: str = ""
    reason: str = ""
    expires_at: float | None = None
    """Epoch seconds at which the earlier settings return. None means never."""


class Effect(Struct, frozen=True, kw_only=True):
    """The effect of a change, for people."""

    text: str
    """One sentence, or a few."""
    lines: tuple[str, ...] = ()
    """The effect on each subject."""
    refused: tuple[str, ...] = ()
    """The subjects that do not change, each with the reason."""
    estimate: tuple[str, ...] = ()
    """Hosts and URLs that the change concerns, as a dry run found them in the store."""
    count: int | None = None
    """Number of changed rules, URLs or other subjects. None means that it was not counted yet."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A change that can be committed."""

    action: Action
    subject: str = ""
    """The changed rule, site, host, URL or crawl. "" means that the change concerns everything."""
    crawl: str = FLEET
    """The id of the changed crawl, or `-` if all crawls are concerned."""
    settings: tuple[tuple[Event | None, Event], ...] = ()
    """The settings that change: the event that restores each one, and the new event. None means
    that there was no such setting, which cannot be restored by an event."""
    requests: Iterable[Item] = ()
    """The events to append after the settings. They may be read from the store while they are
    appended, so they can be iterated once."""
    effect: Effect
    estimate: Callable[[], Iterable[str]] = tuple
    """Reads what the change concerns, for a dry run."""

    @property
    def items(self) -> Iterator[Item]:
        """All events to append, in order."""
        return chain((after for _, after in self.settings), self.requests)


def setting_plan(
    log: Log,
    action: Action,
    subject: str,
    before: Iterable[Event],
    after: Iterable[Event],
    effect: Effect,
    estimate: Callable[[], Iterable[str]] = tuple,
) -> Plan:
    """Return the plan that replaces the settings *before* by *after*, pairs with equal keys.

    A setting that is the same before and after is not in the plan, unless it would expire.
    """
    expiring = expiries_of(log)
    pairs = tuple(
        (old, new)
        for old, new in zip(before, after, strict=True)
        if replace(old, at=new.at) != new or key_of(new) in expiring
    )
    crawl = pairs[0][1].crawl if pairs else FLEET
    return Plan(
        action=action,
        subject=subject,
        crawl=crawl,
        settings=pairs,
        effect=effect,
        estimate=estimate if pairs else tuple,
    )


def units_in(item: Item) -> int:
    """Return the number of subjects of *item*: its URLs, if it lists any, or one."""
    return len(getattr(item, "urls", ())) or 1


def list_settings(plan: Plan) -> Iterator[ChangedSetting]:
    """Yield the settings that *plan* replaces, at most MAX_LISTED_BYTES of them."""
    size = 0
    for before, after in plan.settings:
        earlier = to_builtins(before) if before else None
        found = ChangedSetting(key_of(after), earlier, to_builtins(after))
        size += len(msgspec.json.encode(found))
        if size > MAX_LISTED_BYTES:
            return
        yield found
