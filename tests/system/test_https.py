"""HTTPS with a trusted certificate, and with an untrusted one."""

import os
import re
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme

GOSSAMER = Path(sys.executable).with_name("gossamer")


class Site(BaseHTTPRequestHandler):
    """Two pages, without a robots.txt."""

    protocol_version = "HTTP/1.1"
    pages: dict[str, bytes] = {"/": b"<a href=/two>two</a>", "/two": b"<p>the second page</p>"}  # noqa: RUF012

    def do_GET(self) -> None:
        body = self.pages.get(self.path, b"")
        self.send_response(200 if body else 404)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serve(authority: trustme.CA) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Site)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def crawl(url: str, data: Path, trusted: Path, code: int = 0) -> str:
    command = [str(GOSSAMER), "crawl", "--contact", "me@example.org", "--data", str(data)]
    done = subprocess.run(
        [*command, "--delay", "0", "--no-text", "--allow-network", "127.0.0.0/8", url],
        env={**os.environ, "SSL_CERT_FILE": str(trusted)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done.stdout


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return tmp_path / "trusted.pem"


@pytest.mark.slow
def test_site_with_a_trusted_certificate_is_crawled(tmp_path: Path, bundle: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(bundle))
    with serve(authority) as port:
        output = crawl(f"https://127.0.0.1:{port}/", tmp_path / "data", bundle)
    assert re.search(r"pages +2 ", output)


@pytest.mark.slow
def test_untrusted_certificate_is_refused(tmp_path: Path, bundle: Path) -> None:
    trustme.CA().cert_pem.write_to_path(str(bundle))
    with serve(trustme.CA()) as port:
        output = crawl(f"https://127.0.0.1:{port}/", tmp_path / "data", bundle, code=3)
    assert re.search(r"pages +0 ", output)
