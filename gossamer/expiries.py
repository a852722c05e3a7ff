"""Changes of settings that expire by themselves, such as a block for one day.

Each pending expiry is an event `change_expires` on `control`, appended before its setting. One
process, the owner of partition 0, restores the earlier settings when their time has come. An expiry
is void once the setting was changed again: its time differs.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from gossamer.errors import Newer, Poison
from gossamer.events import ChangedSetting, ChangeExpires, ChangeRecorded, Event
from gossamer.events.topics import CONTROL
from gossamer.log import Log, Record
from gossamer.log.codec import decode, key_of
from gossamer.log.control import newest_events

OWNER_PARTITION = 0
"""The partition whose owner restores settings."""


class Expiries:
    """The pending expiries, in any order of events."""

    def __init__(self) -> None:
        self._pending: dict[str, ChangeExpires] = {}
        self._newest: dict[str, float] = {}
        """The time of the newest event of each key of `control`."""
        self._due: float | None = None
        self._is_due_known = True

    def apply(self, event: Event) -> None:
        """Note *event*, of `control`."""
        self._is_due_known = False
        if not isinstance(event, ChangeExpires):
            self._newest[key_of(event)] = event.at
        elif event.expires_at is None:
            self._pending.pop(event.setting, None)
        else:
            self._pending[event.setting] = event

    def due(self) -> float | None:
        """Return when the next expiry is due; None without any."""
        if not self._is_due_known:
            self._due, self._is_due_known = self._find_due(), True
        return self._due

    def active(self) -> dict[str, ChangeExpires]:
        """Return the pending expiries by the key of their setting on `control`."""
        return {setting: one for setting, one in self._pending.items() if self._is_active(one)}

    def _find_due(self) -> float | None:
        ends = (
            0.0 if self._is_void(one) else one.expires_at
            for one in self._pending.values()
            if self._is_void(one) or self._is_active(one)
        )
        return min((end for end in ends if end is not None), default=None)

    def pop_due(self, now: float) -> Iterator[Event]:
        """Yield the events that restore the settings whose time has come, and end their expiries.

        If they are appended twice, the second time changes nothing.
        """
        if (due := self.due()) is None or due > now:
            return
        self._is_due_known = False
        for one in [*self._pending.values()]:
            is_due = self._is_active(one) and (one.expires_at or 0.0) <= now
            if not is_due and not self._is_void(one):
                continue
            del self._pending[one.setting]
            if is_due:
                yield from _restore(one, now)
            yield replace(one, at=now, expires_at=None)

    def _is_active(self, one: ChangeExpires) -> bool:
        """Return whether the setting of *one* is the newest."""
        return self._newest.get(one.setting) == one.set_at

    def _is_void(self, one: ChangeExpires) -> bool:
        return self._newest.get(one.setting, one.set_at) > one.set_at


def _restore(one: ChangeExpires, now: float) -> Iterator[Event]:
    restored = {**one.before, "at": now}
    record = Record(CONTROL.name, 0, 0, one.setting, msgspec.json.encode(restored))
    try:
        setting = decode(record)
    except (Poison, Newer):
        return  # Only a broken program writes a setting that cannot be decoded.
    yield ChangeRecorded(
        crawl=setting.crawl,
        at=now,
        id=f"{round(now * 1000):012x}-{one.change[-8:]}",
        actor=one.actor,
        source="expiry",
        action="expire",
        subject=one.setting.partition("/")[2],
        reason=f"the change {one.change} has expired",
        effect="The earlier setting holds again.",
        settings=(ChangedSetting(one.setting, one.after, restored),),
    )
    yield setting


def expiries_of(log: Log) -> dict[str, ChangeExpires]:
    """Return the pending expiries by the key of their setting on `control`."""
    found = Expiries()
    for event in newest_events(log).values():
        found.apply(event)
    return found.active()
