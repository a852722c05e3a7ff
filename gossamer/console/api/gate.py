"""The guard of all routes: host name, identity, role, protection against CSRF, and rate limits.

A route states in its `opt` what it needs: `role`, a `Role` or `OPEN`; and `shared`, if it needs
rights on all crawls. A route that states nothing is refused, so that a forgotten entry cannot open
it.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import structlog
from litestar.connection import ASGIConnection
from litestar.exceptions import HTTPException, TooManyRequestsException
from litestar.handlers import BaseRouteHandler
from litestar.types import Scope

from gossamer import clock
from gossamer.console.api.identity import (
    COOKIE,
    Actor,
    Credentials,
    Identities,
    Unidentified,
    check_same_origin,
)
from gossamer.console.api.limits import Rate, RateLimit
from gossamer.console.api.tokens import digest_of
from gossamer.errors import BadSettings, GossamerError
from gossamer.settings.api import ApiSettings

OPEN = "open"
"""The role of routes that need no identity."""
ROLE, SHARED, ANY_HOST = "role", "shared", "any_host"
"""Keys of `opt`. A route with ANY_HOST accepts every Host header: orchestrators send probes to an
address."""
READ_BURST, CHANGE_BURST = 5, 10
"""Seconds of the mean rate that may be used at once."""
LOGINS = Rate(5 / 60, 5)
"""Failed logins of an address."""
SAFE = ("GET", "HEAD", "OPTIONS")
ACTOR = "gossamer_actor"
MAX_URL_LENGTH = 8192
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
logger = structlog.get_logger()
Connection = ASGIConnection[Any, Any, Any, Any]


class Gate:
    """Decides which requests are answered."""

    def __init__(
        self,
        settings: ApiSettings,
        identities: Identities,
        port: int,
        now: Callable[[], float] = clock.now,
        steady: Callable[[], float] = clock.steady,
    ) -> None:
        self.identities = identities
        self._now, self._steady = now, steady
        self._reads = RateLimit(Rate(settings.reads, READ_BURST * settings.reads))
        self._changes = RateLimit(Rate(settings.changes, CHANGE_BURST * settings.changes))
        self._logins = RateLimit(LOGINS)
        self._hosts = allowed_hosts(settings, port)

    def check(self, connection: Connection, handler: BaseRouteHandler) -> None:
        """Raise an error unless the request may be made; store its actor."""
        if not handler.opt.get(ANY_HOST):
            self._check_host(connection)
        role = handler.opt.get(ROLE)
        if role == OPEN:
            return
        if role is None:
            raise HTTPException(status_code=403, detail="this route states no role")
        actor = self._identify(connection)
        is_change = connection.scope.get("method") not in SAFE
        if is_change and actor.is_browser:
            check_same_origin(connection.headers)
        actor.check_role(role)
        if handler.opt.get(SHARED):
            actor.check_shared()
        limit = self._changes if is_change else self._reads
        if wait := limit.wait(actor.name, self._steady()):
            headers = {"Retry-After": str(int(wait) + 1)}
            raise TooManyRequestsException("too many requests", headers=headers)
        connection.scope["state"][ACTOR] = actor

    def _check_host(self, connection: Connection) -> None:
        if (
            len(connection.scope["raw_path"]) + len(connection.scope["query_string"])
            > MAX_URL_LENGTH
        ):
            raise HTTPException(status_code=414, detail="the URL of the request is too long")
        host = connection.headers.get("host", "").lower()
        if host not in self._hosts:
            raise BadSettings(f"host {host[:100]!r} is not in api.names")

    def may_still_read(self, connection: Connection, crawl: str | None) -> bool:
        """Return whether the sender of a request that lasts long still has rights on *crawl*; None
        means all crawls."""
        try:
            actor = self.identities.identify(_credentials(connection), self._now())
            if crawl is None:
                actor.check_shared()
            else:
                actor.check_crawl(crawl)
        except GossamerError:
            return False
        return True

    def _identify(self, connection: Connection) -> Actor:
        given = _credentials(connection)
        try:
            return self.identities.identify(given, self._now())
        except Unidentified:
            if "authorization" in connection.headers:
                self._note_failure(given.peer)
            raise

    def _note_failure(self, peer: str) -> None:
        """Count a failed login. Raise TooManyRequestsException if there were too many.

        Only invalid tokens count and are refused: all users of a proxy have one address, so a
        stranger could lock them out. A valid token is never guessed: it has 256 random bits.
        """
        if self._logins.wait(peer, self._steady()):
            raise TooManyRequestsException("too many failed logins", headers={"Retry-After": "12"})
        logger.warning("login failed: invalid token", address=peer)

    def log_in(self, peer: str, token: str) -> tuple[str, Actor]:
        """Begin a session with a token; return its id and its actor."""
        try:
            actor = self.identities.of_token(token, self._now())
        except Unidentified:
            self._note_failure(peer)
            raise
        return self.identities.sessions.begin(actor, digest_of(token), self._now())


def _credentials(connection: Connection) -> Credentials:
    peer = connection.client.host if connection.client else ""
    names = [name for name, _ in connection.headers.multi_items()]
    repeated = frozenset(name for name, count in Counter(names).items() if count > 1)
    session = connection.cookies.get(COOKIE, "")
    return Credentials(peer, connection.headers, session, repeated)


def allowed_hosts(settings: ApiSettings, port: int) -> frozenset[str]:
    """Return the values of the Host header that are accepted, so that no page in a browser can read
    the crawl under a name that it resolves to this machine (DNS rebinding)."""
    address = f"[{settings.address}]" if ":" in settings.address else settings.address
    with_port = [f"{name}:{port}" for name in (*LOOPBACK_NAMES, address, *settings.names)]
    return frozenset(name.lower() for name in (*with_port, *settings.names))


def actor_in(scope: Scope) -> Actor:
    """Return who sends the request."""
    actor: Actor = scope["state"][ACTOR]
    return actor
