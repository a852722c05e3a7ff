"""Servers that do not send the certificate of their issuer, over real sockets.

Reports: Ladybird #4560 and #10520, htmltest #130, site-inspector #21. Chrome, Safari and Edge fetch
the certificate from the URL that the server's certificate names; Firefox knows it already.
"""

import asyncio
import random
import ssl
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs7,
)
from cryptography.x509.oid import AuthorityInformationAccessOID, NameOID

from gossamer.events import BlocklistChanged, Outcome
from gossamer.services.fetcher.http import issuers
from tests.fetcher.orders import Emitted, fetcher, order, run_order
from tests.fetcher.servers import Answer, Server, hanging, page, serving, serving_over

FAULT = "the certificate is not trusted: unable to get local issuer certificate"
NOW = datetime.now(UTC)


class Party:
    """An authority or a server, whose certificate names *urls* for that of its *issuer*."""

    def __init__(
        self,
        name: str,
        issuer: "Party | None" = None,
        urls: Sequence[str] = (),
        server: bool = False,
        address: str = "127.0.0.1",
    ) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        signer = issuer or self
        builder = (
            x509.CertificateBuilder()
            .subject_name(self.name)
            .issuer_name(signer.name)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - timedelta(days=1))
            .not_valid_after(NOW + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=not server, path_length=None), critical=True)
        )
        if server:
            names = x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))])
            builder = builder.add_extension(names, critical=False)
        if urls:
            access = [
                x509.AccessDescription(
                    AuthorityInformationAccessOID.CA_ISSUERS, x509.UniformResourceIdentifier(url)
                )
                for url in urls
            ]
            builder = builder.add_extension(x509.AuthorityInformationAccess(access), critical=False)
        self.certificate = builder.sign(signer.key, hashes.SHA256())
        self.der = self.certificate.public_bytes(Encoding.DER)
        self.pem = self.certificate.public_bytes(Encoding.PEM)

    def context(self, folder: Path, *sent: "Party") -> ssl.SSLContext:
        """Return the context of a server that sends this certificate, and those of *sent*."""
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        file = folder / f"{self.certificate.serial_number}.pem"
        file.write_bytes(key + b"".join(one.pem for one in (self, *sent)))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


leaf_of: Callable[..., Party] = partial(Party, "leaf", server=True)


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Party:
    """Return an authority that the fetcher trusts."""
    party = Party("root")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(party.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    return party


def certificate(data: bytes) -> Answer:
    return page(data, Content_Type="application/pkix-cert")


async def visit_leaf(leaf: Party, folder: Path, *sent: Party, **changes: Any) -> Emitted:
    async with serving_over(leaf.context(folder, *sent), a=page()) as server:
        return await run_order(f"{server.root}/a", **changes)


def pkcs7_of(party: Party) -> bytes:
    return pkcs7.serialize_certificates(
        [Party("other").certificate, party.certificate], Encoding.DER
    )


@pytest.mark.parametrize("form", [lambda one: one.der, lambda one: one.pem, pkcs7_of])
async def test_missing_issuer_is_fetched(
    form: Callable[[Party], bytes], root: Party, tmp_path: Path
) -> None:
    """Reports Ladybird #4560, htmltest #130, site-inspector #21."""
    middle = Party("middle", root)
    async with serving(middle=certificate(form(middle))) as there:
        leaf = leaf_of(middle, [f"{there.root}/middle"])
        emitted = await visit_leaf(leaf, tmp_path)
        assert there.paths == ["/middle"]
        assert not there.requests[0].header("Cookie")
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.PAGE, ())
    assert emitted.pages[0].certificate_fault == ""


async def test_several_missing_issuers_are_fetched(root: Party, tmp_path: Path) -> None:
    """A server may send a part of its chain (Ladybird #10520)."""
    answers: dict[str, Answer] = {}
    async with serving(**answers) as there:
        issuer, chain = root, list[Party]()
        for level in range(4):
            urls = [f"{there.root}/{level - 1}"] if level else []
            issuer = Party(f"middle {level}", issuer, urls)
            there.answers[f"/{level}"] = certificate(issuer.der)
            chain.append(issuer)
        third = leaf_of(chain[2], [f"{there.root}/2"])
        assert (await visit_leaf(third, tmp_path)).outcomes == ["page"]
        assert there.paths == ["/2", "/1", "/0"]
        fourth = leaf_of(chain[3], [f"{there.root}/3"])
        assert (await visit_leaf(fourth, tmp_path)).outcomes == ["tls_failure"]
        assert (await visit_leaf(fourth, tmp_path, chain[3])).outcomes == ["tls_failure"]


async def test_issuer_is_fetched_once_for_all_hosts_and_visits(root: Party, tmp_path: Path) -> None:
    middle, emitted = Party("middle", root), Emitted()
    closing = page(Connection="close")
    async with serving(middle=certificate(middle.der)) as there, fetcher() as processor:
        leaf = leaf_of(middle, [f"{there.root}/middle"])
        context = leaf.context(tmp_path)
        async with (
            serving_over(context, a=closing, b=closing) as one,
            serving_over(context, a=closing) as other,
        ):
            await asyncio.gather(
                *(processor.work(order(f"{it.root}/a"), emitted.emit) for it in (one, other))
            )
            before = one.connections
            await processor.work(order(f"{one.root}/b"), emitted.emit)
            assert one.connections == before + 1
        assert there.paths == ["/middle"]
    assert emitted.outcomes == ["page"] * 3


async def test_requests_for_issuers_of_one_host_are_made_one_by_one(
    root: Party, tmp_path: Path
) -> None:
    """Certificates of many servers may name one victim: it gets one request."""
    middle, emitted = Party("middle", root), Emitted()
    async with serving() as there, fetcher() as processor:
        async with AsyncExitStack() as servers:
            visits = list[Coroutine[Any, Any, None]]()
            for number in range(8):
                leaf = leaf_of(middle, [f"{there.root}/{number}"])
                serving_leaf = serving_over(leaf.context(tmp_path), a=page())
                server = await servers.enter_async_context(serving_leaf)
                visits.append(processor.work(order(f"{server.root}/a"), emitted.emit))
            await asyncio.gather(*visits)
        assert len(there.requests) == 1
    assert emitted.outcomes == ["tls_failure"] * 8


async def test_issuer_at_a_forbidden_address_is_not_requested(root: Party, tmp_path: Path) -> None:
    """A certificate cannot make us reach a private network."""
    middle, server = Party("middle", root), Server({"/middle": page()})
    async with await asyncio.start_server(server.handle, "127.0.0.2", 0) as listener:
        port = listener.sockets[0].getsockname()[1]
        leaf = leaf_of(middle, [f"http://127.0.0.2:{port}/middle"])
        only = (ip_network("127.0.0.1/32"),)
        emitted = await visit_leaf(leaf, tmp_path, allow_networks=only)
        assert server.connections == 0
    assert (emitted.one.outcome, emitted.one.reason) == (Outcome.TLS_FAILURE, FAULT)


async def test_issuer_at_a_blocklisted_url_is_not_requested(root: Party, tmp_path: Path) -> None:
    middle, emitted = Party("middle", root), Emitted()
    async with serving(middle=certificate(middle.der)) as there, fetcher() as processor:
        processor.control(BlocklistChanged(at=1.0, rule=f"{there.root}/middle"))
        leaf = leaf_of(middle, [f"{there.root}/middle"])
        async with serving_over(leaf.context(tmp_path), a=page()) as server:
            await processor.work(order(f"{server.root}/a"), emitted.emit)
        assert there.requests == []
    assert emitted.outcomes == ["tls_failure"]


@pytest.mark.parametrize(
    "url", ["https://127.0.0.1:{}/middle", "ldap://127.0.0.1:{}/middle", "file:///etc/passwd", "x"]
)
async def test_only_http_is_used(url: str, root: Party, tmp_path: Path) -> None:
    middle = Party("middle", root)
    async with serving(middle=certificate(middle.der)) as there:
        emitted = await visit_leaf(leaf_of(middle, [url.format(there.port)]), tmp_path)
        assert there.connections == 0
    assert emitted.outcomes == ["tls_failure"]


@pytest.mark.parametrize(
    ("answer", "requests"),
    [
        (page(b"nothing", 404), 1),
        (page(b"no certificate"), 1),
        (page(b"x" * (issuers.MAX_BYTES + 1)), 1),
        (page(status=302, Location="/other"), 1),
        (certificate(Party("somebody else").der), 2),
    ],
)
async def test_host_without_the_issuer_is_left_alone(
    answer: Answer, requests: int, root: Party, tmp_path: Path
) -> None:
    """A certificate may name any host. A host that has certificates has them for us, too."""
    middle, emitted = Party("middle", root), Emitted()
    async with serving(one=answer, two=answer) as there, fetcher() as processor:
        for name in ("one", "two", "one"):
            leaf = leaf_of(middle, [f"{there.root}/{name}"])
            async with serving_over(leaf.context(tmp_path), a=page()) as server:
                await processor.work(order(f"{server.root}/a"), emitted.emit)
        assert len(there.requests) == requests
    assert emitted.outcomes == ["tls_failure"] * 3
    assert {one.reason for one in emitted.ended} == {FAULT}


async def test_request_for_an_issuer_has_a_timeout(
    root: Party, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(issuers, "FETCH_SECONDS", 0.3)
    async with serving(middle=hanging()) as there:
        leaf = leaf_of(Party("middle", root), [f"{there.root}/middle"])
        emitted = await visit_leaf(leaf, tmp_path)
    assert (emitted.one.outcome, emitted.one.reason) == (Outcome.TLS_FAILURE, FAULT)


async def test_fetched_certificates_are_not_trusted(root: Party, tmp_path: Path) -> None:
    """Neither an unknown authority nor a chain that ends at one."""
    async with serving() as there:
        unknown = Party("unknown")
        middle = Party("middle", unknown, [f"{there.root}/unknown"])
        there.answers |= {"/unknown": certificate(unknown.der), "/middle": certificate(middle.der)}
        for issuer, name in ((unknown, "unknown"), (middle, "middle")):
            leaf = leaf_of(issuer, [f"{there.root}/{name}"])
            emitted = await visit_leaf(leaf, tmp_path)
            assert emitted.outcomes == ["tls_failure"]
            recorded = await visit_leaf(leaf, tmp_path, certificates="record")
            assert recorded.outcomes == ["page"]
            assert "issuer certificate" in recorded.one.certificate_fault


async def test_damaged_certificates_are_no_error(root: Party) -> None:
    middle = Party("middle", root, ["http://ca.test/root"])
    leaf = leaf_of(middle, ["http://ca.test/middle"])
    chance = random.Random(7)

    def damage(der: bytes) -> bytes:
        damaged = bytearray(der)
        for _ in range(chance.choice((1, 1, 3))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        return bytes(damaged)

    async def fetch(url: str) -> bytes:
        return damage(root.der if url.endswith("root") else middle.der)

    found = set[int]()
    for number in range(1500):
        finder = issuers.Issuers(fetch, time.monotonic)
        found.add(len(await finder.chain_of(damage(leaf.der) if number % 2 else leaf.der)))
    assert found == {0, 1}


async def test_completed_chain_needs_the_right_name(root: Party, tmp_path: Path) -> None:
    middle = Party("middle", root)
    async with serving(middle=certificate(middle.der)) as there:
        leaf = leaf_of(middle, [f"{there.root}/middle"], address="127.0.0.9")
        emitted = await visit_leaf(leaf, tmp_path)
    assert emitted.one.outcome is Outcome.TLS_FAILURE
    assert "IP address mismatch" in emitted.one.reason


async def test_host_that_changes_its_chain_is_verified_again(root: Party, tmp_path: Path) -> None:
    emitted = Emitted()
    closing = page(Connection="close")
    async with serving() as there, fetcher() as processor:
        contexts = []
        for number in range(2):
            middle = Party("middle", root)
            there.answers[f"/{number}"] = certificate(middle.der)
            contexts.append(leaf_of(middle, [f"{there.root}/{number}"]).context(tmp_path))
        contexts.append(leaf_of(root).context(tmp_path))
        contexts.append(leaf_of(Party("unknown")).context(tmp_path))
        for context in contexts:
            async with serving_over(context, a=closing) as server:
                await processor.work(order(f"{server.root}/a"), emitted.emit)
    assert emitted.outcomes == ["page", "page", "page", "tls_failure"]
