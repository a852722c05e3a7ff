"""Turns records into a processor's results: messages to append, or dead letters.

Every log line about an event contains the *traces* of the event's URLs. The trace of a URL is its
fingerprint: one id that identifies it in the events and logs of all services, and that can be
computed from the URL.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import structlog

from gossamer.clock import Clock
from gossamer.errors import GossamerError, Poison
from gossamer.events import Event, HostCheckedOut, UrlsAdmitted, UrlsDiscovered
from gossamer.log import Message, Record
from gossamer.log.codec import Decoded, dead_letter, encode
from gossamer.runtime.processor import Key, Processor
from gossamer.store import Partition, Row, Sort, Store
from gossamer.telemetry import count
from gossamer.telemetry.logs import LogFields, is_debug

logger = structlog.get_logger()


def events_of(decoded: Iterable[Decoded]) -> list[Event]:
    """Return the events of the records that could be decoded."""
    return [event for _, event in decoded if not isinstance(event, GossamerError)]


def reads_of(processor: Processor, events: Sequence[Event]) -> Iterator[list[Key]]:
    """Yield the groups of rows that *processor* needs for *events*.

    If `reads_of` fails, no more groups follow, and handlers read the missing rows one by one. If an
    event caused the failure, its handler fails, too, and reports it.
    """
    try:
        for group in processor.reads_of(events):
            yield [*group]
    except GossamerError:
        raise
    except Exception:
        logger.warning("read-ahead failed: handlers read the missing rows", exc_info=True)


def read_ahead(store: Store, groups: Iterable[Iterable[Key]]) -> None:
    """Read each of *groups* of rows from *store*, before the next group is requested."""
    for group in groups:
        keys: dict[type[Row], list[tuple[Partition, Sort]]] = {}
        for row, partition, sort in group:
            keys.setdefault(row, []).append((partition, sort))
        for row, some in keys.items():
            store.table(row).read_ahead(some)


def handle_records(
    processor: Processor, decoded: Sequence[Decoded], clock: Clock, restart: Callable[[], None]
) -> list[list[Message]]:
    """Return the messages of *processor* for each record of *decoded*.

    A handler that fails halfway may have changed rows and memory. *restart* then undoes everything
    since the last advance. The record that failed becomes a dead letter, and the other records are
    handled again.
    """
    letters: dict[Record, list[Message]] = {}
    while True:
        outputs: list[list[Message]] = []
        half_way: list[Record] = []
        for one in decoded:
            undo = partial(half_way.append, one.record)
            found = letters.get(one.record) or handle_record(processor, one, clock(), undo)
            if half_way:
                letters[one.record] = found
                restart()
                break
            outputs.append(found)
        else:
            return outputs


def handle_record(
    processor: Processor, decoded: Decoded, now: float, undo: Callable[[], None] = lambda: None
) -> list[Message]:
    """Return the messages of *processor* for one record, or a dead letter if it cannot be handled.

    *undo* is called if the handler failed halfway. Raise GossamerError for a failure that the
    record has not caused.
    """
    record, event = decoded
    try:
        if isinstance(event, GossamerError):
            raise event
        processor.locate(record)
        with handling(event):
            outputs = [*processor.handle(event, now)]
    except Exception as error:
        if isinstance(error, GossamerError) and not isinstance(error, Poison):
            raise
        if not isinstance(error, Poison):
            undo()
        return [encode(dead_letter_for(record, processor.name, error, now))]
    try:
        # All outputs are encoded before the first is appended, so that either all are or none.
        return [processor.route(encode(one)) for one in outputs]
    except Poison as error:
        undo()
        return [encode(dead_letter_for(record, processor.name, error, now))]


def dead_letter_for(record: Record, service: str, error: Exception, now: float) -> Event:
    """Return, count and log the dead letter of a *record* that could not be handled."""
    reason = str(error) if isinstance(error, Poison) else f"{type(error).__name__}: {error}"
    count("gossamer_dead_letters_total", service=service)
    logger.warning(
        "record became a dead letter",
        service=service,
        topic=record.topic,
        offset=record.offset,
        reason=reason,
        exc_info=None if isinstance(error, Poison) else error,
    )
    return dead_letter(record, service, reason, now)


def traces(event: Event) -> list[str]:
    """Return the traces of all URLs of *event*."""
    match event:
        case UrlsDiscovered() | UrlsAdmitted():
            found = [url.trace for url in event.urls]
        case HostCheckedOut():
            found = [visit.trace for visit in event.visits]
        case _:
            subject = getattr(event, "visit", event)
            found = [getattr(subject, "trace", "")]
    return [trace for trace in found if trace]


def handling(event: Event) -> LogFields:
    """Log at debug level that *event* is handled; return a context that adds its traces to all log
    lines in its block."""
    fields = LogFields(partial(_trace_fields, event))
    if is_debug() and traces(event):
        with fields:
            logger.debug("handling an event", event_type=event.__struct_config__.tag)
    return fields


def _trace_fields(event: Event) -> dict[str, object]:
    found = traces(event)
    if len(found) == 1:
        return {"trace": found[0]}
    return {"traces": found} if found else {}
