"""Sessions of browsers, and the probes."""

from typing import Any

from litestar import Request, Response, delete, get, post
from litestar.datastructures import Cookie, State
from litestar.params import JSONBody
from msgspec import Struct

from gossamer.console.api.gate import ANY_HOST, OPEN, ROLE, Gate, actor_in
from gossamer.console.api.identity import COOKIE, SESSION_SECONDS, Actor, check_same_origin
from gossamer.settings.api import Role


class Session(Struct, frozen=True):
    """The sender of the request."""

    name: str
    role: Role
    crawls: list[str] | None
    """The crawls on which the sender has rights; null means all."""
    expires_at: float | None
    """When the session ends, in epoch seconds; null without a session."""
    requires_reason: bool
    """Whether each change needs a reason."""


class Login(Struct, frozen=True, forbid_unknown_fields=True):
    """What begins a session."""

    token: str


def _session(actor: Actor, state: State) -> Session:
    crawls = None if actor.crawls is None else sorted(actor.crawls)
    return Session(actor.name, actor.role, crawls, actor.expires_at, state.requires_reason)


@get("/v1/session", summary="The sender of the request", opt={ROLE: "view"})
async def get_session(request: Request[Any, Any, Any], state: State) -> Session:
    """Name, role and crawls of the sender."""
    return _session(actor_in(request.scope), state)


@post("/v1/session", summary="Log in", status_code=200, opt={ROLE: OPEN}, security=[])
async def begin_session(
    request: Request[Any, Any, Any], state: State, data: JSONBody[Login]
) -> Response[Session]:
    """Exchange a token for a cookie, which browsers need for live data and frames."""
    if "origin" in request.headers or "sec-fetch-site" in request.headers:
        check_same_origin(request.headers)
    gate: Gate = state.gate
    session, actor = gate.log_in(request.client.host if request.client else "", data.token)
    cookie = Cookie(
        COOKIE,
        value=session,
        max_age=int(SESSION_SECONDS),
        httponly=True,
        secure=request.url.scheme == "https",
        samesite="strict",
    )
    return Response(_session(actor, state), cookies=[cookie])


@delete(
    "/v1/session",
    summary="Log out",
    opt={ROLE: "view"},
    response_cookies=[Cookie(key=COOKIE, max_age=0)],
)
async def end_session(request: Request[Any, Any, Any], state: State) -> None:
    """End the session of the cookie, and delete the cookie."""
    gate: Gate = state.gate
    gate.identities.sessions.end(request.cookies.get(COOKIE, ""))


@get("/healthz", summary="Liveness", opt={ROLE: OPEN, ANY_HOST: True}, security=[])
async def get_health() -> str:
    """Return ok while the process answers."""
    return "ok"
