"""Requests through a proxy: how the proxy is resolved, and what its failures mean.

A failure of the proxy for all hosts is a local fault, like a network that is down. A failure of the
proxy for a single host means that this host is down for us.
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
from gossamer.services.fetcher.access import Access, AccessTable, parse_access_file
from gossamer.services.fetcher.head import Malformed
from gossamer.services.fetcher.http.connections import (
    SOCKS_ROUTE,
    NoConnection,
    SocksRoute,
    TlsFailure,
    describe_tls_error,
)
from gossamer.services.fetcher.limitations import LocalFault

UNROUTABLE_ADDRESS = "192.0.2.1"
"""Stands for an address that only the proxy knows. It is reserved (RFC 5737), so a connection to it
by mistake reaches no machine."""


def _any_address(name: str, port: int) -> ResolveResult:
    family = socket.AF_INET
    return ResolveResult(
        hostname=name, host=UNROUTABLE_ADDRESS, port=port, family=family, proto=0, flags=0
    )


class ProxyResolver(AbstractResolver):
    """Resolves proxies with the system's resolver, and every other name with *web*.

    The operator named the proxies, so their addresses are not checked.
    """

    def __init__(self, web: AbstractResolver, accesses: AccessTable) -> None:
        self._web, self._system = web, aiohttp.ThreadedResolver()
        self._proxies = {one.proxy_server.rpartition(":")[0] for one in accesses.values()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of *host*, or UNROUTABLE_ADDRESS if a SOCKS proxy resolves it."""
        if SOCKS_ROUTE.get():
            return [_any_address(host, port)]
        resolver = self._system if host in self._proxies else self._web
        return await resolver.resolve(host, port, family)

    async def close(self) -> None:
        """Do not close *web*, which is shared."""


def read_access_file(file: Path | None) -> AccessTable:
    """Read the access file; raise BadSettings if that fails."""
    try:
        return parse_access_file(file.read_text(encoding="utf-8")) if file else {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"fetcher.access_file: {file} cannot be read") from error


@contextmanager
def through_proxy(access: Access, url: URL) -> Iterator[None]:
    """Request *url* through the proxy of *access*.

    Raise NoConnection or LocalFault if the proxy fails.
    """
    route = SocksRoute(access.socks, url.host or "", url.port or 0) if access.socks else None
    token = SOCKS_ROUTE.set(route)
    try:
        with _map_errors(access):
            yield
    finally:
        SOCKS_ROUTE.reset(token)


@contextmanager
def _map_errors(access: Access) -> Iterator[None]:
    try:
        yield
    except NoConnection as error:
        raise _proxy_unavailable(access, str(error)) from error
    except (aiohttp.ClientHttpProxyError, ProxyError) as error:
        raise _proxy_error(access, error) from error
    except aiohttp.ClientConnectorDNSError as error:
        raise _proxy_unavailable(access, "its name does not resolve") from error
    except aiohttp.ClientConnectorError as error:
        cause = error.__cause__
        raise TlsFailure(
            describe_tls_error(cause if isinstance(cause, OSError) else error)
        ) from error
    except (aiohttp.ClientError, Malformed) as error:
        raise _proxy_unavailable(access, str(error) or type(error).__name__) from error


def _proxy_error(
    access: Access, error: aiohttp.ClientHttpProxyError | ProxyError
) -> LocalFault | NoConnection:
    if isinstance(error, ProxyError):
        reason, at_host = str(error), error.error_code is not None
    else:
        reason, at_host = str(error.status), error.status != 407
    if not at_host:
        return _proxy_unavailable(access, f"it refuses the password: {reason}")
    return NoConnection(f"the proxy {access.proxy_server} cannot connect to the host: {reason}")


def _proxy_unavailable(access: Access, reason: str) -> LocalFault | NoConnection:
    text = f"the proxy {access.proxy_server} failed: {reason}"
    return LocalFault(text) if access.is_default else NoConnection(text)
