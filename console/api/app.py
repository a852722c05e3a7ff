"""The application: its routes, the responses to errors, headers, and the OpenAPI description.

Requests with another Host header are refused, so that no page in a browser can read the crawl under
a name that it resolves to this machine (DNS rebinding).
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from litestar import Litestar, Request, Response
from litestar.config.allowed_hosts import AllowedHostsConfig
from litestar.datastructures import ResponseHeader
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin

from console.api.readers import Reader
from console.api.routes import ROUTES
from gossamer.errors import BadSettings, GossamerError, Unavailable
from inspection.captures import NotArchived
from inspection.crawl import OpenCrawl

HEADERS = (
    ResponseHeader(name="X-Content-Type-Options", value="nosniff"),
    ResponseHeader(name="Cache-Control", value="no-store"),
)
STATUSES: tuple[tuple[type[GossamerError], int], ...] = (
    (BadSettings, 400),
    (NotArchived, 404),
    (Unavailable, 503),
    (GossamerError, 500),
)
"""Error → status of the response; the first class that matches."""


def make_app(opening: Callable[[], AbstractContextManager[OpenCrawl]], port: int) -> Litestar:
    """Return the application for the crawl that *opening* opens, to be served at *port*."""
    return Litestar(
        [*ROUTES],
        lifespan=[Reader(opening).running],
        allowed_hosts=AllowedHostsConfig([f"127.0.0.1:{port}", f"localhost:{port}"]),
        exception_handlers={GossamerError: _error_response},
        response_headers=HEADERS,
        openapi_config=OpenAPIConfig(
            title="Gossamer",
            version="1",
            description="One crawl, read-only.",
            path="/schema",
            render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        ),
    )


def _error_response(_: Request[Any, Any, Any], error: GossamerError) -> Response[dict[str, Any]]:
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    return Response({"status_code": status, "detail": str(error)}, status_code=status)
