"""What every process of a fleet does around its work: settings, logs, health, waiting, an end.

Servers come and go. While one is absent the process waits for it, says so and is not ready; when
it is back, everything is opened anew and the work begins where log and store say that it stands.
That is the same as after a crash, which every service has to survive anyway.
"""

import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from gossamer import clock
from gossamer.config import Settings, load_settings
from gossamer.errors import Absent, BadSettings, GossamerError
from gossamer.fleet import check_fleet, open_fleet
from gossamer.health import Health
from gossamer.observed import ObservedLog
from gossamer.runtime import Runner
from gossamer.service import Service
from gossamer.store import Store
from gossamer.telemetry import configure_logs

FIRST_WAIT, LONGEST_WAIT = 0.25, 5.0
"""Seconds between two tries to reach a server: twice as long each time."""
TURN = 0.5
"""The most seconds that a loop of machines waits for records, so that it hears of its end."""

logger = structlog.get_logger()


@dataclass(frozen=True)
class Process:
    """One process of a fleet: *service* is what it runs."""

    service: str
    settings: Settings
    health: Health
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when somebody has asked it to end."""

    @property
    def member(self) -> str:
        """Its name in groups."""
        return f"{self.service}-{self.settings.service.instance}"


@dataclass(frozen=True)
class Place:
    """What work stands on until a server is lost."""

    process: Process
    log: ObservedLog
    store: Store

    @property
    def settings(self) -> Settings:
        """All settings."""
        return self.process.settings

    @property
    def stop(self) -> threading.Event:
        """Set when the work is to end in good order."""
        return self.process.stop


Work = Callable[[Place], None]
"""Works until `stop`; Absent says that a server was lost."""


def run(service: str, work: Work) -> int:
    """Be a process that does *work*; return its exit status, as those of `gossamer` are."""
    try:
        process = begin(service)
    except GossamerError as error:
        print(f"gossamer: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadSettings) else 1

    def attempt() -> None:
        with open_fleet(process.settings, process.member) as (log, store):
            try:
                work(Place(process, ObservedLog(log, process.health), store))
            finally:
                process.health.watch(dict)  # Nobody asks what is closed.

    return patiently(process, attempt)


def begin(service: str) -> Process:
    """Read settings, begin to log and to answer probes, and listen for the word to stop."""
    settings = load_settings()
    check_fleet(settings)
    instance, logs = settings.service.instance, settings.logs
    # Nobody sits before a fleet: programs read what it says, and it may say more.
    as_json = logs.json_lines if "json_lines" in logs.model_fields_set else True
    level = logs.level if "level" in logs.model_fields_set else "info"
    configure_logs(as_json, level, service=service, instance=instance)
    process = Process(service, settings, Health(service, instance))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: process.stop.set())
    port = process.health.listen(settings.service)
    logger.info("started", address=settings.service.address, port=port)
    return process


def patiently(process: Process, attempt: Callable[[], None]) -> int:
    """Make one *attempt* after another until one ends by itself; return the exit status.

    One that ends because a server is absent is made again; the waits grow from try to try.
    """
    wait = FIRST_WAIT
    try:
        while not process.stop.is_set():
            began = clock.steady()
            try:
                attempt()
                break
            except Absent as error:
                lasted = clock.steady() - began
                wait = FIRST_WAIT if lasted > 2 * LONGEST_WAIT else min(2 * wait, LONGEST_WAIT)
                logger.warning("waiting", why=str(error), seconds=wait)
                process.health.waiting(str(error))
                process.stop.wait(wait)
    except GossamerError as error:
        logger.error("cannot go on", why=str(error))
        return 2 if isinstance(error, BadSettings) else 1
    except Exception:
        logger.exception("unexpected")
        return 1
    logger.info("stopped")
    return 0


def run_machine(place: Place, service: Service) -> None:
    """Carry *service* along the log until it is to stop."""
    runner = Runner(service, place.log, place.store, clock.now)
    try:
        while not place.stop.is_set():
            due = runner.due()
            runner.step(TURN if due is None else min(TURN, max(0.0, due - clock.now())))
    finally:
        runner.close()
