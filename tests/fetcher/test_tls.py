"""TLS: errors of certificates, and resumed sessions."""

import asyncio
import ssl
from datetime import UTC, datetime

import pytest
import trustme

from gossamer.events import Outcome
from gossamer.services.fetcher.http.tls import OP_LEGACY_SERVER_CONNECT, cipher_suite, context_for
from tests.fetcher.orders import HASTY, fetcher, order, run_order, visit_page, work
from tests.fetcher.servers import hanging, page, serving, serving_over

LONG_AGO = (datetime(2001, 1, 1, tzinfo=UTC), datetime(2002, 1, 1, tzinfo=UTC))


@pytest.fixture
def authority(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> trustme.CA:
    """Return an authority that the fetcher trusts."""
    ca = trustme.CA()
    trusted = f"{tmp_path}/trusted.pem"
    ca.cert_pem.write_to_path(trusted)
    monkeypatch.setenv("SSL_CERT_FILE", trusted)
    return ca


def certified_context(
    ca: trustme.CA, name: str = "127.0.0.1", expired: bool = False
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    before, after = LONG_AGO if expired else (None, None)
    ca.issue_cert(name, not_before=before, not_after=after).configure_cert(context)
    return context


def test_servers_without_secure_renegotiation_are_reached(authority: trustme.CA) -> None:
    """Reports scrapy #5491, brozzler #411. Python cannot make a server without RFC 5746."""
    for certificate in (f"sha256:{'0' * 64}", authority.cert_pem.bytes().decode()):
        options = context_for(certificate).options
        assert options & OP_LEGACY_SERVER_CONNECT
        assert options & ssl.OP_NO_RENEGOTIATION


async def test_plain_http_in_place_of_tls_is_a_tls_failure() -> None:
    async with serving(x=page()) as server:
        emitted = await run_order(f"https://127.0.0.1:{server.port}/x", connect_limit=2.0)
    assert (emitted.one.outcome, emitted.one.hazards) == ("tls_failure", ("tls_failure",))


async def test_handshake_has_its_own_timeout() -> None:
    silent = asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await silent.wait()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        emitted = await run_order(f"https://127.0.0.1:{port}/x", connect_limit=1.0)
        silent.set()
    assert emitted.one.outcome is Outcome.TLS_FAILURE
    assert "the TLS handshake was aborted" in emitted.one.reason


async def test_silent_server_over_tls_is_a_silent_server(authority: trustme.CA) -> None:
    async with serving_over(certified_context(authority), x=hanging()) as server:
        emitted = await run_order(f"{server.root}/x", **HASTY)
    assert emitted.one.outcome is Outcome.SILENT_SERVER


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
async def test_second_connection_resumes_the_tls_session(
    authority: trustme.CA, version: ssl.TLSVersion
) -> None:
    context = certified_context(authority)
    context.maximum_version = version
    closing = page(Connection="close")
    async with serving_over(context, a=closing, b=closing) as server, fetcher() as processor:
        emitted = await work(processor, *(order(f"{server.root}/{name}") for name in "ab"))
    assert emitted.outcomes == ["page", "page"]
    assert [request.resumed for request in server.requests] == [False, True]


@pytest.mark.parametrize(
    ("version", "word", "suite"),
    [
        (ssl.TLSVersion.TLSv1_2, "tls/1.2", "TLS_ECDHE_"),
        (ssl.TLSVersion.TLSv1_3, "tls/1.3", "TLS_"),
    ],
)
async def test_page_has_the_tls_version_and_the_cipher_suite(
    authority: trustme.CA, version: ssl.TLSVersion, word: str, suite: str
) -> None:
    context = certified_context(authority)
    context.maximum_version = version
    async with serving_over(context, a=page()) as server:
        emitted = await run_order(f"{server.root}/a")
    (fetched,) = emitted.pages
    assert fetched.tls_version == word
    assert fetched.cipher_suite.startswith(suite)


async def test_page_without_tls_has_neither() -> None:
    emitted = await visit_page(page())
    (fetched,) = emitted.pages
    assert (fetched.tls_version, fetched.cipher_suite) == ("", "")


@pytest.mark.parametrize(
    ("openssl", "iana"),
    [
        # From `openssl ciphers -stdname`.
        ("TLS_AES_256_GCM_SHA384", "TLS_AES_256_GCM_SHA384"),
        ("ECDHE-ECDSA-AES256-GCM-SHA384", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"),
        ("ECDHE-RSA-CHACHA20-POLY1305", "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256"),
        ("DHE-RSA-AES128-GCM-SHA256", "TLS_DHE_RSA_WITH_AES_128_GCM_SHA256"),
        ("ECDHE-RSA-AES256-SHA384", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384"),
        ("ECDHE-ECDSA-AES128-SHA", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA"),
        ("AES128-GCM-SHA256", "TLS_RSA_WITH_AES_128_GCM_SHA256"),
        ("AES256-SHA", "TLS_RSA_WITH_AES_256_CBC_SHA"),
        ("ARIA128-GCM-SHA256", ""),
        ("", ""),
    ],
)
def test_cipher_suite_has_the_name_of_iana(openssl: str, iana: str) -> None:
    assert cipher_suite(openssl) == iana
