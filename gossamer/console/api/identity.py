"""Who sends a request, and what they may do.

A request is identified by the first of these that it has: a token (`Authorization: Bearer`), the
cookie of a session that was begun with a token, or the headers of a trusted proxy. Logic is told
the time.
"""

import secrets
from collections import OrderedDict
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from typing import NamedTuple

from msgspec import Struct

from gossamer.console.api.tokens import Tokens
from gossamer.errors import GossamerError
from gossamer.settings.api import ROLES, ApiSettings, Grant, Role

COOKIE = "gossamer_session"
SESSION_SECONDS = 12 * 3600.0
"""Seconds until a session ends."""
MAX_SESSIONS = 1000
"""Sessions at once. The oldest one ends when there are more."""
MAX_NAME_LENGTH = 200
TOKEN_PREFIX = "token:"
"""The beginning of the names of tokens as actors."""
BEARER = "bearer "
SAME_ORIGIN = "same-origin"


class Unidentified(GossamerError):
    """A request without a valid identity."""


class Forbidden(GossamerError):
    """A request that its sender may not make."""


class Actor(Struct, frozen=True):
    """Who sends a request."""

    name: str
    """`token:NAME`, or the user's name that a trusted proxy sent."""
    role: Role
    crawls: frozenset[str] | None = None
    """The crawls that they may see and change; None means all."""
    is_browser: bool = False
    """Whether a browser sends the identity by itself, so that other sites could make it do so."""
    expires_at: float | None = None
    """When the session ends, in epoch seconds."""

    def check_role(self, needed: Role) -> None:
        """Raise Forbidden unless the role includes *needed*."""
        if ROLES.index(self.role) < ROLES.index(needed):
            raise Forbidden(f"{self.name} has the role {self.role}; this needs {needed}")

    def check_crawl(self, crawl: str) -> None:
        """Raise Forbidden unless *crawl* is one of the actor's crawls."""
        if self.crawls is not None and crawl not in self.crawls:
            raise Forbidden(f"{self.name} has no rights on the crawl {crawl}")

    def check_shared(self) -> None:
        """Raise Forbidden unless the actor has rights on all crawls."""
        if self.crawls is not None:
            raise Forbidden(f"{self.name} has rights on single crawls; this concerns all crawls")


class Credentials(NamedTuple):
    """The parts of a request that identify its sender."""

    peer: str
    """The IP address of the connection's other end."""
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    session: str = ""
    """The value of the cookie."""
    repeated: Collection[str] = ()
    """The names of headers that the request has several times."""


class Session(NamedTuple):
    """A session of a browser."""

    actor: Actor
    digest: str
    """The SHA-256 of the token that began it. The session ends with the token."""


class Sessions:
    """Sessions of browsers, in memory: a restart ends all of them."""

    def __init__(self) -> None:
        self._sessions = OrderedDict[str, Session]()

    def begin(self, actor: Actor, digest: str, now: float) -> tuple[str, Actor]:
        """Return the id of a new session, which a token with this *digest* began, and its actor."""
        session = secrets.token_urlsafe(32)
        started = Actor(actor.name, actor.role, actor.crawls, True, now + SESSION_SECONDS)
        self._sessions[session] = Session(started, digest)
        if len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session, started

    def end(self, session: str) -> None:
        """End a session; nothing happens if there is none."""
        self._sessions.pop(session, None)

    def find(self, session: str, now: float) -> Session | None:
        """Return a session that has not ended at *now*."""
        found = self._sessions.get(session)
        if found is None or found.actor.expires_at is None or now >= found.actor.expires_at:
            self.end(session)
            return None
        return found


class Identities:
    """Identifies the senders of requests."""

    def __init__(self, settings: ApiSettings, tokens: Tokens) -> None:
        self._settings, self._tokens = settings, tokens
        self._proxy_headers = tuple(
            name.lower() for name in (settings.user_header, settings.groups_header) if name
        )
        self.sessions = Sessions()

    def identify(self, given: Credentials, now: float) -> Actor:
        """Return the sender. Raise Unidentified if there is no valid identity, and Forbidden if a
        client other than a trusted proxy sends the headers of a proxy."""
        has_proxy_headers = any(name in given.headers for name in self._proxy_headers)
        if has_proxy_headers and not self._is_trusted(given.peer):
            raise Forbidden(f"{given.peer} is not one of api.trusted_proxies")
        if any(name in given.repeated for name in self._proxy_headers):
            # A proxy that adds its headers to those of the client instead of replacing them.
            raise Forbidden("a header of the proxy is there twice: it must replace the client's")
        authorization = given.headers.get("authorization", "")
        if authorization[: len(BEARER)].lower() == BEARER:
            return self.of_token(authorization[len(BEARER) :].strip(), now)
        if given.session and (actor := self._of_session(given.session, now)):
            return actor
        if has_proxy_headers:
            return self._of_proxy(given.headers)
        raise Unidentified("a token is needed: Authorization: Bearer TOKEN, or open the link")

    def _of_session(self, id_: str, now: float) -> Actor | None:
        """Return the actor of a session, with the role that its token has now. A revoked or expired
        token ends the session."""
        if (session := self.sessions.find(id_, now)) is None:
            return None
        found = self._tokens.find_digest(session.digest, now)
        if found is None:
            self.sessions.end(id_)
            return None
        name, grant = found
        return Actor(
            f"{TOKEN_PREFIX}{name}", grant.role, grant.crawls, True, session.actor.expires_at
        )

    def of_token(self, secret: str, now: float) -> Actor:
        """Return the actor of a token. Raise Unidentified if it is unknown or expired."""
        found = self._tokens.find(secret, now)
        if found is None:
            raise Unidentified("the token is unknown or has expired")
        name, grant = found
        return Actor(f"{TOKEN_PREFIX}{name}", grant.role, grant.crawls)

    def _is_trusted(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        return any(address in network for network in self._settings.trusted_proxies)

    def _of_proxy(self, headers: Mapping[str, str]) -> Actor:
        user = headers.get(self._settings.user_header.lower(), "").strip()
        is_valid = user.isprintable() and len(user) <= MAX_NAME_LENGTH
        # The audit log would show the user as a token.
        if not user or not is_valid or user.startswith(TOKEN_PREFIX):
            raise Unidentified(f"the proxy sent no valid {self._settings.user_header}")
        groups = headers.get(self._settings.groups_header.lower(), "").split(",")
        grant: Grant | None = self._settings.grant_of(frozenset(one.strip() for one in groups))
        if grant is None:
            raise Forbidden(f"{user} is in none of the groups of api.group_roles")
        # A browser sends the proxy's cookie by itself.
        return Actor(user, grant.role, grant.crawls, is_browser=True)


def check_same_origin(headers: Mapping[str, str]) -> None:
    """Raise Forbidden unless a page of the console itself made the browser send a change (CSRF).

    Browsers state this in Sec-Fetch-Site, or in Origin. Pages of other sites can send forms, but no
    JSON.
    """
    origin, host = headers.get("origin", ""), headers.get("host", "")
    site = headers.get("sec-fetch-site", "")
    same = site == SAME_ORIGIN or (not site and origin in (f"http://{host}", f"https://{host}"))
    if not same:
        raise Forbidden("changes from pages of other sites are refused")
    if not headers.get("content-type", "").startswith("application/json"):
        raise Forbidden("changes need Content-Type: application/json")
