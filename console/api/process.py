"""Serves the API and the console in this process: socket, TLS, and the generated token."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

import uvicorn

from console.api.app import make_app
from console.api.hosts_index import Place
from console.api.readers import Opening
from console.api.tokens import Tokens, new_secret, write_private
from console.listening import listen
from gossamer.settings.api import ApiSettings

STOP_SECONDS = 1
"""Seconds for requests in flight at the end. Streams of live data would last for ever."""
MAX_CONNECTIONS = 500
MAX_HEAD_BYTES = 32 << 10


class Site(NamedTuple):
    """Where the console is served."""

    listener: socket.socket
    settings: ApiSettings
    port: int
    token: str | None
    """The generated token, if no token file and no proxy is set."""

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
    until the end. Raise BadSettings if the port is in use.
    """
    with listen(port, settings.address) as listener:
        if settings.tokens_file or settings.trusted_proxies:
            yield Site(listener, settings, port, None)
            return
        token = new_secret()
        if token_file:
            write_private(token_file, token)
        try:
            yield Site(listener, settings, port, token)
        finally:
            if token_file:
                token_file.unlink(missing_ok=True)


def serve(site: Site, opening: Opening, place: Place) -> None:
    """Serve the crawls of *place*, which *opening* opens, until the process is interrupted."""
    settings = site.settings
    tokens = Tokens(settings.tokens_file, site.token)
    config = uvicorn.Config(
        make_app(opening, place, settings, tokens, site.port),
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
    uvicorn.Server(config).run(sockets=[site.listener])
