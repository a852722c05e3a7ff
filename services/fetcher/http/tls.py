"""TLS: certificates that the system or an override trusts, and resumed sessions.

A second handshake with a host costs half if it resumes a session. asyncio cannot pass a session to
a handshake, so the context adds it when asyncio calls `wrap_bio`.
"""

import re
import ssl
from functools import cached_property
from hashlib import sha256
from typing import Any

from gossamer.cache import RecentlyUsed
from gossamer.errors import Poison
from gossamer.services.fetcher.outcome import Tls
from gossamer.web.url import Site, host_name, site_of

VERIFY, RECORD = POLICIES = ("verify", "record")
"""What happens if a certificate is not trusted: the request is not made, or it is made in spite of
that and the certificate's fault is recorded."""
SHA256 = "sha256"
_sha256 = re.compile("[0-9a-f]{64}")
_suite = re.compile(
    "(?:(ECDHE|DHE)-(RSA|ECDSA)-)?(AES|CHACHA)(128|256|20)-?(GCM|POLY1305|)-?(SHA|SHA256|SHA384|)"
)
OP_LEGACY_SERVER_CONNECT = 0x4
"""OpenSSL's option to connect to servers without RFC 5746 (`ssl` names it from Python 3.12 on)."""
SESSION_CACHE_SIZE = 2000
"""Hosts whose sessions are cached, about 5 kB each; the least recently used is dropped first."""


class Context(ssl.SSLContext):
    """Verifies certificates and names, and caches the last session of each host."""

    _sessions: RecentlyUsed[str, ssl.SSLSession]
    pinned = ""
    """The SHA-256 of the only certificate that is accepted, valid or not; "": no pin."""
    has_system_trust = False
    """Whether it trusts exactly the system's certificates."""
    records_faults = False
    """Whether a connection without trust is made after verification has failed."""

    @cached_property
    def unverified(self) -> "Context":
        """A context that accepts every certificate. Nothing secret is sent over its connections."""
        return _new_unverified_context()

    def refuses(self, connection: ssl.SSLObject) -> bool:
        """Return whether the certificate of *connection* differs from the pinned one."""
        presented = connection.getpeercert(binary_form=True) or b""
        return bool(self.pinned) and sha256(presented).hexdigest() != self.pinned

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Return the TLS object of a connection, which offers the host's last session."""
        session = session or self._sessions.get(str(server_hostname))
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)

    def store_session(self, connection: ssl.SSLObject) -> None:
        """Cache the session of *connection*; data was received, so a session ticket was, too."""
        if connection.session is not None:
            self._sessions[str(connection.server_hostname)] = connection.session


def new_context() -> Context:
    """Return a context that trusts the system's certificates; reads files.

    It connects to servers without secure renegotiation (RFC 5746), as browsers do. The attack needs
    a client that renegotiates (4.1), and this one never does.
    """
    context = _new_empty_context()
    context.load_default_certs()
    return context


def _new_empty_context() -> Context:
    context = Context(ssl.PROTOCOL_TLS_CLIENT)
    context._sessions = RecentlyUsed(SESSION_CACHE_SIZE)
    context.options |= OP_LEGACY_SERVER_CONNECT | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    return context


def _new_unverified_context() -> Context:
    context = _new_empty_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def context_for(certificate: str) -> Context:
    """Return a context that also trusts *certificate*: PEM, of the server or of its issuer.

    `sha256:…` trusts only the certificate with this digest. `verify` and `record` trust the
    system's, and say what happens to others. Raise ValueError if *certificate* is none of these.
    """
    if certificate in POLICIES:
        context = new_context()
        context.has_system_trust, context.records_faults = True, certificate == RECORD
        return context
    kind, _, digest = certificate.partition(":")
    if kind == SHA256:
        if not _sha256.fullmatch(digest):
            raise ValueError(f"{digest!r} is not a SHA-256 digest of 64 hexadecimal digits")
        context = _new_unverified_context()
        context.pinned = digest
        return context
    context = new_context()
    # A certificate without a trusted issuer can be trusted itself.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(cadata=certificate)
    except ssl.SSLError as error:
        raise ValueError(f"not a certificate in PEM: {error.reason or error}") from error
    return context


class TlsTrust:
    """The trusted certificates: those of *policy* (VERIFY or RECORD), and overrides for sites and
    hosts."""

    def __init__(self, policy: str = VERIFY) -> None:
        self._policy = policy
        self._sites: dict[str, Context] = {}
        self._hosts: dict[str, Context] = {}

    @cached_property
    def _default(self) -> Context:
        return context_for(self._policy)

    def change(self, site: Site, certificate: str) -> None:
        """Set the *certificate* of *site*, as for `context_for`; "" removes the override.

        Raise Poison if it is invalid.
        """
        trusted = _parse_certificate(certificate, site) if certificate else None
        self._sites.pop(site, None)
        if trusted:
            self._sites[site] = trusted

    def change_host(self, name: str, certificate: str | None) -> None:
        """Set the *certificate* of the host *name*; None removes it, "" sets the policy."""
        trusted = _parse_certificate(certificate, name) if certificate else None
        self._hosts.pop(name, None)
        if certificate is not None:
            self._hosts[name] = trusted or self._default

    def ssl_for(self, url: str) -> Context | bool:
        """Return the `ssl` argument of aiohttp for *url*."""
        if not url.startswith("https:"):
            return True
        override = self._hosts.get(host_name(url)) if self._hosts else None
        return override or self._sites.get(site_of(url)) or self._default


def _parse_certificate(certificate: str, owner: str) -> Context:
    try:
        return context_for(certificate)
    except ValueError as error:
        raise Poison(f"certificate for {owner}: {error}") from error


def store_session(extra: Any) -> None:
    """Cache the TLS session of a transport, given its `get_extra_info`."""
    connection = extra("ssl_object")
    if connection is not None and isinstance(connection.context, Context):
        connection.context.store_session(connection)


def describe_tls(connection: ssl.SSLObject | None) -> Tls:
    """Return the version and cipher suite of *connection*; None means that it is not encrypted."""
    if connection is None:
        return Tls()
    version = (connection.version() or "").removeprefix("TLSv")
    name, *_ = connection.cipher() or ("",)
    version = f"{version}.0" if version == "1" else version
    return Tls(f"tls/{version}" if version else "", cipher_suite(name))


def cipher_suite(name: str) -> str:
    """Return IANA's name of the cipher suite that OpenSSL calls *name*; "" if it is not known.

    OpenSSL uses IANA's names for TLS 1.3 only. Suites before that are named by key exchange,
    cipher, mode and hash: `ECDHE-RSA-AES128-GCM-SHA256`.
    """
    if name.startswith("TLS_"):
        return name
    found = _suite.fullmatch(name)
    if found is None:
        return ""
    exchange, signature, cipher, bits, mode, digest = found.groups("")
    keys = f"{exchange}_{signature}" if exchange else "RSA"
    if cipher == "CHACHA":
        return f"TLS_{keys}_WITH_CHACHA20_POLY1305_SHA256"
    return f"TLS_{keys}_WITH_{cipher}_{bits}_{mode or 'CBC'}_{digest}"
