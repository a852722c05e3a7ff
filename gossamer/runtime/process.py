"""The common parts of all processes of a fleet: settings, logs, health, retries, stopping.

While a server is unavailable, the process waits for it, logs this, and is not ready. When the
server is back, log and store are reopened and work continues from their contents, as after a crash,
which every service has to survive anyway.
"""

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from gossamer import clock
from gossamer.errors import (
    MAX_RETRY_WAIT,
    BadSettings,
    Fenced,
    GossamerError,
    Unavailable,
    retry_waits,
)
from gossamer.log.throttling import Hold, hold_nothing
from gossamer.runtime.backends import check_fleet, open_fleet
from gossamer.runtime.health import Health, ObservedLog
from gossamer.runtime.identity import identify
from gossamer.runtime.loop import Loop
from gossamer.runtime.processor import Processor
from gossamer.runtime.sequential import Sequential
from gossamer.settings import Settings, load_settings
from gossamer.store import Store
from gossamer.telemetry.logs import configure_logs

POLL_TIMEOUT = 0.5
"""Maximum seconds of one poll, after which the loop checks whether to stop."""

MIN_STEP_INTERVAL = 0.2
"""Minimum seconds between two steps of a busy service. Records of this time share one flush, append
and commit. A record for an idle service is handled at once."""

FENCE_INTERVAL = 60.0
"""Maximum seconds between two fences by another process. A restarting broker may fence a member
once. A process with the same name does it again, as soon as it has noticed that this one has
rejoined."""

logger = structlog.get_logger()


@dataclass(frozen=True)
class Process:
    """A process of a fleet that runs *service*."""

    service: str
    settings: Settings
    health: Health
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the process shall stop."""

    @property
    def member(self) -> str:
        """The process's name in consumer groups."""
        return f"{self.service}-{self.settings.service.instance}"


@dataclass(frozen=True)
class Backends:
    """The log and the store of the work, until a server becomes unavailable."""

    process: Process
    log: ObservedLog
    store: Store
    fleet: str
    """The id of the fleet of log and store."""

    @property
    def settings(self) -> Settings:
        """All settings."""
        return self.process.settings

    @property
    def stop(self) -> threading.Event:
        """Set when the work shall stop in good order."""
        return self.process.stop


Work = Callable[[Backends], None]
"""Works until `stop`. It raises Unavailable if a server becomes unavailable, and is then called
again."""


def run(service: str, work: Work) -> int:
    """Run a process with *work*. Return its exit status: 0, or 1 for a failure, or 2 for bad
    settings."""
    try:
        process = start_process(service)
    except GossamerError as error:
        print(f"gossamer: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadSettings) else 1

    def attempt() -> None:
        with open_fleet(process.settings, process.member) as (log, store):
            fleet = identify(log, store, clock.now())
            try:
                work(Backends(process, ObservedLog(log, process.health), store, fleet))
            finally:
                process.health.watch(dict)  # The closed servers cannot be queried.

    return retry(process, attempt)


def start_process(service: str) -> Process:
    """Load settings, configure logs, serve probes, and stop at SIGTERM or SIGINT."""
    settings = load_settings()
    check_fleet(settings)
    instance, logs = settings.service.instance, settings.logs
    # Programs read the logs of a fleet, so the default is JSON with more lines.
    as_json = logs.json_lines if "json_lines" in logs.model_fields_set else True
    level = logs.level if "level" in logs.model_fields_set else "info"
    configure_logs(as_json, level, service=service, instance=instance)
    health = Health(service, instance, settings.service.stuck_after)
    process = Process(service, settings, health)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop.set())
    port = process.health.listen(settings.service)
    logger.info("service started", address=settings.service.address, port=port)
    return process


def retry(process: Process, attempt: Callable[[], None]) -> int:
    """Repeat *attempt* while a server is unavailable. Return the exit status.

    The waits between attempts grow. Other failures are not retried, nor is a second fence.
    """
    growing, fenced_at = retry_waits(), float("-inf")
    try:
        while not process.stop.is_set():
            began = clock.steady()
            try:
                attempt()
                break
            except Unavailable as error:
                now = clock.steady()
                if isinstance(error, Fenced):
                    if now < fenced_at + FENCE_INTERVAL:
                        raise GossamerError(
                            f"another process is the member {process.member} of the group, and "
                            "has taken this one's place twice: stop one of them, or set "
                            "service.instance to another name"
                        ) from error
                    fenced_at = now
                lasted = now - began
                growing = retry_waits() if lasted > 2 * MAX_RETRY_WAIT else growing
                wait = next(growing)
                logger.warning(
                    "log or store unavailable: starting again", reason=str(error), seconds=wait
                )
                process.health.report_waiting(str(error))
                process.stop.wait(wait)
    except GossamerError as error:
        logger.error("service ends after a failure", reason=str(error))
        return 2 if isinstance(error, BadSettings) else 1
    except Exception:
        logger.exception("service ends after an internal error")
        return 1
    logger.info("service stopped")
    return 0


def run_processor(backends: Backends, processor: Processor, hold: Hold = hold_nothing) -> None:
    """Run *processor* along the log until the process shall stop. *hold* is that of `Loop`."""
    limit = backends.settings.service.step_limit
    log, store = backends.log, backends.store
    strategy = Sequential(processor, log, store, clock.now, clock.JumpDetector(), limit)
    loop = Loop(strategy, log, store, hold, backends.process.health.report_outdated)
    try:
        while not backends.stop.is_set():
            due = loop.due()
            moved = loop.step(
                POLL_TIMEOUT if due is None else min(POLL_TIMEOUT, max(0.0, due - clock.now()))
            )
            backends.process.health.note(processor.note())
            backends.process.health.report_limitation(processor.limitation())
            rest = loop.began + MIN_STEP_INTERVAL - clock.steady()
            # The poll of a processor without room does not wait.
            is_busy = strategy.is_full or strategy.restoring
            has_time = (moved and not is_busy) or not strategy.room()
            if has_time and rest > 0:
                backends.stop.wait(rest)
    finally:
        loop.close()
