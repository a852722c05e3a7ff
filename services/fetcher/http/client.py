"""aiohttp, made strict: one request at a time to a host, for exactly the URL, and nothing else.

No redirects, no cookies, no proxies from the environment, no decoding, and no second attempt: a
request that the server may have seen is never repeated without a pause.
"""

import asyncio
import errno
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import aiohttp
from msgspec.structs import replace
from yarl import URL

from gossamer.blocklist import Blocklist
from gossamer.clock import Clock
from gossamer.events import Outcome
from gossamer.events.hazards import Hazard
from gossamer.settings import FetcherSettings
from gossamer.telemetry import observe
from gossamer.web.url import host_key, host_name, is_address, site_of
from services.fetcher.access import Access, access_for, request_headers, shown
from services.fetcher.head import kept_for
from services.fetcher.http.bodies import Bodies, NoRoom, Reading
from services.fetcher.http.connections import (
    LOOK,
    Answer,
    Connector,
    Kept,
    NoConnection,
    NoHead,
    Silent,
    TlsFailure,
)
from services.fetcher.http.gaps import Gaps
from services.fetcher.http.limiters import LATE, Admission, Request, Stage, request_limiters
from services.fetcher.http.nameservers import DnsFailure, DnsUnanswered
from services.fetcher.http.proxies import ProxyResolver, proxied, read_accesses
from services.fetcher.http.resolver import Blocklisted, PrivateAddress, Resolver
from services.fetcher.http.tls import Trust
from services.fetcher.limitations import Outage, OwnFault, own_fault
from services.fetcher.outcome import Failure, Reply
from services.fetcher.rate_limits import Crowds, Denied, OwnSlots, Slots, crowd_of
from services.fetcher.steps import Fetch

FAILURES: dict[type[Exception], tuple[Outcome, Hazard | None]] = {
    PrivateAddress: (Outcome.PRIVATE_ADDRESS, Hazard.PRIVATE_ADDRESS),
    Blocklisted: (Outcome.BLACKLISTED, Hazard.BLACKLISTED),
    DnsFailure: (Outcome.DNS_FAILURE, Hazard.DNS_FAILURE),
    DnsUnanswered: (Outcome.DNS_UNANSWERED, None),
    NoConnection: (Outcome.HOST_DOWN, Hazard.HOST_DOWN),
    TlsFailure: (Outcome.TLS_FAILURE, Hazard.TLS_FAILURE),
    Silent: (Outcome.SILENT_SERVER, Hazard.SILENT_SERVER),
    NoHead: (Outcome.MALFORMED_HEAD, Hazard.MISSING_HEADERS),
    NoRoom: (Outcome.INTERNAL_ERROR, None),
}
"""One for each phase up to the head; what a body meets is in the reply, unless it is for us. Any
other exception is a mistake of ours."""
READ_AHEAD = 64 << 10
"""Bytes of a body that aiohttp takes from the socket before somebody reads them; twice that at
most."""

CONNECTIONS_FAIL = "most servers cannot be reached, wherever they are"
UNKNOWN = ""
"""The address of a host behind a proxy."""


class Web:
    """What all visits share: who we are, the limits, what is forbidden, the resolver, the gaps
    between requests."""

    def __init__(self, settings: FetcherSettings, clock: Clock, slots: Slots | None = None) -> None:
        """Without *slots* of addresses, no other fetcher is there."""
        self.settings, self.clock = settings, clock
        self.accesses = read_accesses(settings.access_file)
        self.headers = request_headers(settings)
        time = asyncio.get_running_loop().time
        self.blocklist, self.gaps = Blocklist(), Gaps(time)
        at_once = settings.address_at_once
        self.crowds = Crowds(at_once, settings.address_gap, settings.visit_limit)
        self.limiters = request_limiters(settings, self.crowds, slots or OwnSlots(at_once), time)
        self.resolver, self.trust = Resolver(settings, time, self.blocklist), Trust()
        self.outage = Outage(settings.outage_share)
        """Of connections."""
        connector = Connector(
            settings.head_limit,
            resolver=ProxyResolver(self.resolver, self.accesses),
            use_dns_cache=False,
            limit=0,
            limit_per_host=1,
            keepalive_timeout=2 * settings.keep_limit,  # `Kept` is there first.
        )
        self.kept = Kept(connector.drop, settings.keep_limit, settings.orders_limit)
        self.session, self.bodies = self._session(connector), Bodies(settings, time)

    def noticed(self, name: str, site: str) -> tuple[Hazard, ...]:
        """Return, once, what was noticed of a name and its domain when they were looked up."""
        return self.resolver.noticed(name, site)

    def host(self) -> "HostClient":
        """Return a client for one order."""
        return HostClient(self)

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
            response_class=Answer,
            read_bufsize=READ_AHEAD,
        )
        # aiohttp repeats a request whose connection closes before an answer; see the package.
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

    async def fetch(self, step: Fetch, admission: Admission[Request]) -> Reply | Failure:
        """Return the response, or the failure: nothing that the Web does raises here.

        Raise OwnFault if no request could be made, and no host is to blame; Denied if a limiter
        does not let it pass, or its name is not looked up in time.
        """
        request = admission.request
        try:
            addresses = await self._addresses(host_name(step.url), step.url, request.left())
        except TimeoutError as error:
            raise Denied(LATE) from error
        except (PrivateAddress, Blocklisted, DnsFailure, DnsUnanswered) as error:
            return _failure(error)
        request.address = crowd_of(addresses[0])
        await admission.reach(Stage.CONNECT)
        return await self._request(step, addresses, admission)

    async def _request(
        self, step: Fetch, addresses: tuple[str, ...], admission: Admission[Request]
    ) -> Reply | Failure:
        started_at, begun = self._web.clock(), self._time()
        host, delay = host_key(step.url), admission.request.delay
        self._web.kept.take(host, addresses)
        self._make_room(addresses[0])
        try:
            with self._web.gaps.request(host_name(host), delay):
                answer = await self._answer(step, host, addresses, admission)
        finally:
            took = self._time() - begun
            observe("gossamer_fetch_seconds", took)
        return replace(answer, started_at=started_at, took=took)

    def _make_room(self, address: str) -> None:
        """Close connections that nobody uses, if with the next one there are more than may be."""
        crowd = crowd_of(address)
        while crowd and self._web.kept.at(crowd) > self._spare(crowd):
            self._web.kept.drop_one(crowd)

    def _may_keep(self, address: str) -> bool:
        crowd = crowd_of(address)
        return not crowd or self._web.kept.at(crowd) <= self._spare(crowd)

    def _spare(self, crowd: str) -> int:
        return self._web.crowds.spare(crowd, self._time())

    async def _addresses(self, name: str, url: str, patience: float) -> tuple[str, ...]:
        # A proxy resolves names itself, and must refuse what we would.
        if access_for(url, self._web.accesses).proxy and not is_address(name):
            return (UNKNOWN,)
        resolver = self._web.resolver
        # A timer costs more than to remember.
        async with nullcontext() if resolver.knows(name) else asyncio.timeout(patience):
            return await resolver.addresses(name)

    async def _answer(
        self, step: Fetch, host: str, addresses: tuple[str, ...], admission: Admission[Request]
    ) -> Reply | Failure:
        deadline = self._time() + self._web.settings.visit_limit
        outage, site = self._web.outage, site_of(step.url)
        try:
            reply = await self._exchange(step, host, deadline, admission)
            outage.tried(site, failed=False, now=self._time())
            return reply
        except NoConnection as error:
            if fault := error.error and own_fault(error.error, addresses):
                raise fault from error
            # Who refuses is there.
            refused = error.error is not None and error.error.errno == errno.ECONNREFUSED
            outage.tried(site, failed=not refused, now=self._time())
            if outage.is_out and not refused:
                raise OwnFault(CONNECTIONS_FAIL) from error
            return _failure(error)
        except aiohttp.ClientConnectorDNSError as error:
            # What was known of the name has just expired, and it was looked up once more.
            if isinstance(error.os_error, OwnFault):
                raise error.os_error from error
            return _failure(error.os_error)
        except (TlsFailure, Silent, NoHead, NoRoom) as error:
            return _failure(error)

    async def _exchange(
        self, step: Fetch, host: str, deadline: float, admission: Admission[Request]
    ) -> Reply:
        access = access_for(step.url, self._web.accesses)
        try:
            async with asyncio.timeout_at(deadline) as limit:
                with self._sending(admission, limit):
                    response = await self._head(step, access)
            deadline = limit.when() or deadline
        except TimeoutError as error:
            raise Silent("the visit's time was over before there was a head") from error
        try:
            reading = Reading(step, response.head.status, response.head.headers)
            truncated = await self._web.bodies.read(response, reading, deadline)
            return _reply(response, reading, truncated, access)
        finally:
            # Does nothing where the body was read to its end: the connection is idle then.
            response.close()
            patience = kept_for(response.head) if self._may_keep(response.address) else 0.0
            delay = admission.request.delay
            self._web.kept.keep(host, response.key, response.address, delay, patience)

    @contextmanager
    def _sending(self, admission: Admission[Request], limit: asyncio.Timeout) -> Iterator[None]:
        """Have the request under way pass its last limiters; its *limit* does not count that."""

        async def wait() -> None:
            deadline, begun = limit.when() or 0.0, self._time()
            limit.reschedule(None)
            try:
                await admission.reach(Stage.SEND)
            finally:
                limit.reschedule(deadline + self._time() - begun)

        token = LOOK.set(wait)
        try:
            yield
        finally:
            LOOK.reset(token)

    async def _head(self, step: Fetch, access: Access) -> Answer:
        url = URL(step.url, encoded=True)
        with proxied(access, url) if access.proxy else nullcontext():
            response = await self._web.session.get(
                url,
                headers=(*step.headers, *access.headers),
                allow_redirects=False,
                proxy=None if access.socks else access.proxy or None,
                ssl=self._web.trust.of(step.url),
            )
        assert isinstance(response, Answer)
        if access.proxy:
            response.address = UNKNOWN
        return response


def _reply(response: Answer, reading: Reading, truncated: str, access: Access) -> Reply:
    head = response.head
    sent = tuple((str(name), value) for name, value in response.request_info.headers.items())
    return Reply(
        status=head.status,
        reason=head.reason,
        http_version=head.version,
        headers=head.headers,
        body=reading.body,
        kind=reading.kind,
        truncated=truncated,
        address=response.address,
        request_headers=shown(sent, access),
    )


def _failure(error: Exception) -> Failure:
    outcome, hazard = FAILURES[type(error)]
    text = str(error).encode("utf-8", "replace").decode()
    return Failure(
        outcome=outcome,
        reason=(text or type(error).__name__)[:500],
        hazard=hazard,
        stale=isinstance(error, NoHead) and error.stale,
    )
