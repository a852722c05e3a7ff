"""Certificates that are trusted for one site, over real sockets."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256

import pytest
import trustme

from gossamer.errors import Poison
from gossamer.events import HostOverridden, Outcome, SiteOverridden
from gossamer.services.fetcher.service import Fetcher
from gossamer.web.url import Site
from tests.fetcher.orders import fetcher, order, work
from tests.fetcher.servers import Server, page, serving_over

SITE, ELSEWHERE = Site("127.0.0.1"), Site("127.0.0.2")


class Issued:
    """An unknown certificate for *name*, and its issuer."""

    def __init__(self, name: str = SITE) -> None:
        authority = trustme.CA()
        leaf = authority.issue_cert(name)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.configure_cert(self.context)
        self.authority = authority.cert_pem.bytes().decode()
        self.pem = leaf.cert_chain_pems[0].bytes().decode()
        self.digest = "sha256:" + sha256(ssl.PEM_cert_to_DER_cert(self.pem)).hexdigest()


@asynccontextmanager
async def serving_certificate(issued: Issued) -> AsyncIterator[tuple[Server, Fetcher]]:
    async with serving_over(issued.context, x=page()) as server, fetcher() as processor:
        yield server, processor


async def visit_page(server: Server, processor: Fetcher) -> str:
    return (await work(processor, order(f"{server.root}/x"))).one.outcome


def trust_event(certificate: str, site: Site = SITE) -> SiteOverridden:
    return SiteOverridden(at=1.0, site=site, certificate=certificate)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["authority", "pem", "digest"])
async def test_certificate_is_trusted_at_its_site_until_removed(kind: str) -> None:
    issued = Issued()
    certificate = getattr(issued, kind)
    async with serving_certificate(issued) as (server, processor):
        processor.control(trust_event(certificate, ELSEWHERE))
        assert await visit_page(server, processor) == Outcome.TLS_FAILURE
        processor.control(trust_event(certificate))
        assert await visit_page(server, processor) == Outcome.PAGE
        processor.control(trust_event(""))
        assert await visit_page(server, processor) == Outcome.TLS_FAILURE
        assert server.paths == ["/x"]


async def test_only_the_pinned_certificate_is_accepted() -> None:
    issued = Issued("other.example")
    async with serving_certificate(issued) as (server, processor):
        processor.control(trust_event(issued.authority))
        assert await visit_page(server, processor) == Outcome.TLS_FAILURE
        processor.control(trust_event(issued.digest))
        assert await visit_page(server, processor) == Outcome.PAGE
        processor.control(trust_event(Issued().digest))
        assert await visit_page(server, processor) == Outcome.TLS_FAILURE


@pytest.mark.parametrize("text", ["hello", "sha256:12", "-----BEGIN CERTIFICATE-----\nx\n"])
async def test_invalid_certificate_changes_nothing(text: str) -> None:
    issued = Issued()
    async with serving_certificate(issued) as (server, processor):
        processor.control(trust_event(issued.pem))
        with pytest.raises(Poison):
            processor.control(trust_event(text))
        assert await visit_page(server, processor) == Outcome.PAGE


async def test_override_of_a_host_precedes_that_of_its_site() -> None:
    issued = Issued()
    async with serving_certificate(issued) as (server, processor):
        for site, own, expected in (
            ("", issued.authority, Outcome.PAGE),
            (issued.authority, "", Outcome.TLS_FAILURE),
            (issued.authority, None, Outcome.PAGE),
            (Issued().digest, issued.digest, Outcome.PAGE),
        ):
            processor.control(trust_event(site))
            processor.control(HostOverridden(at=1.0, host=SITE, certificate=own))
            assert await visit_page(server, processor) == expected
