"""Carries out planned changes, each with one record on the topic `audit`, or reports them."""

import secrets
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from gossamer.changes.plan import ChangeRequest, Effect, Item, Plan, list_settings, units_in
from gossamer.crawl import create_own_topic
from gossamer.events import BlocklistChanged, ChangeExpires, ChangeRecorded, CrawlDefined
from gossamer.events.topics import CONTROL, TOPIC_OF
from gossamer.expiries import expiries_of
from gossamer.log import Log, Message
from gossamer.log.codec import encode, key_of

MAX_BATCH_MESSAGES, MAX_BATCH_BYTES = 1000, 8 << 20
"""Records that are appended at once, and the bytes of their values."""


class Committed(Struct, frozen=True, kw_only=True):
    """A change that was carried out."""

    id: str | None
    """The id of its record on `audit`. None means that there was nothing to change."""
    effect: Effect
    """The effect, with the number of changed subjects."""


def preview(plan: Plan) -> Effect:
    """Return the effect of *plan*, counted, without carrying it out: a dry run."""
    effect = _set_count(plan.effect, sum(map(units_in, plan.items)))
    return replace(effect, estimate=tuple(plan.estimate()))


def commit(log: Log, plan: Plan, request: ChangeRequest, now: float) -> Committed:
    """Record *plan* on `audit`, and append its events.

    A plan without events changes nothing, and is not recorded. If the log fails, the caller may
    plan and commit again: changes are idempotent.
    """
    items = (_sign(item, request) for item in plan.items)
    first = next(items, None)
    if first is None:
        return Committed(id=None, effect=replace(plan.effect, count=0))
    change = record_change(log, plan, request, now)
    count = 0
    # A setting without its expiry would stay for ever after a crash, so expiries come first.
    for expiries in _batches(_expiries(log, plan, request, change)):
        log.append(map(_message, expiries))
    for batch in _batches(chain((first,), items)):
        for item in batch:
            if isinstance(item, CrawlDefined):
                create_own_topic(log, item)
        log.append(map(_message, batch))
        count += sum(map(units_in, batch))
    return Committed(id=change, effect=_set_count(plan.effect, count))


def _sign(item: Item, request: ChangeRequest) -> Item:
    """Return *item* with the actor and the reason, if it is a rule of the blocklist: the list shows
    them, and does not search all changes."""
    if isinstance(item, BlocklistChanged):
        return replace(item, actor=request.actor, reason=request.reason)
    return item


def _expiries(log: Log, plan: Plan, request: ChangeRequest, change: str) -> Iterator[ChangeExpires]:
    """Yield the expiries of the settings of *plan*, if it expires.

    If a setting that is replaced would have expired itself, the setting before it will return.
    """
    if request.expires_at is None:
        return
    pending = expiries_of(log)
    for before, after in plan.settings:
        if before is None:
            continue
        key = key_of(after)
        yield ChangeExpires(
            at=after.at,
            setting=key,
            set_at=after.at,
            expires_at=request.expires_at,
            before=pending[key].before if key in pending else to_builtins(before),
            after=to_builtins(after),
            actor=request.actor,
            change=change,
        )


def record_change(log: Log, plan: Plan, request: ChangeRequest, now: float) -> str:
    """Append the audit record of *plan*, whose events the caller appends. Return its id."""
    recorded = ChangeRecorded(
        crawl=plan.crawl,
        at=now,
        id=new_id(now),
        actor=request.actor,
        source=request.source,
        role=request.role,
        address=request.address,
        action=plan.action,
        subject=plan.subject,
        reason=request.reason,
        expires_at=request.expires_at,
        effect=plan.effect.text,
        settings=tuple(list_settings(plan)),
    )
    log.append([encode(recorded)])
    return recorded.id


def _set_count(effect: Effect, count: int) -> Effect:
    return effect if effect.count is not None else replace(effect, count=count)


def new_id(now: float) -> str:
    """Return a new id of a change at *now*: its milliseconds and 32 random bits, which sort by
    time."""
    return f"{round(now * 1000):012x}-{secrets.token_hex(4)}"


def _message(item: Item) -> Message:
    return item if isinstance(item, Message) else encode(item)


def _batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield *items* in parts. Records of `control` and other records are never in one part.

    The log may store the records of one call in any order, and a crash may lose some of them. So a
    definition would come after seeds of its crawl, or the list of applied seeds without the seeds.
    """
    for _, alike in groupby(items, _is_control):
        yield from _parts(alike)


def _is_control(item: Item) -> bool:
    if isinstance(item, Message):
        return item.topic == CONTROL.name
    return TOPIC_OF[type(item)] is CONTROL


def _parts(items: Iterable[Item]) -> Iterator[list[Item]]:
    batch = list[Item]()
    size = 0
    for item in items:
        batch.append(item)
        size += len(item.value) if isinstance(item, Message) else 100 * units_in(item)
        if len(batch) >= MAX_BATCH_MESSAGES or size >= MAX_BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
