"""Requests through a proxy: how it is found, and what it means where it fails.

Whoever asks through a proxy gets a connection to that, and none to the host. One that serves all
hosts and does not answer is our own fault, as a network that is down; of one that serves a single
host only this host is down for us.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from python_socks import ProxyError
from yarl import URL

from gossamer.errors import BadSettings
from services.fetcher.access import Access, Accesses, parse_accesses
from services.fetcher.head import Malformed
from services.fetcher.http.connections import SOCKS, NoConnection, Through, TlsFailure, tls_fault
from services.fetcher.limitations import OwnFault

NOWHERE = "192.0.2.1"
"""Stands for an address that only a proxy knows. Nobody has it (RFC 5737): what would connect to it
by mistake reaches no machine, ours least of all."""


def _any(name: str, port: int) -> ResolveResult:
    family = socket.AF_INET
    return ResolveResult(hostname=name, host=NOWHERE, port=port, family=family, proto=0, flags=0)


class ProxyResolver(AbstractResolver):
    """Has the system look proxies up, wherever they are: the operator has named them. All other
    names are *web*'s to resolve and to check."""

    def __init__(self, web: AbstractResolver, accesses: Accesses) -> None:
        self._web, self._system = web, aiohttp.ThreadedResolver()
        self._proxies = {one.proxy_server.rpartition(":")[0] for one in accesses.values()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of *host*; any, where a SOCKS proxy resolves it."""
        if SOCKS.get():
            return [_any(host, port)]
        resolver = self._system if host in self._proxies else self._web
        return await resolver.resolve(host, port, family)

    async def close(self) -> None:
        """Leave *web* open: it is not of this connector alone."""


def read_accesses(file: Path | None) -> Accesses:
    """Return what *file* says of single hosts; raise BadSettings if it cannot be read."""
    try:
        return parse_accesses(file.read_text(encoding="utf-8")) if file else {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"fetcher.access_file: {file} cannot be read") from error


@contextmanager
def proxied(access: Access, url: URL) -> Iterator[None]:
    """Ask for *url* through the proxy of *access*; raise what goes wrong there as NoConnection, or
    as OwnFault."""
    through = Through(access.socks, url.host or "", url.port or 0) if access.socks else None
    token = SOCKS.set(through)
    try:
        with _faults(access):
            yield
    finally:
        SOCKS.reset(token)


@contextmanager
def _faults(access: Access) -> Iterator[None]:
    try:
        yield
    except NoConnection as error:
        raise _unavailable(access, str(error)) from error
    except (aiohttp.ClientHttpProxyError, ProxyError) as error:
        raise _refused(access, error) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise _unavailable(access, "it does not resolve") from error
    except aiohttp.ClientConnectorError as error:
        cause = error.__cause__
        raise TlsFailure(tls_fault(cause if isinstance(cause, OSError) else error)) from error
    except (aiohttp.ClientError, Malformed) as error:
        raise _unavailable(access, str(error) or type(error).__name__) from error


def _refused(
    access: Access, error: aiohttp.ClientHttpProxyError | ProxyError
) -> OwnFault | NoConnection:
    if isinstance(error, ProxyError):
        why, at_host = str(error), error.error_code is not None
    else:
        why, at_host = str(error.status), error.status != 407
    if not at_host:
        return _unavailable(access, f"it wants another password: {why}")
    return NoConnection(f"the proxy {access.proxy_server} cannot connect to the host: {why}")


def _unavailable(access: Access, why: str) -> OwnFault | NoConnection:
    text = f"the proxy {access.proxy_server} is of no use: {why}"
    return OwnFault(text) if access.common else NoConnection(text)
