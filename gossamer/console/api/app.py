"""The application: its routes, the responses to errors, headers, and the OpenAPI description."""

import threading
from collections.abc import Iterator
from enum import Enum
from typing import Any, get_args

import structlog
from litestar import Litestar, MediaType, Request, Response, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException, ValidationException
from litestar.exceptions.responses import create_exception_response
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, Reference, SecurityScheme
from litestar.types import Message, Scope

from gossamer.console.api.changing import LostUpdate
from gossamer.console.api.downloads import Downloads
from gossamer.console.api.gate import OPEN, ROLE, Gate
from gossamer.console.api.hosts_index import Hosts, Place
from gossamer.console.api.identity import Forbidden, Identities, Unidentified
from gossamer.console.api.lags import LagSampler
from gossamer.console.api.live import Live
from gossamer.console.api.parameters import provide_reader
from gossamer.console.api.readers import Busy, Readers
from gossamer.console.api.routes import ROUTES
from gossamer.console.api.slow_clients import BodyTimeout
from gossamer.console.api.tokens import Tokens
from gossamer.console.notifications.runner import Notifier
from gossamer.console.reader import Opening
from gossamer.errors import BadSettings, GossamerError, Unavailable
from gossamer.inspection.archive.captures import NotArchived
from gossamer.inspection.crawls.crawl import NotFound
from gossamer.settings.api import ApiSettings
from gossamer.settings.notify import NotifySettings

logger = structlog.get_logger()
MAX_BODY_BYTES = 1 << 20
HEADERS: dict[str, str] = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of each response that does not set them itself."""
HSTS = "max-age=31536000"
STATUSES: tuple[tuple[type[GossamerError], int], ...] = (
    (BadSettings, 400),
    (Unidentified, 401),
    (Forbidden, 403),
    (NotFound, 404),
    (NotArchived, 404),
    (LostUpdate, 412),
    (Unavailable, 503),
    (GossamerError, 500),
)
"""Error → status of the response; the first class that matches."""


def make_app(
    opening: Opening, place: Place, settings: ApiSettings, tokens: Tokens, port: int
) -> Litestar:
    """Return the application for the crawls of *place*, which *opening* opens, to be served at
    *port*."""
    readers = Readers(opening, settings.scans, settings.timeout)
    gate = Gate(settings, Identities(settings, tokens), port)
    notify = place.settings.notify if place.settings else NotifySettings()
    notifier = Notifier(opening, place.data, notify)
    return Litestar(
        [*ROUTES],
        lifespan=[readers.running, Hosts(place).running, notifier.running],
        state=State(
            {
                "gate": gate,
                "lags": LagSampler(),
                "live": Live(),
                "downloads": Downloads(),
                "notifier": notifier,
                "changing": threading.Lock(),
                "requires_reason": settings.require_reason,
            }
        ),
        guards=[gate.check],
        dependencies={"reader": Provide(provide_reader)},
        exception_handlers={
            GossamerError: _error_response,
            RecursionError: _invalid_body_response,
            UnicodeDecodeError: _invalid_body_response,
            ValidationException: _invalid_request_response,
            Exception: _failure_response,
        },
        middleware=[BodyTimeout],
        after_exception=[_log_error],
        # By default Litestar replaces the log handlers of the process, which may run a crawl.
        logging_config=None,
        before_send=[_add_headers],
        request_max_body_size=MAX_BODY_BYTES,
        openapi_config=_openapi(),
    )


def _openapi() -> OpenAPIConfig:
    schemes: dict[str, SecurityScheme | Reference] = {
        "token": SecurityScheme(type="http", scheme="bearer", description="`gossamer token`"),
    }
    return OpenAPIConfig(
        title="Gossamer",
        version="1",
        description="Crawls as data, and their changes.",
        openapi_router=Router("/schema", route_handlers=[], opt={ROLE: OPEN}),
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        components=Components(security_schemes=schemes),
        security=[{"token": []}],
    )


def _error_response(_: Request[Any, Any, Any], error: GossamerError) -> Response[dict[str, Any]]:
    status = next(status for kind, status in STATUSES if isinstance(error, kind))
    headers = {"Retry-After": "1"} if isinstance(error, Busy) else {}
    if isinstance(error, Unidentified):
        headers["WWW-Authenticate"] = "Bearer"
    return Response(
        {"status_code": status, "detail": str(error)}, status_code=status, headers=headers
    )


def _invalid_body_response(_: Request[Any, Any, Any], error: Exception) -> Response[dict[str, Any]]:
    """Answer a body that is nested too deeply, or is not UTF-8: Litestar handles neither error."""
    reason = "too deep" if isinstance(error, RecursionError) else "not UTF-8"
    detail = f"the body is {reason}"
    return Response({"status_code": 400, "detail": detail}, status_code=400)


def _invalid_request_response(
    request: Request[Any, Any, Any], error: ValidationException
) -> Response[Any]:
    """Answer parameters with invalid values; name the choices of each that has choices."""
    parameters = request.route_handler.parsed_fn_signature.parameters
    found: list[Any] = error.extra if isinstance(error.extra, list) else []
    for one in found:
        field = parameters.get(one.get("key")) if one.get("source") == "query" else None
        if field and (choices := [*_choices_of(field.annotation)]):
            one["message"] += f": choose from {', '.join(choices)}"
    return _failure_response(request, error)


def _failure_response(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """Answer in JSON, also where the route answers in another type: a browser would show the
    parameters that an error repeats as HTML."""
    response = create_exception_response(request, error)
    response.media_type = MediaType.JSON
    return response


def _choices_of(annotation: Any) -> Iterator[str]:
    """Yield the values of an enumerated type, or of those in a union."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        yield from (str(one.value) for one in annotation)
    for argument in get_args(annotation):
        if isinstance(argument, str):
            yield argument
        else:
            yield from _choices_of(argument)


async def _log_error(error: Exception, scope: Scope) -> None:
    if not isinstance(error, HTTPException | GossamerError | RecursionError | UnicodeDecodeError):
        logger.error("request failed with an internal error", path=scope["path"], exc_info=error)


async def _add_headers(message: Message, scope: Scope) -> None:
    if message["type"] != "http.response.start":
        return
    headers = [*message["headers"]]
    present = {name.lower() for name, _ in headers}
    added = dict(HEADERS)
    if scope["scheme"] == "https":
        added["Strict-Transport-Security"] = HSTS
    headers += [
        (name.encode(), value.encode())
        for name, value in added.items()
        if name.lower().encode() not in present
    ]
    message["headers"] = headers
