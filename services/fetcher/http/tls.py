"""TLS as the system trusts it, and as somebody has said for a site; and sessions resumed: a second
handshake with a host costs half.

asyncio gives a handshake no session to resume, and asks the context for its object: that is where
one is put in.
"""

import re
import ssl
from collections import OrderedDict
from functools import cached_property
from hashlib import sha256
from typing import Any

from gossamer.errors import Poison
from gossamer.web.url import host_name, site_of

SHA256 = "sha256"
_sha256 = re.compile("[0-9a-f]{64}")
REMEMBERED = 2000
"""Hosts whose sessions are kept, some 5 kB each; the one used longest ago is forgotten first."""


class Context(ssl.SSLContext):
    """Verifies certificates and names; knows the last session of each host."""

    _sessions: OrderedDict[str, ssl.SSLSession]
    pinned = ""
    """The SHA-256 of the only certificate that is accepted, and whatever is wrong with it is."""

    def refuses(self, connection: ssl.SSLObject) -> bool:
        """Return whether another certificate is pinned than the one of *connection*."""
        shown = connection.getpeercert(binary_form=True) or b""
        return bool(self.pinned) and sha256(shown).hexdigest() != self.pinned

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Return the object of a connection, which offers the host's last session."""
        session = session or self._sessions.get(str(server_hostname))
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)

    def remember(self, connection: ssl.SSLObject) -> None:
        """Keep the session of *connection*, over which something has come: its ticket, too."""
        session, host = connection.session, str(connection.server_hostname)
        if session is not None:
            self._sessions[host] = session
            self._sessions.move_to_end(host)
        if len(self._sessions) > REMEMBERED:
            self._sessions.popitem(last=False)


def new_context() -> Context:
    """Return a context that trusts whom the system trusts; reads files."""
    context = Context(ssl.PROTOCOL_TLS_CLIENT)
    context._sessions = OrderedDict()
    context.load_default_certs()
    context.set_alpn_protocols(["http/1.1"])
    return context


def trusting(certificate: str) -> Context:
    """Return a context that trusts *certificate* as well: PEM, of itself or of who has signed it.
    Or that one alone of which it is the SHA-256. Raise ValueError if it is neither."""
    context = new_context()
    kind, _, digest = certificate.partition(":")
    if kind == SHA256:
        if not _sha256.fullmatch(digest):
            raise ValueError(f"{digest!r} is no SHA-256: 64 hexadecimal digits")
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.pinned = digest
        return context
    # So that a certificate that nobody vouches for can be trusted by itself.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificate)
    except ssl.SSLError as error:
        raise ValueError(f"no certificate in PEM: {error.reason or error}") from error
    return context


class Trust:
    """How servers are trusted: as the system does it, or as was said for a site or a host of it."""

    def __init__(self) -> None:
        self._at: dict[str, Context] = {}
        self._at_host: dict[str, Context] = {}

    @cached_property
    def _everywhere(self) -> Context:
        return new_context()

    def change(self, site: str, certificate: str) -> None:
        """Trust *certificate* at *site*, as `trusting` reads it; "": as everywhere. Raise Poison if
        it is none."""
        trusted = _read(certificate, site) if certificate else None
        self._at.pop(site, None)
        if trusted:
            self._at[site] = trusted

    def change_host(self, name: str, certificate: str | None) -> None:
        """Do so at the host with this *name* alone; None: as at its site."""
        trusted = _read(certificate, name) if certificate else None
        self._at_host.pop(name, None)
        if certificate is not None:
            self._at_host[name] = trusted or self._everywhere

    def of(self, url: str) -> Context | bool:
        """Return how the server of *url* is trusted, as aiohttp wants it."""
        if not url.startswith("https:"):
            return True
        own = self._at_host.get(host_name(url)) if self._at_host else None
        return own or self._at.get(site_of(url)) or self._everywhere


def _read(certificate: str, where: str) -> Context:
    try:
        return trusting(certificate)
    except ValueError as error:
        raise Poison(f"certificate for {where}: {error}") from error


def remember_session(extra: Any) -> None:
    """Keep the session of a transport, if it has one, by its *extra* information."""
    connection = extra("ssl_object")
    if connection is not None and isinstance(connection.context, Context):
        connection.context.remember(connection)
