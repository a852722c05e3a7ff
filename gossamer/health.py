"""What a process of a fleet says of itself over HTTP: that it lives, whether it works, its figures.

`/healthz` is 200 while the service's loop turns: an orchestrator restarts what is stuck.
`/readyz` is 200 while it does its work, else 503 with the reason. `/metrics` is for Prometheus.
All are answered by threads of their own, so that no loop, of whatever kind, need turn for it.
"""

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from gossamer import clock
from gossamer.errors import GossamerError
from gossamer.servers import ServiceSettings
from gossamer.telemetry import gauge, gauges

STUCK = 60.0
"""Seconds without a turn of the loop after which a process is taken for stuck."""
FRESH = 2.0
"""Seconds for which an answer of the servers is told again."""
PATIENCE = 2.0
"""Seconds that a probe or a scrape waits for the servers."""
SILENCE = 10.0
"""Seconds after which servers that say nothing are taken for absent."""

Ask = Callable[[], Mapping[str, int]]
"""Asks the servers how many records of each topic are not moved past; may fail, or take its time.
"""


class Health:
    """How one process is. Whoever runs its loop says so; any thread may ask."""

    def __init__(self, service: str, instance: str) -> None:
        gauge(
            "gossamer_build_info",
            1,
            version=version("gossamer"),
            service=service,
            instance=instance,
        )
        self._beat_at = clock.steady()
        self._why_not = "it is starting"
        self._servers = _Remembered(lambda: {})

    def beat(self) -> None:
        """The loop has turned."""
        self._beat_at = clock.steady()

    def ready(self) -> None:
        """It does its work."""
        self.beat()
        self._why_not = ""

    def waiting(self, why: str) -> None:
        """It cannot work for now, since *why*; that is no reason to restart it."""
        self.beat()
        self._why_not = why

    def watch(self, ask: Ask) -> None:
        """From now on *ask* the servers when somebody wants to know how it is."""
        self._servers = _Remembered(ask)

    @property
    def alive(self) -> bool:
        """Whether its loop turns."""
        return clock.steady() - self._beat_at < STUCK

    def why_not_ready(self) -> str:
        """Return why it does not do its work; nothing if it does.

        A loop that has nothing to do may not notice that servers are gone: so they are asked too.
        """
        if not self.alive:
            return f"its loop has not turned for {STUCK:.0f} s"
        if not self._why_not:
            self._servers.read()
        return self._why_not or self._servers.trouble

    def figures(self) -> bytes:
        """Return all metrics as Prometheus reads them."""
        gauge("gossamer_ready", not self.why_not_ready())
        gauges("gossamer_consumer_lag", "topic", self._servers.read())
        return generate_latest()

    def listen(self, settings: ServiceSettings) -> int:
        """Answer from now on, until the process ends; return the port."""
        try:
            server = _Server((settings.address, settings.port), self)
        except OSError as error:
            raise GossamerError(
                f"nobody can ask how this process is: {settings.address}:{settings.port} cannot "
                f"be listened on ({error.strerror}); service.port names another one"
            ) from error
        threading.Thread(target=server.serve_forever, name="health", daemon=True).start()
        return server.server_port


class _Remembered:
    """What the servers last answered. Nobody waits long, and only one asks at a time."""

    def __init__(self, ask: Ask) -> None:
        self._ask, self._known = ask, dict[str, int]()
        self._failure = ""
        self._answered_at = float("-inf")
        self._asked_at = clock.steady()
        self._asking: threading.Thread | None = None
        self._lock = threading.Lock()

    def read(self) -> Mapping[str, int]:
        """Return the lags; none if nobody knows."""
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
        """What is wrong with the servers."""
        silent = clock.steady() - self._asked_at
        if self._asking and self._asking.is_alive() and silent > SILENCE:
            return f"its servers have not answered for {silent:.0f} s"
        return self._failure

    def _learn(self) -> None:
        try:
            self._known, self._failure = dict(self._ask()), ""
        except Exception as error:
            # Whatever it is, the service meets it too, when it has something to do.
            self._known, self._failure = {}, str(error) or repr(error)
        self._answered_at = clock.steady()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], health: Health) -> None:
        self.health = health
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Who goes away before the answer has no use for it."""


class _Handler(BaseHTTPRequestHandler):
    timeout = 10.0
    server: _Server

    def do_GET(self) -> None:
        """Answer by the path alone."""
        health = self.server.health
        match self.path.partition("?")[0]:
            case "/healthz":
                self._tell("" if health.alive else health.why_not_ready(), "ok")
            case "/readyz":
                self._tell(health.why_not_ready(), "ready")
            case "/metrics":
                self._send(200, CONTENT_TYPE_LATEST, health.figures())
            case _:
                self._say(404, "/healthz, /readyz and /metrics are answered here")

    def _tell(self, wrong: str, well: str) -> None:
        self._say(503 if wrong else 200, wrong or well)

    def _say(self, status: int, text: str) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{text}\n".encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Probes come every few seconds: nobody wants to read of them."""
