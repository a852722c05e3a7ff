"""TLS as the system trusts it, and sessions resumed: a second handshake with a host costs half.

asyncio gives a handshake no session to resume, and asks the context for its object: that is where
one is put in.
"""

import ssl
from collections import OrderedDict
from typing import Any

REMEMBERED = 2000
"""Hosts whose sessions are kept, some 5 kB each; the one used longest ago is forgotten first."""


class Context(ssl.SSLContext):
    """Verifies certificates and names; knows the last session of each host."""

    _sessions: OrderedDict[str, ssl.SSLSession]

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


def remember_session(extra: Any) -> None:
    """Keep the session of a transport, if it has one, by its *extra* information."""
    connection = extra("ssl_object")
    if connection is not None and isinstance(connection.context, Context):
        connection.context.remember(connection)
