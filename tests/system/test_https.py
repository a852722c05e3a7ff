"""HTTPS with a trusted certificate, and with an untrusted one."""

import gzip
import re
import ssl
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import trustme

from tests.support.serving import NOTHING, Sent, serving

from .crawl import CONTACT, GOSSAMER, LOOPBACK, ask, run

PAGES = {"/": b"<a href=/two>two</a>", "/two": b"<p>the second page</p>"}
"""Two pages, without a robots.txt."""


def serve(authority: trustme.CA) -> AbstractContextManager[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return serving(lambda path: Sent(PAGES[path]) if path in PAGES else NOTHING, 0, context)


def crawl(url: str, data: Path, trusted: Path, code: int = 0, **settings: str) -> str:
    manners = ["--contact", CONTACT, "--delay", "0", "--no-text", *LOOPBACK]
    command = [GOSSAMER, "crawl", *manners, "--data", str(data), url]
    done = run(command, SSL_CERT_FILE=str(trusted), **settings)
    assert done.code == code, done
    return done.out


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "trusted.pem"


@pytest.mark.slow
def test_site_with_a_trusted_certificate_is_crawled(tmp_path: Path, bundle: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(bundle))
    with serve(authority) as host:
        output = crawl(f"{host}/", tmp_path / "data", bundle)
    assert re.search(r"pages +2 ", output)


@pytest.mark.slow
def test_untrusted_certificate_is_refused_or_its_fault_recorded_and_shown(
    tmp_path: Path, bundle: Path
) -> None:
    trustme.CA().cert_pem.write_to_path(str(bundle))
    data = tmp_path / "data"
    with serve(trustme.CA()) as host:
        url = f"{host}/"
        assert re.search(r"pages +0 ", crawl(url, tmp_path / "refused", bundle, code=3))
        output = crawl(
            url,
            data,
            bundle,
            GOSSAMER_FETCHER__CERTIFICATES="record",
        )
        assert re.search(r"pages +2 ", output)
    fault = "the certificate is not trusted: unable to get local issuer certificate"
    assert f"(200) although {fault}, published" in ask(data, "why", url).out
    assert f"visited although {fault}" in ask(data, "hosts", host.partition("//")[2]).out
    records = b"".join(gzip.decompress(file.read_bytes()) for file in data.rglob("*.warc.gz"))
    assert records.count(b"hazard: invalid_certificate\r\n") == 3
    assert records.count(f"certificateFault: {fault}\r\n".encode()) == 3
