"""Makes single requests with aiohttp: one at a time to a host, for exactly the URL.

aiohttp follows no redirects, stores no cookies, uses no proxies from the environment, decodes no
body, and retries nothing: a request that the server may have seen is never repeated without a
pause.

`GapMeter` measures politeness: the smallest gap between two requests to one host, divided by its
delay. It measures where requests start and end, and does not depend on the code that keeps requests
apart (the frontier, `steps.py`), so that it shows a mistake in that code.
"""

import asyncio
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import inf

import aiohttp
import structlog
from msgspec.structs import replace
from yarl import URL

from gossamer.blocklist import Blocklist
from gossamer.cache import RecentlyUsed
from gossamer.clock import Clock
from gossamer.events import Outcome, Timing
from gossamer.events.hazards import Hazard
from gossamer.services.fetcher.access import Access, access_for, redact, request_headers
from gossamer.services.fetcher.head import keep_alive_seconds
from gossamer.services.fetcher.http.bodies import BodyBuffer, BodyMemoryTimeout, BodyReader
from gossamer.services.fetcher.http.connections import (
    BEFORE_SEND,
    EXACT_URL,
    BadHead,
    Connector,
    ExactRequest,
    ExactUrl,
    IdleConnections,
    NoConnection,
    RawResponse,
    SilentServer,
    TlsFailure,
)
from gossamer.services.fetcher.http.issuers import MAX_BYTES, Issuers
from gossamer.services.fetcher.http.limiters import (
    LEASE_TOO_SHORT,
    Admission,
    Request,
    Stage,
    request_limiters,
)
from gossamer.services.fetcher.http.nameservers import DnsFailure, DnsUnanswered
from gossamer.services.fetcher.http.proxies import ProxyResolver, read_access_file, through_proxy
from gossamer.services.fetcher.http.resolver import Blocklisted, PrivateAddress, Resolver
from gossamer.services.fetcher.http.signing import Signer
from gossamer.services.fetcher.http.tls import TlsTrust
from gossamer.services.fetcher.limitations import QUIET_SECONDS, LocalFault, Outage, local_fault
from gossamer.services.fetcher.outcome import OK, Failure, Reply, accept_any
from gossamer.services.fetcher.rate_limits import (
    AddressLimits,
    Denied,
    LocalSlots,
    SlotSource,
    address_key,
)
from gossamer.services.fetcher.steps import Fetch
from gossamer.settings import FetcherSettings
from gossamer.telemetry import observe, set_gauge
from gossamer.web.coding import decode
from gossamer.web.http import joined_values
from gossamer.web.url import Site, host_key, host_name, is_address, site_of

FAILURES: dict[type[Exception], tuple[Outcome, Hazard | None]] = {
    PrivateAddress: (Outcome.PRIVATE_ADDRESS, Hazard.PRIVATE_ADDRESS),
    Blocklisted: (Outcome.BLACKLISTED, Hazard.BLACKLISTED),
    DnsFailure: (Outcome.DNS_FAILURE, Hazard.DNS_FAILURE),
    DnsUnanswered: (Outcome.DNS_UNANSWERED, None),
    NoConnection: (Outcome.HOST_DOWN, Hazard.HOST_DOWN),
    TlsFailure: (Outcome.TLS_FAILURE, Hazard.TLS_FAILURE),
    SilentServer: (Outcome.SILENT_SERVER, Hazard.SILENT_SERVER),
    BadHead: (Outcome.MALFORMED_HEAD, Hazard.MISSING_HEADERS),
    BodyMemoryTimeout: (Outcome.INTERNAL_ERROR, None),
}
"""Exception → outcome and hazard, for each phase up to the head. Failures of the body are in the
reply, except a lack of memory. Any other exception is an internal error."""
READ_AHEAD = 64 << 10
"""Bytes of a body that aiohttp buffers before they are read; it may buffer twice as many."""

CONNECTIONS_FAIL = "most servers cannot be reached, wherever they are"
UNKNOWN = ""
"""The address of a host behind a proxy."""
HOST_CACHE_SIZE = 10_000
"""Hosts whose last request is cached; the host requested longest ago is dropped first."""

logger = structlog.get_logger()


class Web:
    """The parts that all visits share: identity, limits, blocklist, resolver, connections."""

    def __init__(
        self, settings: FetcherSettings, clock: Clock, slots: SlotSource | None = None
    ) -> None:
        """Without *slots*, this is the only fetcher."""
        self.settings, self.clock = settings, clock
        self.accesses = read_access_file(settings.access_file)
        self.headers, self.signer = request_headers(settings), Signer(settings, clock)
        time = asyncio.get_running_loop().time
        self.blocklist, self.gaps = Blocklist(), GapMeter(time)
        at_once = settings.address_at_once
        self.address_limits = AddressLimits(at_once, settings.address_gap, settings.visit_limit)
        slots = slots or LocalSlots(at_once)
        self.limiters = request_limiters(settings, self.address_limits, slots, time)
        self.resolver, self.trust = (
            Resolver(settings, time, self.blocklist),
            TlsTrust(settings.certificates),
        )
        self.outage = Outage(settings.outage_share, QUIET_SECONDS)
        """The outage of connections. The resolver detects the outage of lookups."""
        connector = Connector(
            settings.head_limit,
            Issuers(self._fetch_issuer, time),
            resolver=ProxyResolver(self.resolver, self.accesses),
            use_dns_cache=False,
            limit=0,
            limit_per_host=1,
            keepalive_timeout=2 * settings.keep_limit,  # `IdleConnections` closes them earlier.
        )
        self.idle = IdleConnections(connector.drop, settings.keep_limit, settings.orders_limit)
        self.session, self.bodies = self._session(connector), BodyReader(settings, time)

    def pop_hazards(self, name: str, site: Site) -> tuple[Hazard, ...]:
        """Return and forget the hazards of a name and its domain that lookups have found."""
        return self.resolver.pop_hazards(name, site)

    def host(self) -> "HostClient":
        """Return a client for one order."""
        return HostClient(self)

    async def _fetch_issuer(self, url: str) -> bytes:
        """Return the body at the canonical *url*, which a certificate names; b"" without one."""
        if self.blocklist.of_url(url):
            return b""
        request = Request(site_of(url), 0.0, 0.0, 1, lambda: inf)
        try:
            # Nobody ordered the request, so that only the limits of connections apply.
            admission = Admission[Request]((), request)
            reply = await self.host().fetch(Fetch(url, accept_any, MAX_BYTES), admission)
        except (Denied, LocalFault):
            return b""
        if not isinstance(reply, Reply) or reply.status != OK or reply.truncated:
            return b""
        codings = joined_values(reply.headers, "content-encoding")
        return decode(reply.body, codings, MAX_BYTES).data

    def _session(self, connector: Connector) -> aiohttp.ClientSession:
        limits = aiohttp.ClientTimeout(
            total=None,
            sock_connect=self.settings.connect_limit,
            sock_read=self.settings.first_byte_limit,
        )
        session = aiohttp.ClientSession(
            connector=connector,
            auto_decompress=False,
            cookie_jar=aiohttp.DummyCookieJar(),
            trust_env=False,
            headers=self.headers,
            timeout=limits,
            request_class=ExactRequest,
            response_class=RawResponse,
            read_bufsize=READ_AHEAD,
        )
        # aiohttp would repeat a request whose connection closes early; see the package docstring.
        session._retry_connection = False
        return session

    async def close(self) -> None:
        """Close all connections, and the resolver."""
        await self.session.close()
        await self.resolver.close()


class HostClient:
    """Makes the requests of one order."""

    def __init__(self, web: Web) -> None:
        self._web = web
        self._time = asyncio.get_running_loop().time
        self._phases = PhaseTimer(self._time)
        """The phases of the current request."""

    async def fetch(self, step: Fetch, admission: Admission[Request]) -> Reply | Failure:
        """Return the response or the failure. Nothing that a server does raises an exception.

        Raise LocalFault if no request could be made and no host is to blame, Denied if a limiter
        denies the request or its name is not looked up in time.
        """
        request, self._phases = admission.request, PhaseTimer(self._time)
        try:
            addresses = await self._addresses(
                host_name(step.url), step.url, request.remaining_seconds()
            )
        except TimeoutError as error:
            raise Denied(LEASE_TOO_SHORT) from error
        except (PrivateAddress, Blocklisted, DnsFailure, DnsUnanswered) as error:
            self._phases.end()
            return replace(_failure(error), timing=self._phases.timing)
        request.address = address_key(addresses[0])
        self._phases.begin("limited")
        await admission.reach(Stage.CONNECT)
        return await self._request(step, addresses, admission)

    async def _request(
        self, step: Fetch, addresses: tuple[str, ...], admission: Admission[Request]
    ) -> Reply | Failure:
        started_at, begun_at = self._web.clock(), self._phases.begin("connect")
        host, delay = host_key(step.url), admission.request.delay
        self._web.idle.reuse(host, addresses)
        self._close_idle(addresses[0])
        try:
            with self._web.gaps.request(host_name(host), delay):
                response = await self._response_to(step, host, addresses, admission)
        finally:
            took = self._phases.end() - begun_at
            observe("gossamer_fetch_seconds", took)
        return replace(response, started_at=started_at, took=took, timing=self._phases.timing)

    def _close_idle(self, address: str) -> None:
        """Close idle connections to *address* until one more connection is within the limit."""
        key = address_key(address)
        while key and self._web.idle.count_at(key) > self._spare_slots(key):
            self._web.idle.close_oldest_at(key)

    def _may_keep(self, address: str) -> bool:
        key = address_key(address)
        return not key or self._web.idle.count_at(key) <= self._spare_slots(key)

    def _spare_slots(self, key: str) -> int:
        return self._web.address_limits.count_spare_slots(key, self._time())

    async def _addresses(self, name: str, url: str, timeout: float) -> tuple[str, ...]:
        # A proxy resolves names itself; the operator is responsible for the addresses.
        if access_for(url, self._web.accesses).proxy and not is_address(name):
            return (UNKNOWN,)
        resolver = self._web.resolver
        # A timer costs more than a cached answer.
        async with nullcontext() if resolver.has_cached(name) else asyncio.timeout(timeout):
            return await resolver.addresses(name)

    async def _response_to(
        self, step: Fetch, host: str, addresses: tuple[str, ...], admission: Admission[Request]
    ) -> Reply | Failure:
        deadline = self._time() + self._web.settings.visit_limit
        outage, site = self._web.outage, site_of(step.url)
        try:
            reply = await self._exchange(step, host, deadline, admission)
            outage.record(site, failed=False, now=self._time())
            return reply
        except NoConnection as error:
            if fault := error.error and local_fault(error.error, addresses):
                raise fault from error
            # A server that refuses a connection can be reached.
            is_refusal = error.error is not None and error.error.errno == errno.ECONNREFUSED
            outage.record(site, failed=not is_refusal, now=self._time())
            if outage.is_active and not is_refusal:
                raise LocalFault(CONNECTIONS_FAIL) from error
            return _failure(error)
        except aiohttp.ClientConnectorDNSError as error:
            # The cached addresses have just expired, and the name was looked up again.
            if isinstance(error.os_error, LocalFault):
                raise error.os_error from error
            return _failure(error.os_error)
        except (TlsFailure, SilentServer, BadHead, BodyMemoryTimeout) as error:
            return _failure(error)

    async def _exchange(
        self, step: Fetch, host: str, deadline: float, admission: Admission[Request]
    ) -> Reply:
        access = access_for(step.url, self._web.accesses)
        try:
            async with asyncio.timeout_at(deadline) as limit:
                with self._pass_limits(admission, limit):
                    response = await self._head(step, access)
            deadline = limit.when() or deadline
            self._phases.begin("body")
        except TimeoutError as error:
            raise SilentServer("the visit's time was over before the head came") from error
        try:
            buffer = BodyBuffer(step, response.head.status, response.head.headers)
            truncated = await self._web.bodies.read(response, buffer, site_of(step.url), deadline)
            return _reply(response, buffer, truncated, access)
        finally:
            # Does nothing if the body was read to its end: the connection is idle then.
            response.close()
            may_keep = self._may_keep(response.address)
            timeout = keep_alive_seconds(response.head) if may_keep else 0.0
            delay = admission.request.delay
            self._web.idle.keep(host, response.key, response.address, delay, timeout)

    @contextmanager
    def _pass_limits(self, admission: Admission[Request], limit: asyncio.Timeout) -> Iterator[None]:
        """Let the request pass its last limiters; its timeout *limit* excludes that wait."""

        async def wait() -> None:
            deadline, started_at = limit.when() or 0.0, self._time()
            limit.reschedule(None)
            self._phases.begin("limited")
            try:
                await admission.reach(Stage.SEND)
                self._phases.begin("first_byte")
            finally:
                limit.reschedule(deadline + self._time() - started_at)

        token = BEFORE_SEND.set(wait)
        try:
            yield
        finally:
            BEFORE_SEND.reset(token)

    async def _head(self, step: Fetch, access: Access) -> RawResponse:
        url = URL(step.url, encoded=True)
        EXACT_URL.set(ExactUrl(step.url, url.scheme, step.url[len(host_key(step.url)) :]))
        with through_proxy(access, url) if access.proxy else nullcontext():
            response = await self._web.session.get(
                url,
                headers=(
                    *step.headers,
                    *access.headers,
                    *self._web.signer.headers(step.url, step.sign),
                ),
                allow_redirects=False,
                proxy=None if access.socks else access.proxy or None,
                ssl=self._web.trust.ssl_for(step.url),
            )
        assert isinstance(response, RawResponse)
        if access.proxy:
            response.address = UNKNOWN
        return response


def _reply(response: RawResponse, buffer: BodyBuffer, truncated: str, access: Access) -> Reply:
    head = response.head
    # Events have headers as octets in Latin-1. Cookies are such octets, and aiohttp has sent the
    # text of other headers as UTF-8.
    sent = tuple(
        (str(name), value if name == "Cookie" else value.encode().decode("latin-1"))
        for name, value in response.request_info.headers.items()
    )
    return Reply(
        status=head.status,
        reason=head.reason,
        http_version=head.version,
        headers=head.headers,
        body=buffer.body,
        kind=buffer.kind,
        truncated=truncated,
        address=response.address,
        tls=response.tls,
        request_headers=redact(sent, access),
    )


def _failure(error: Exception) -> Failure:
    outcome, hazard = FAILURES[type(error)]
    text = str(error).encode("utf-8", "replace").decode()
    return Failure(
        outcome=outcome,
        reason=(text or type(error).__name__)[:500],
        hazard=hazard,
        stale=isinstance(error, BadHead) and error.stale,
    )


class PhaseTimer:
    """Measures the phases of one request, as `Timing` names them; the first is the lookup."""

    def __init__(self, time: Callable[[], float]) -> None:
        self._time, self._phase, self._begun_at = time, "dns", time()
        self._seconds = dict[str, float]()

    def begin(self, phase: str) -> float:
        """End the current phase, and begin or continue *phase*; return the time."""
        now = self._time()
        self._seconds[self._phase] = self._seconds.get(self._phase, 0.0) + now - self._begun_at
        self._phase, self._begun_at = phase, now
        return now

    def end(self) -> float:
        """End the current phase; return the time."""
        return self.begin(self._phase)

    @property
    def timing(self) -> Timing:
        """The seconds of all phases that have ended."""
        return Timing(**self._seconds)


@dataclass
class LastRequest:
    """When the last request to a host ended, and how many are in flight."""

    ended_at: float = float("-inf")
    in_flight: int = 0


class GapMeter:
    """Measures the gaps between the requests of one process. *clock* is monotonic.

    A gap is from the end of a request to the start of the next, as the delay is defined. The gap of
    overlapping requests is 0.
    """

    def __init__(self, clock: Callable[[], float], cache_size: int = HOST_CACHE_SIZE) -> None:
        self._clock, self._hosts = clock, RecentlyUsed[str, LastRequest](cache_size)
        self._smallest = float("inf")

    @contextmanager
    def request(self, host: str, delay: float) -> Iterator[None]:
        """Measure the gap before a request to *host*, which lasts as long as the block."""
        last = self._hosts.setdefault(host, LastRequest())
        self._measure(host, delay, 0.0 if last.in_flight else self._clock() - last.ended_at)
        last.in_flight += 1
        try:
            yield
        finally:
            last.in_flight -= 1
            last.ended_at = self._clock()

    def _measure(self, host: str, delay: float, gap: float) -> None:
        if not delay or gap == float("inf"):
            return
        if gap / delay < self._smallest:
            self._smallest = gap / delay
            set_gauge("gossamer_smallest_gap_ratio", self._smallest)
        if gap < delay:
            logger.warning("delay between requests not kept", host=host, gap=gap, delay=delay)
