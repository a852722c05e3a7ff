"""The health of a process: liveness, readiness and metrics over HTTP, observed from its log.

`/healthz` is 200 while the service's loop runs. An orchestrator restarts a stuck process. `/readyz`
is 200 while the process works, and 503 with the reason while it does not. The response of a working
process contains a note if an operator should act. `/metrics` is for Prometheus. Separate threads
serve all three, so that a stuck loop does not delay the response.

Every service's loop polls a reader in each step. `ObservedLog` therefore reports heartbeats,
partitions and lag, and loops need not report them.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from typing import TYPE_CHECKING

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gossamer import clock
from gossamer.errors import GossamerError, Unavailable
from gossamer.log import (
    MAX_POLL_RECORDS,
    NO_PARTITIONS,
    At,
    Ends,
    GroupOffsets,
    LagByGroup,
    Log,
    Message,
    Reader,
    Record,
    Tail,
)
from gossamer.settings.servers import ServiceSettings
from gossamer.store import Store
from gossamer.store.claims import ClaimRow
from gossamer.telemetry import set_gauge, set_gauges, show_counters

if TYPE_CHECKING:
    from gossamer.volumes import Volume

LAG_CACHE_SECONDS = 2.0
"""Seconds for which a lag query's result is reused."""
LAG_TIMEOUT = 2.0
"""Maximum seconds that a probe or a scrape waits for a lag query."""
MAX_SILENCE = 10.0
"""Seconds without a result of a lag query after which the servers count as unavailable."""

logger = structlog.get_logger()

LagQuery = Callable[[], Mapping[str, int]]
"""Queries the servers for the lag of each topic. It may fail or take long."""


class Health:
    """The health of one process. Its loop reports it, and any thread may read it.

    The process is stuck if its loop has not reported for *stuck_after* seconds.
    """

    def __init__(self, service: str, instance: str, stuck_after: float = 60.0) -> None:
        set_gauge(
            "gossamer_build_info",
            1,
            version=version("gossamer"),
            service=service,
            instance=instance,
        )
        self._beat_at, self._stuck_after = clock.steady(), stuck_after
        self._not_ready_reason, self._limitation, self._note = "starting", "", ""
        self._outdated = ""
        self._servers = _LagCache(lambda: {})

    def beat(self) -> None:
        """Report that the loop runs."""
        self._beat_at = clock.steady()

    def report_ready(self) -> None:
        """Report that the process works."""
        self.beat()
        if self._not_ready_reason:
            logger.info("service ready")
        self._not_ready_reason = ""

    def report_waiting(self, reason: str) -> None:
        """Report why the process cannot work now. This is not a reason to restart it."""
        self.beat()
        self._not_ready_reason = reason

    def report_limitation(self, reason: str) -> None:
        """Report a limitation of the process although its loop runs, or "" for none."""
        self._limitation = reason

    def report_outdated(self, reason: str) -> None:
        """Report why the process needs an upgrade to do all of its work, or "" if it does not."""
        self._outdated = reason

    def note(self, what: str) -> None:
        """Report a note about the working process, or "" for none.

        It is logged unless only its figures differ, which follow a colon.
        """
        if what and what.partition(":")[0] != self._note.partition(":")[0]:
            logger.warning("service works, with a note", note=what)
        self._note = what

    def watch(self, ask: LagQuery) -> None:
        """Query the lag by *ask* from now on. If *ask* fails, the servers count as unavailable."""
        self._servers = _LagCache(ask)

    @property
    def is_alive(self) -> bool:
        """Whether the loop runs."""
        return clock.steady() - self._beat_at < self._stuck_after

    def why_not_ready(self) -> str:
        """Return why the process is not ready, or "".

        The servers are queried, too, because an idle loop may not notice an outage.
        """
        if not self.is_alive:
            return f"the loop has not completed a step for {self._stuck_after:.0f} s"
        if not self._not_ready_reason:
            self._servers.read()
        return self._not_ready_reason or self._outdated or self._limitation or self._servers.problem

    def when_ready(self) -> str:
        """Return the text of a ready process."""
        return f"ready; {self._note}" if self._note else "ready"

    def metrics(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        set_gauge("gossamer_ready", not self.why_not_ready())
        set_gauges("gossamer_consumer_lag", self._servers.read())
        return generate_latest()

    def listen(self, settings: ServiceSettings) -> int:
        """Serve HTTP until the process ends, and return the port. Raise GossamerError if it is in
        use."""
        show_counters()
        try:
            server = _Server((settings.address, settings.port), self)
        except OSError as error:
            raise GossamerError(
                f"health and metrics cannot be served on {settings.address}:{settings.port} "
                f"({error.strerror}): set another service.port"
            ) from error
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return server.server_port


class _LagCache:
    """The last result of the lag query. Only one query runs at a time, and a reader waits at most
    LAG_TIMEOUT for it."""

    def __init__(self, ask: LagQuery) -> None:
        self._ask, self._known = ask, dict[str, int]()
        self._failure = ""
        self._answered_at = float("-inf")
        self._asked_at = clock.steady()
        self._asking: threading.Thread | None = None
        self._lock = threading.Lock()

    def read(self) -> Mapping[str, int]:
        """Return the lag by topic, or nothing if the servers do not report it."""
        with self._lock:
            if not self._asking or not self._asking.is_alive():
                if clock.steady() - self._answered_at < LAG_CACHE_SECONDS:
                    return self._known
                self._asked_at = clock.steady()
                self._asking = threading.Thread(target=self._learn, name="asking", daemon=True)
                self._asking.start()
            asking = self._asking
        asking.join(LAG_TIMEOUT)
        return {} if asking.is_alive() else self._known

    @property
    def problem(self) -> str:
        """The failure of the servers, or ""."""
        silent = clock.steady() - self._asked_at
        if self._asking and self._asking.is_alive() and silent > MAX_SILENCE:
            return f"the servers have not answered for {silent:.0f} s"
        return self._failure

    def _learn(self) -> None:
        try:
            self._known, self._failure = dict(self._ask()), ""
        except Exception as error:
            # Not raised, because the service itself fails in this way as soon as it has work.
            self._known, self._failure = {}, str(error) or repr(error)
        self._answered_at = clock.steady()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], health: Health) -> None:
        self.health = health
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that disconnects before the response."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0
    server: _Server

    def do_GET(self) -> None:
        """Serve a path, without authentication."""
        health = self.server.health
        match self.path.partition("?")[0]:
            case "/healthz":
                self._report("" if health.is_alive else health.why_not_ready(), "ok")
            case "/readyz":
                self._report(health.why_not_ready(), health.when_ready())
            case "/metrics":
                self._send(200, CONTENT_TYPE_LATEST, health.metrics())
            case _:
                self._send_text(404, "not found; this port serves /healthz, /readyz and /metrics")

    def _report(self, problem: str, ok: str) -> None:
        self._send_text(503 if problem else 200, problem or ok)

    def _send_text(self, status: int, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing, because probes are frequent."""


class ObservedLog:
    """A *log* whose readers report to *health*. See `gossamer.log.Log`."""

    def __init__(self, log: Log, health: Health) -> None:
        self._log, self._health = log, health

    @property
    def partitions(self) -> int:
        """Number of partitions of every topic that is keyed by site."""
        return self._log.partitions

    @property
    def blobs(self) -> "Volume | None":
        """The volume with the blobs of records."""
        return self._log.blobs

    def create_topic(self, topic: str) -> None:
        """Create *topic*, one of a single crawl, if it does not exist."""
        self._log.create_topic(topic)

    def append(self, messages: Iterable[Message]) -> Ends:
        """Return once every message is durable, with the offset of the last message in each
        partition."""
        return self._log.append(messages)

    def reader(self, group: str, topics: Sequence[str], store: Store) -> Reader:
        """Join *group*, and show its lag from now on."""
        self.watch(group, topics, store)
        return ObservedReader(self._log.reader(group, topics, store), self._health)

    def watch(self, group: str, topics: Sequence[str], store: Store) -> None:
        """Show the lag of *group* from now on, and whether log and store answer."""
        claims = store.table(ClaimRow)

        def ask() -> Mapping[str, int]:
            claims.get("0")
            return self._log.lags(group, topics)

        self._health.watch(ask)

    def tail(self, topics: Sequence[str], starts: Mapping[int, int] | None = None) -> Tail:
        """Read *topics* without a group."""
        return self._log.tail(topics, starts)

    def lag(self, group: str, topic: str) -> int:
        """Return the number of records that *group* has not moved past."""
        with _report_outages(self._health):
            return self._log.lag(group, topic)

    def lag_by_partition(self, group: str, topic: str) -> Mapping[int, int]:
        """Return the lag of *group* in each partition that has any records."""
        with _report_outages(self._health):
            return self._log.lag_by_partition(group, topic)

    def offsets(self, topic: str) -> Mapping[int, range]:
        """Return partition → the offsets from the oldest retained record of *topic* to its end."""
        with _report_outages(self._health):
            return self._log.offsets(topic)

    def group_offsets(self, group: str, topics: Sequence[str]) -> Mapping[At, GroupOffsets]:
        """Return the offsets of *group* in each partition of *topics* in which it has committed an
        offset."""
        with _report_outages(self._health):
            return self._log.group_offsets(group, topics)

    def move(self, group: str, offsets: Mapping[At, int]) -> None:
        """Set the committed offsets of *group* to *offsets*."""
        self._log.move(group, offsets)

    def lags(self, group: str, topics: Sequence[str]) -> Mapping[str, int]:
        """Return the lag of *group* on each of *topics*."""
        with _report_outages(self._health):
            return self._log.lags(group, topics)

    def lag_by_group(self, topics: Sequence[str]) -> LagByGroup:
        """Return the lag of each group that must consume the records of one of *topics*."""
        with _report_outages(self._health):
            return self._log.lag_by_group(topics)


class ObservedReader:
    """A *reader* whose polls are heartbeats. See `gossamer.log.Reader`.

    Each change of its partitions is logged and updates a metric.
    """

    def __init__(self, reader: Reader, health: Health) -> None:
        self._reader, self._health = reader, health
        self._partitions = frozenset[int]()

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions assigned to this member."""
        return self._reader.partitions

    def poll(
        self, timeout: float, most: int = MAX_POLL_RECORDS, paused: Set[int] = NO_PARTITIONS
    ) -> Sequence[Record]:
        """Return the next records."""
        with _report_outages(self._health):
            records = self._reader.poll(timeout, most, paused)
        self._health.report_ready()
        self._note_partitions()
        return records

    def _note_partitions(self) -> None:
        before, self._partitions = self._partitions, self._reader.partitions
        set_gauge("gossamer_partitions", len(self._partitions))
        if before != self._partitions:
            gained, lost = self._partitions - before, before - self._partitions
            logger.info(
                "partitions assigned by a rebalance",
                partitions=len(self._partitions),
                gained=sorted(gained),
                lost=sorted(lost),
            )

    def advance(self, records: Iterable[Record], messages: Iterable[Message]) -> bool:
        """Flush the store's writes, append *messages*, and commit past *records*."""
        with _report_outages(self._health):
            return self._reader.advance(records, messages)

    def close(self) -> None:
        """Leave the group."""
        self._reader.close()


@contextmanager
def _report_outages(health: Health) -> Iterator[None]:
    # A loop that waits for a server is still running.
    try:
        yield
    except Unavailable as error:
        health.report_waiting(str(error))
        raise
