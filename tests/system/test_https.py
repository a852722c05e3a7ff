"""HTTPS with a trusted certificate, and with an untrusted one."""

import gzip
import os
import re
import ssl
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import trustme

from tests.support.serving import NOTHING, Sent, serving

GOSSAMER = Path(sys.executable).with_name("gossamer")


PAGES = {"/": b"<a href=/two>two</a>", "/two": b"<p>the second page</p>"}
"""Two pages, without a robots.txt."""


def serve(authority: trustme.CA) -> AbstractContextManager[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    return serving(lambda path: Sent(PAGES[path]) if path in PAGES else NOTHING, 0, context)


def crawl(url: str, data: Path, trusted: Path, code: int = 0, **settings: str) -> str:
    command = [str(GOSSAMER), "crawl", "--contact", "me@example.org", "--data", str(data)]
    done = subprocess.run(
        [*command, "--delay", "0", "--no-text", "--allow-network", "127.0.0.0/8", url],
        env={**os.environ, "SSL_CERT_FILE": str(trusted)} | settings,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


def ask(*words: str, data: Path) -> str:
    command = [str(GOSSAMER), *words, "--data", str(data)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


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
            GOSSAMER_FETCHER__USUAL_SITEMAPS="never",
        )
        assert re.search(r"pages +2 ", output)
    fault = "the certificate is not trusted: unable to get local issuer certificate"
    assert f"(200) although {fault}, published" in ask("why", url, data=data)
    assert f"visited although {fault}" in ask("hosts", host.partition("//")[2], data=data)
    records = b"".join(gzip.decompress(file.read_bytes()) for file in data.rglob("*.warc.gz"))
    assert records.count(b"hazard: invalid_certificate\r\n") == 3
    assert records.count(f"certificateFault: {fault}\r\n".encode()) == 3
