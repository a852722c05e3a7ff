"""Certificates of issuers that servers do not send (RFC 5280, 4.2.2.1).

A server has to send the certificates between its own and a trusted authority. Many servers lack
one. Most certificates name the URL of their issuer's certificate (Authority Information Access),
and Chrome, Safari and Edge fetch it from there. So does this module: `Issuers` finds the missing
certificates, and keeps those that have completed a chain to a trusted authority.

A fetched certificate is never trusted by itself. The chain must still end at an authority of the
system, and a certificate that names itself as its issuer is dropped.

A server may name any URL. So only http is used, the request passes all checks of addresses and the
blocklist, and a host that does not answer with a certificate is left alone for an hour.
"""

import asyncio
import ssl
import warnings
from collections.abc import Awaitable, Callable, Iterator
from contextvars import Context as Variables
from typing import NamedTuple

import structlog
from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import Encoding, pkcs7
from cryptography.x509.oid import AuthorityInformationAccessOID

from gossamer.cache import RecentlyUsed
from gossamer.services.fetcher.http.tls import Context, new_context
from gossamer.web.url import BadUrl, canonicalize, host_key

MISSING_ISSUER = frozenset({2, 20, 21})
"""OpenSSL's codes of faults that a missing certificate may have caused (X509_V_ERR_UNABLE_TO_…)."""
MAX_LEVELS = 3
"""Maximum number of missing certificates of a chain. Public chains have one or two."""
MAX_BYTES = 64 << 10
"""Maximum size of a response with certificates. One has about 1,500 bytes."""
MAX_URLS = 2
"""Maximum number of URLs that are tried for one issuer."""
FETCH_SECONDS = 10.0
CACHE_SECONDS = 86400.0
FAILURE_SECONDS = 3600.0
"""Seconds without requests to a host that did not answer with a certificate."""
CACHE_SIZE = 1000
"""Responses, and certificates that completed a chain. All public authorities together have about
2,000 of them."""
HOST_CACHE_SIZE = 10_000
"""Hosts whose chain was completed, and hosts that did not answer with a certificate."""

EXTENSION_ERRORS = (
    x509.ExtensionNotFound, x509.DuplicateExtension, x509.UnsupportedGeneralNameType,
)  # fmt: skip
Fetch = Callable[[str], Awaitable[bytes]]
"""Takes a canonical URL; returns the body of its response, or b"" without one."""
Certificates = tuple[x509.Certificate, ...]

logger = structlog.get_logger()


class _Response(NamedTuple):
    until: float
    """When it is requested again, in the time of the event loop."""
    task: asyncio.Task[Certificates]


class Issuers:
    """Completes chains of certificates. *time* is monotonic."""

    def __init__(self, fetch: Fetch, time: Callable[[], float]) -> None:
        self._fetch, self._time = fetch, time
        self._responses = RecentlyUsed[str, _Response](CACHE_SIZE)
        self._failing = RecentlyUsed[str, float](HOST_CACHE_SIZE)
        """Host key → when it may be requested again."""
        self._running: dict[str, asyncio.Task[Certificates]] = {}
        """Host key → its last request, which the next one waits for."""
        self._context: Context | None = None
        """Trusts the system's authorities, and knows the certificates of `_known`."""
        self._known = RecentlyUsed[bytes, None](CACHE_SIZE)
        self._hosts = RecentlyUsed[str, None](HOST_CACHE_SIZE)

    def context_for(self, host: str) -> Context | None:
        """Return the context for *host* if its chain was completed before."""
        return self._context if host in self._hosts else None

    def forget(self, host: str) -> None:
        """Forget that the chain of *host* was completed."""
        self._hosts.pop(host, None)

    def confirm(self, host: str, chain: tuple[bytes, ...], context: Context) -> None:
        """Keep *chain*, with which *context* has verified the certificate of *host*."""
        self._context = self._context or context
        for certificate in chain:
            if certificate not in self._known:
                self._context.load_verify_locations(cadata=certificate)
                self._known[certificate] = None
        self._hosts[host] = None
        logger.info("chain of certificates completed", host=host, certificates=len(chain))

    async def context_with(self, chain: tuple[bytes, ...]) -> Context | None:
        """Return a context that knows the certificates of *chain*; None if one is malformed."""
        if self._context and all(certificate in self._known for certificate in chain):
            return self._context
        # It reads the system's authorities, which takes 20 ms.
        context = await asyncio.to_thread(new_context)
        try:
            context.load_verify_locations(cadata=b"".join(chain))
        except ssl.SSLError:
            return None
        return context

    async def chain_of(self, leaf: bytes) -> tuple[bytes, ...]:
        """Return the certificates above *leaf*, without the authority at the end; () if the first
        one is not found. Certificates are in DER."""
        chain: list[x509.Certificate] = []
        subject: x509.Certificate | None = next(iter(_parse(leaf)), None)
        while subject is not None and len(chain) < MAX_LEVELS:
            subject = await self._issuer_of(subject)
            if subject is None or _is_self_issued(subject):
                break
            chain.append(subject)
        return tuple(one.public_bytes(Encoding.DER) for one in chain)

    async def _issuer_of(self, certificate: x509.Certificate) -> x509.Certificate | None:
        for url in _issuer_urls(certificate):
            for issuer in await self._certificates_at(url):
                if _is_issued_by(certificate, issuer):
                    return issuer
        return None

    async def _certificates_at(self, url: str) -> Certificates:
        response = self._responses.get(url)
        if response is None or response.until < self._time():
            # Visits share the request, so it has neither the variables nor the end of one of them.
            host = host_key(url)
            request = self._request(url, self._running.get(host))
            task = self._running[host] = asyncio.create_task(request, context=Variables())
            response = self._responses[url] = _Response(self._time() + CACHE_SECONDS, task)
        return await asyncio.shield(response.task)

    async def _request(self, url: str, before: asyncio.Task[Certificates] | None) -> Certificates:
        """Return the certificates at *url*, requested after the request *before* has ended."""
        host, found = host_key(url), Certificates()
        try:
            async with asyncio.timeout(FETCH_SECONDS):
                if before is not None:
                    await asyncio.wait([before])
                if not self._is_failing(host):
                    found = _parse(await self._fetch(url))
        except TimeoutError:
            pass
        finally:
            if self._running.get(host) is asyncio.current_task():
                del self._running[host]
        if not found:
            self._responses.pop(url, None)
            if not self._is_failing(host):
                self._failing[host] = self._time() + FAILURE_SECONDS
                logger.info("issuer's certificate not found", url=url, retried_in=FAILURE_SECONDS)
        return found

    def _is_failing(self, host: str) -> bool:
        return self._failing.get(host, 0.0) > self._time()


def _parse(data: bytes) -> Certificates:
    """Return the certificates in *data*: DER, a DER PKCS #7 or PEM; () if it is malformed."""
    readers: tuple[Callable[[bytes], list[x509.Certificate]], ...] = (
        lambda data: [x509.load_der_x509_certificate(data)],
        pkcs7.load_der_pkcs7_certificates,
        x509.load_pem_x509_certificates,
    )
    with warnings.catch_warnings():
        # cryptography warns of old encodings that it still reads.
        warnings.simplefilter("ignore")
        for read in readers:
            try:
                return tuple(read(data))
            except (ValueError, UnsupportedAlgorithm, x509.InvalidVersion):
                continue
    return ()


def _issuer_urls(certificate: x509.Certificate) -> Iterator[str]:
    """Yield the http URLs at which *certificate* says that its issuer's certificate is."""
    try:
        access = certificate.extensions.get_extension_for_class(x509.AuthorityInformationAccess)
    except (ValueError, *EXTENSION_ERRORS):
        return
    urls = 0
    for one in access.value:
        location = one.access_location
        is_issuer = one.access_method == AuthorityInformationAccessOID.CA_ISSUERS
        if not is_issuer or not isinstance(location, x509.UniformResourceIdentifier):
            continue
        try:
            url = canonicalize(location.value)
        except BadUrl:
            continue
        if url.startswith("http:") and urls < MAX_URLS:
            urls += 1
            yield url


def _is_self_issued(certificate: x509.Certificate) -> bool:
    try:
        return certificate.subject == certificate.issuer
    except ValueError:
        return True


def _is_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True
