"""Hosts with an invalid certificate: by `fetcher.certificates = record` visited without secrets.

Heritrix, Nutch (`http.tls.certificates.check`) and Scrapy crawl such hosts by default.
"""

import ssl
from pathlib import Path

import pytest
import trustme
from msgspec.structs import replace

from gossamer.events import HostOverridden, Outcome, PageFetched, SiteOverridden, VisitEnded
from gossamer.events.hazards import Hazard
from gossamer.web.cookies import Cookie
from gossamer.web.url import Site
from tests.fetcher.orders import Emitted, fetcher, order, run_order, work
from tests.fetcher.servers import Server, page, serving_over
from tests.fetcher.test_tls import authority as authority
from tests.fetcher.test_tls import certified_context

FAULTS = {
    "expired": "certificate has expired",
    "another name": "IP address mismatch",
    "unknown issuer": "unable to get local issuer certificate",
    "self-signed": "self-signed certificate",
}
SITE = Site("127.0.0.1")


def faulty_context(fault: str, authority: trustme.CA, tmp_path: Path) -> ssl.SSLContext:
    if fault == "self-signed":
        ca = trustme.CA()
        pem = tmp_path / "self-signed.pem"
        ca.cert_pem.write_to_path(str(pem))
        ca.private_key_pem.write_to_path(str(pem), append=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context
    issuer = trustme.CA() if fault == "unknown issuer" else authority
    name = "elsewhere.example" if fault == "another name" else SITE
    return certified_context(issuer, name, expired=fault == "expired")


@pytest.mark.parametrize("fault", FAULTS)
async def test_invalid_certificate_is_a_tls_failure_by_default(
    fault: str, authority: trustme.CA, tmp_path: Path
) -> None:
    context = faulty_context(fault, authority, tmp_path)
    async with serving_over(context, a=page(), b=page()) as server:
        emitted = await run_order(f"{server.root}/a", f"{server.root}/b")
        assert server.requests == [] and server.connections <= 1
    ended = emitted.one
    assert (ended.outcome, ended.hazards, ended.last) == ("tls_failure", ("tls_failure",), True)
    assert "the certificate is not trusted" in ended.reason and FAULTS[fault] in ended.reason


@pytest.mark.parametrize("fault", FAULTS)
async def test_page_behind_an_invalid_certificate_has_the_fault(
    fault: str, authority: trustme.CA, tmp_path: Path
) -> None:
    """As Heritrix, Nutch and Scrapy do by default."""
    context = faulty_context(fault, authority, tmp_path)
    async with serving_over(context, a=page(), b=page(status=404)) as server:
        emitted = await run_order(f"{server.root}/a", f"{server.root}/b", certificates="record")
    assert emitted.outcomes == ["page", "gone"]
    for event in (*emitted.pages, *emitted.ended):
        assert isinstance(event, PageFetched | VisitEnded)
        assert FAULTS[fault] in event.certificate_fault
        assert event.hazards == (Hazard.INVALID_CERTIFICATE,)
    assert FAULTS[fault] in emitted.ended[0].reason


async def test_page_behind_a_valid_certificate_has_no_fault(authority: trustme.CA) -> None:
    async with serving_over(certified_context(authority), a=page()) as server:
        emitted = await run_order(f"{server.root}/a", certificates="record")
        assert server.connections == 1
    assert (emitted.one.outcome, emitted.one.hazards) == (Outcome.PAGE, ())
    assert emitted.pages[0].certificate_fault == ""


async def test_pinned_certificate_is_the_only_one_in_spite_of_record() -> None:
    context = certified_context(trustme.CA())
    async with serving_over(context, a=page()) as server, fetcher(certificates="record") as one:
        for certificate, outcome in ((f"sha256:{'0' * 64}", "tls_failure"), ("", "page")):
            one.control(SiteOverridden(at=1.0, site=SITE, certificate=certificate))
            emitted = await work(one, order(f"{server.root}/a"))
            assert emitted.outcomes == [outcome]


@pytest.mark.parametrize("policy", ["verify", "record"])
async def test_override_of_a_site_or_host_precedes_the_setting(policy: str) -> None:
    other = "record" if policy == "verify" else "verify"
    outcomes = {"verify": "tls_failure", "record": "page"}
    context = certified_context(trustme.CA())
    async with serving_over(context, a=page()) as server, fetcher(certificates=policy) as one:
        for site, host, expected in (
            ("", None, policy),
            (other, None, other),
            (other, policy, policy),
            (other, "", policy),
        ):
            one.control(SiteOverridden(at=1.0, site=SITE, certificate=site))
            one.control(HostOverridden(at=1.0, host=SITE, certificate=host))
            emitted = await work(one, order(f"{server.root}/a"))
            assert emitted.outcomes == [outcomes[expected]]


SECRET_HEADERS = ("Cookie", "Authorization", "X-Api-Key", "Signature", "Signature-Input")


async def visit_with_secrets(server: Server, tmp_path: Path, cookies: int) -> Emitted:
    access = tmp_path / "access.toml"
    access.write_text(
        f'["{server.root}"]\nuser = "u"\npassword = "p"\nheaders = {{ "X-Api-Key" = "k" }}\n'
    )
    cookie = Cookie("pass", "secret", SITE, expires_at=4e9)
    given = replace(order(f"{server.root}/a", f"{server.root}/b"), cookies=(cookie,) * cookies)
    return await run_order(given=given, certificates="record", access_file=access)


@pytest.mark.parametrize("valid", [True, False])
async def test_secrets_are_sent_over_valid_certificates_alone(
    valid: bool, authority: trustme.CA, tmp_path: Path
) -> None:
    context = certified_context(authority if valid else trustme.CA())
    answer = page(Set_Cookie="new=1")
    async with serving_over(context, a=answer, b=answer) as server:
        emitted = await visit_with_secrets(server, tmp_path, 1)
        sent = [
            {name for name in SECRET_HEADERS if request.header(name)} for request in server.requests
        ]
        values = [request.header("Cookie") for request in server.requests]
    assert emitted.outcomes == ["page", "page"]
    recorded = {name.title() for page in emitted.pages for name, _ in page.request_headers}
    if valid:
        assert sent == [{"Cookie", "Authorization", "X-Api-Key"}] * 2
        assert values == ["pass=secret", "pass=secret; new=1"]
    else:
        assert sent == [set(), set()]
        assert recorded.isdisjoint(SECRET_HEADERS)
        assert not any(one.name == "new" for ended in emitted.ended for one in ended.cookies)
