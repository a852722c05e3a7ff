"""Serves the API and the console in this process: socket, TLS, and the generated token.

The server itself is imported when it starts, because that takes a quarter of a second and 35 MB.
"""

import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gossamer.console.api.tokens import Tokens, keep_token, new_secret
from gossamer.console.listening import listen
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.settings.api import ApiSettings

if TYPE_CHECKING:
    import uvicorn

    from gossamer.console.api.hosts_index import Place
    from gossamer.console.reader import Opening
    from gossamer.inspection.basics.folder import Opened
    from gossamer.standalone.processes import ChildConfig

TOKEN_FILE = "console-token"
"""The file in the crawl's folder with the generated token, while the console runs."""
STOP_INTERVAL = 0.2
"""Seconds between two checks of the stop event beside a crawl."""
STOP_SECONDS = 1
"""Seconds for requests in flight at the end."""
MAX_CONNECTIONS = 500
MAX_HEAD_BYTES = 32 << 10


class Site(NamedTuple):
    """Where the console is served."""

    listener: socket.socket
    settings: ApiSettings
    port: int
    token: str | None
    """The generated token, if no token file and no proxy is set."""
    token_file: Path | None = None
    """The file that the generated token is in."""

    @property
    def address(self) -> str:
        """The URL, without a path."""
        scheme = "https" if self.settings.cert_file else "http"
        host = self.settings.address
        if ip_address(host).is_unspecified:
            # Requests for a name that the settings do not have would be refused.
            host = self.settings.names[0] if self.settings.names else "localhost"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def link(self) -> str:
        """The URL that logs a browser in. A fragment is in no log and in no Referer."""
        return f"{self.address}/#token={self.token}" if self.token else f"{self.address}/"


@contextmanager
def listening(settings: ApiSettings, port: int, token_file: Path | None) -> Iterator[Site]:
    """Listen within the block; a generated token is in *token_file*, readable for its owner alone,
    until the end, unless another console has its own there. Raise BadSettings if the port is in
    use.
    """
    with listen(port, settings.address) as listener:
        if settings.tokens_file or settings.trusted_proxies:
            yield Site(listener, settings, port, None)
            return
        token = new_secret()
        with keep_token(token_file, token) if token_file else nullcontext(False) as is_in_file:
            yield Site(listener, settings, port, token, token_file if is_in_file else None)


def serve(site: Site, opening: "Opening", place: "Place") -> None:
    """Serve the crawls of *place*, which *opening* opens, until the process is interrupted."""
    _server(site, opening, place).run(sockets=[site.listener])


def serve_beside(
    site: Site, config: "ChildConfig", opened: "Opened", stop: threading.Event
) -> None:
    """In a child of a crawl: serve the folder of *config* until *stop*.

    The server starts with the first connection, and takes no memory or time from the crawl until
    then. If it sends notifications, it starts at once.
    """
    folder = opened.folder.path
    token_file = folder / TOKEN_FILE
    with keep_token(token_file, site.token) if site.token else nullcontext():
        is_needed = config.settings.notify.is_enabled
        while not (is_needed or select.select([site.listener], [], [], STOP_INTERVAL)[0]):
            if stop.is_set():
                return
        from gossamer.console.api.hosts_index import Place

        place = Place(folder, config.settings)
        server = _server(site, lambda: open_crawl(config.settings, folder), place)
        # In the main thread the server would act on Ctrl-C, which is for the parent alone.
        thread = threading.Thread(target=server.run, kwargs={"sockets": [site.listener]})
        thread.start()
        while thread.is_alive():
            server.should_exit = stop.is_set()
            thread.join(STOP_INTERVAL)


def _server(site: Site, opening: "Opening", place: "Place") -> "uvicorn.Server":
    import uvicorn

    from gossamer.console.api.app import make_app
    from gossamer.console.api.slow_clients import Protocol

    settings = site.settings
    tokens = Tokens(settings.tokens_file, site.token)
    app = make_app(opening, place, settings, tokens, site.port)
    config = uvicorn.Config(
        app,
        http=Protocol,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ssl_certfile=settings.cert_file,
        ssl_keyfile=settings.key_file,
        limit_concurrency=MAX_CONNECTIONS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        timeout_graceful_shutdown=STOP_SECONDS,
    )

    class Server(uvicorn.Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Stop. Streams and requests end themselves: cancelled ones would be logged as
            errors."""
            app.state.live.stop()
            app.state.readers.end_requests()
            await super().shutdown(sockets)

    return Server(config)
