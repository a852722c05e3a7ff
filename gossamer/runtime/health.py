"""Liveness, readiness and metrics of a process of a fleet, over HTTP.

`/healthz` is 200 while the service's loop turns: an orchestrator restarts what is stuck.
`/readyz` is 200 while it does its work, with a note where an operator should do something, else 503
with the reason. `/metrics` is for Prometheus.
Threads of their own answer all three, so that a loop that hangs cannot hold up the answer.
"""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.settings.servers import ServiceSettings
from gossamer.telemetry import gauge, gauges, show_counters

FRESH = 2.0
"""Seconds for which an answer of the servers is reused."""
PATIENCE = 2.0
"""Seconds that a probe or a scrape waits for the servers."""
SILENCE = 10.0
"""Seconds of silence after which the servers count as unavailable."""

logger = structlog.get_logger()

LagQuery = Callable[[], Mapping[str, int]]
"""Asks the servers for the lag of each topic; may fail, or take long."""


class Health:
    """The health of one process: its loop reports, any thread may ask.

    It is stuck *stuck_after* seconds after the last turn of its loop.
    """

    def __init__(self, service: str, instance: str, stuck_after: float = 60.0) -> None:
        gauge(
            "gossamer_build_info",
            1,
            version=version("gossamer"),
            service=service,
            instance=instance,
        )
        self._beat_at, self._stuck_after = clock.steady(), stuck_after
        self._why_not, self._hindered, self._note = "it is starting", "", ""
        self._outdated = ""
        self._servers = _Cached(lambda: {})

    def beat(self) -> None:
        """Report that the loop has turned."""
        self._beat_at = clock.steady()

    def ready(self) -> None:
        """Report that the process does its work."""
        self.beat()
        if self._why_not:
            logger.info("ready")
        self._why_not = ""

    def waiting(self, why: str) -> None:
        """Report *why* it cannot work for now; that is no reason to restart it."""
        self.beat()
        self._why_not = why

    def hindered(self, why: str) -> None:
        """Report *why* it cannot do its work as it should though its loop turns; "": it can."""
        self._hindered = why

    def outdated(self, why: str) -> None:
        """Report *why* it must be upgraded before it can do all of its work; "": it can."""
        self._outdated = why

    def note(self, what: str) -> None:
        """Report *what* should be known of it although it works; "": nothing."""
        if what and what != self._note:
            logger.warning(what)
        self._note = what

    def watch(self, ask: LagQuery) -> None:
        """Use *ask* from now on to find out whether the servers answer, and the lag."""
        self._servers = _Cached(ask)

    @property
    def alive(self) -> bool:
        """Whether its loop turns."""
        return clock.steady() - self._beat_at < self._stuck_after

    def why_not_ready(self) -> str:
        """Return why it does not do its work; "" if it does.

        An idle loop may not notice that servers are gone, so they are asked too.
        """
        if not self.alive:
            return f"its loop has not turned for {self._stuck_after:.0f} s"
        if not self._why_not:
            self._servers.read()
        return self._why_not or self._outdated or self._hindered or self._servers.trouble

    def when_ready(self) -> str:
        """Return what is said of it when it does its work."""
        return f"ready; {self._note}" if self._note else "ready"

    def metrics(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        gauge("gossamer_ready", not self.why_not_ready())
        gauges("gossamer_consumer_lag", "topic", self._servers.read())
        return generate_latest()

    def listen(self, settings: ServiceSettings) -> int:
        """Answer HTTP until the process ends; return the port, GossamerError if it is taken."""
        show_counters()
        try:
            server = _Server((settings.address, settings.port), self)
        except OSError as error:
            raise GossamerError(
                f"health and metrics cannot be shown on {settings.address}:{settings.port} "
                f"({error.strerror}): name another port with service.port"
            ) from error
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return server.server_port


class _Cached:
    """What the servers answered last. Nobody waits long, and one question is open at a time."""

    def __init__(self, ask: LagQuery) -> None:
        self._ask, self._known = ask, dict[str, int]()
        self._failure = ""
        self._answered_at = float("-inf")
        self._asked_at = clock.steady()
        self._asking: threading.Thread | None = None
        self._lock = threading.Lock()

    def read(self) -> Mapping[str, int]:
        """Return the lag by topic; empty if the servers do not say."""
        with self._lock:
            if not self._asking or not self._asking.is_alive():
                if clock.steady() - self._answered_at < FRESH:
                    return self._known
                self._asked_at = clock.steady()
                self._asking = threading.Thread(target=self._learn, name="asking", daemon=True)
                self._asking.start()
            asking = self._asking
        asking.join(PATIENCE)
        return {} if asking.is_alive() else self._known

    @property
    def trouble(self) -> str:
        """What is wrong with the servers; "" if nothing is."""
        silent = clock.steady() - self._asked_at
        if self._asking and self._asking.is_alive() and silent > SILENCE:
            return f"its servers have not answered for {silent:.0f} s"
        return self._failure

    def _learn(self) -> None:
        try:
            self._known, self._failure = dict(self._ask()), ""
        except Exception as error:
            # Whatever it is, the service meets it too as soon as it has something to do.
            self._known, self._failure = {}, str(error) or repr(error)
        self._answered_at = clock.steady()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], health: Health) -> None:
        self.health = health
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a client that goes away before the answer."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0
    server: _Server

    def do_GET(self) -> None:
        """Answer by the path alone; nobody is authenticated."""
        health = self.server.health
        match self.path.partition("?")[0]:
            case "/healthz":
                self._report("" if health.alive else health.why_not_ready(), "ok")
            case "/readyz":
                self._report(health.why_not_ready(), health.when_ready())
            case "/metrics":
                self._send(200, CONTENT_TYPE_LATEST, health.metrics())
            case _:
                self._send_text(404, "answered here: /healthz, /readyz and /metrics")

    def _report(self, trouble: str, ok: str) -> None:
        self._send_text(503 if trouble else 200, trouble or ok)

    def _send_text(self, status: int, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: probes come every few seconds."""
