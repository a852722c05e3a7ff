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

from gossamer.errors import BadSettings
from services.fetcher.access import Access, Accesses, parse_accesses
from services.fetcher.faults import OwnFault
from services.fetcher.head import Malformed
from services.fetcher.http.wire import NoConnection, TlsFailure, tls_fault


class ProxyResolver(AbstractResolver):
    """Has the system look proxies up, wherever they are: the operator has named them. All other
    names are *web*'s to resolve and to check."""

    def __init__(self, web: AbstractResolver, accesses: Accesses) -> None:
        self._web, self._system = web, aiohttp.ThreadedResolver()
        self._proxies = {one.proxy_server.rpartition(":")[0] for one in accesses.values()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of *host*."""
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
def proxied(access: Access) -> Iterator[None]:
    """Raise what goes wrong at the proxy of *access* as NoConnection, or as OwnFault."""
    try:
        yield
    except NoConnection as error:
        raise _unavailable(access, str(error)) from error
    except aiohttp.ClientHttpProxyError as error:
        if error.status == 407:
            raise _unavailable(access, "it wants another password") from error
        why = f"the proxy {access.proxy_server} cannot connect to the host: {error.status}"
        raise NoConnection(why) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise _unavailable(access, "it does not resolve") from error
    except aiohttp.ClientConnectorError as error:
        cause = error.__cause__
        raise TlsFailure(tls_fault(cause if isinstance(cause, OSError) else error)) from error
    except (aiohttp.ClientError, Malformed) as error:
        raise _unavailable(access, str(error) or type(error).__name__) from error


def _unavailable(access: Access, why: str) -> OwnFault | NoConnection:
    text = f"the proxy {access.proxy_server} is of no use: {why}"
    return OwnFault(text) if access.common else NoConnection(text)
